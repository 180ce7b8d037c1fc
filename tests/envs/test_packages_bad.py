"""Packages with a mistake in them: each is refused in one line that names the file, the line or field, and the nearest valid choice."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from cowork_gym.core.errors import PackageError
from cowork_gym.envs.packages import load_task
from cowork_gym.envs.registration import CATALOG, REGISTRY

Mutation = Callable[[Path], None]


def _replace(file: str, old: str, new: str) -> Mutation:
    def mutate(package: Path) -> None:
        text = (package / file).read_text(encoding="utf-8")
        assert old in text
        (package / file).write_text(text.replace(old, new, 1), encoding="utf-8")

    return mutate


def _write(file: str, content: bytes) -> Mutation:
    def mutate(package: Path) -> None:
        (package / file).parent.mkdir(parents=True, exist_ok=True)
        (package / file).write_bytes(content)

    return mutate


def _set(key: str, value: object) -> Mutation:
    def mutate(package: Path) -> None:
        head = yaml.safe_load((package / TASK).read_text(encoding="utf-8"))
        (package / TASK).write_text(json.dumps({**head, key: value}, default=str), encoding="utf-8")  # JSON is YAML

    return mutate


def _remove(file: str) -> Mutation:
    return lambda package: (package / file).unlink()


def _latin_1(package: Path) -> None:
    path = package / "world" / "crm.yaml"
    path.write_bytes(path.read_text(encoding="utf-8").encode("latin-1"))


def _huge(file: str) -> Mutation:
    def mutate(package: Path) -> None:
        (package / file).parent.mkdir(parents=True, exist_ok=True)
        with (package / file).open("ab") as grown:
            grown.truncate(50_000_000)

    return mutate


def _as_json(package: Path) -> None:
    (package / "world" / "crm.yaml").unlink()
    (package / "world" / "crm.json").write_text('{"customers": [{"customer_id": "CUS-1012", "name": 7}]}', encoding="utf-8")


TASK, GRADING, REFERENCE, NEGATIVES, CRM = "task.yaml", "private/grading.yaml", "private/reference.yaml", "private/negatives.yaml", "world/crm.yaml"

_HOLDS = b"""
schema_version: 1
checks: [{id: listed, kind: tool_called, tool: kb_search, weight: 1}]
outcomes: [{id: stays_open, kind: row_state, table: helpdesk.tickets, key: TCK-5802, fields: {status: open}}]
"""

BAD = {
    "unknown key": (_replace(TASK, "budgets:", "budget:"), TASK, "budget: unknown key: did you mean 'budgets'?"),
    "unknown inner key": (_replace(TASK, "turns: 30", "turn: 30"), TASK, "budgets.turn: unknown key: did you mean 'turns'?"),
    "missing key": (_replace(TASK, "version: 0\n", ""), TASK, "version: is missing"),
    "id": (_replace(TASK, "id: M1100_at", "id: M1100-at"), TASK, "id: string should match pattern"),
    "id that names no file": (
        _replace(TASK, "id: M1100_at_risk_key_rotation", f"id: M{'1' * 80}"), TASK, "id: string should have at most 80 characters, not",
    ),
    "id with a line end": (_replace(TASK, "id: M1100_at_risk_key_rotation", 'id: "M1100\\n"'), TASK, "id: string should match pattern"),
    "version as text": (_replace(TASK, "version: 0", "version: one"), TASK, "version: input should be a valid integer, not \"one\""),
    "schema version": (_replace(TASK, "schema_version: 1", "schema_version: 2"), TASK, "schema_version: input should be 1, not 2"),
    "schema version as a truth value": (
        _replace(TASK, "schema_version: 1", "schema_version: true"), TASK, "schema_version: expected the number 1, not true",
    ),
    "schema version of a reference": (
        _replace(REFERENCE, "schema_version: 1", "schema_version: 1.0"), REFERENCE, "schema_version: expected the number 1, not 1",
    ),
    "blank request": (_set("request", "  \n\t "), TASK, "request: expected a text that can be read, not"),
    "title in which nothing can be seen": (_set("title", "\u200b\u00a0"), TASK, "title: expected a text that can be read, not"),
    "capabilities as a list": (_set("capabilities", ["discover"]), TASK, "capabilities: expected a mapping from capabilities to those"),
    "unknown capability": (_set("capabilities", {"discovr": []}), TASK, "capabilities: unknown capability \"discovr\", did you mean 'discover'?"),
    "capability on nothing": (_set("capabilities", {"execute": ["decide"]}), TASK, "capabilities: execute builds on decide, which is not declared"),
    "capabilities in a circle": (
        _set("capabilities", {"discover": ["extract"], "extract": ["discover"]}), TASK, "capabilities: the graph leads back to itself",
    ),
    "unknown topology": (_set("structure", {"topology": "star"}), TASK, "structure.topology: unknown topology \"star\""),
    "unknown hazard": (_set("structure", {"hazards": ["trap"]}), TASK, "structure.hazards[0]: unknown hazard \"trap\""),
    "fault of an unknown tool": (_set("faults", [{"tool": "crm_x", "kind": "transient"}]), TASK, "faults[0].tool: the task permits no tool"),
    "fault of no kind": (_set("faults", [{"tool": "crm_get_customer", "kind": "slow"}]), TASK, "faults[0].kind: input should be"),
    "lost answer without a trace": (
        _set("faults", [{"tool": "crm_get_customer", "kind": "timeout_after"}]), TASK, "faults[0].kind: crm_get_customer writes no audit record",
    ),
    "day before all days": (_replace(TASK, "2026-03-10", "0001-01-01"), TASK, "mock_today: expected a day of the years 1970 to 2999, not 0001-01-01"),
    "day after all days": (_replace(TASK, "2026-03-10", "3000-01-01"), TASK, "mock_today: expected a day of the years 1970 to 2999, not 3000-01-01"),
    "week day": (_replace(TASK, "2026-03-10", "2026-W11-2"), TASK, "mock_today: expected a day such as 2026-03-10, not \"2026-W11-2\""),
    "day": (_replace(TASK, "2026-03-10", "2026-13-10"), TASK, "mock_today: expected a day such as 2026-03-10, not \"2026-13-10\""),
    "budget of nothing": (_replace(TASK, "turns: 30", "turns: 0"), TASK, "budgets.turns: input should be greater than or equal to 1, not 0"),
    "unknown service": (
        _replace(TASK, "[crm,", "[cmr,"), TASK,
        "services[0]: unknown service 'cmr', did you mean 'crm'?; services of your own are seen when they are installed",
    ),
    "service twice": (_replace(TASK, "[crm, helpdesk", "[crm, helpdesk, crm"), TASK, "services[2]: 'crm' is listed twice"),
    "tool not in any service": (
        _replace(TASK, "- kb_search", "- kb_serch"), TASK, "tools[6]: no service of the task has a tool 'kb_serch', did you mean 'kb_search'?",
    ),
    "tool of another service": (
        _replace(TASK, "- kb_search", "- gmail_send_message"), TASK, "tools[6]: no service of the task has a tool 'gmail_send_message'",
    ),
    "tool twice": (_replace(TASK, "- kb_search", "- kb_get_article"), TASK, "tools[7]: 'kb_get_article' is listed twice"),
    "YAML syntax error": (_replace(TASK, "services: [crm", "services: ]crm"), TASK, "line 28, column 11: did not find expected node content"),
    "no task.yaml": (_remove(TASK), TASK, "no such file"),
    "unknown check kind": (
        _replace(GRADING, "kind: audit_record", "kind: audit_recod"), GRADING,
        "checks[5] (ticket_updated).kind: unknown kind 'audit_recod': did you mean 'audit_record'?",
    ),
    "weights 0.99": (_replace(GRADING, "weight: 0.30", "weight: 0.29"), GRADING, "checks: the weights sum to 0.99, not 1"),
    "reference to a missing record": (
        _replace(GRADING, "key: TCK-5802\n", "key: TCK-5803\n"), GRADING,
        "outcomes[0] (resolution_has_the_procedure).key: no record of helpdesk.tickets 'TCK-5803', did you mean 'TCK-",
    ),
    "allowance for a missing record": (
        _replace(GRADING, "key: TCK-5802,", "key: TCK-9,"), GRADING,
        "checks[6] (nothing_else_changed).allow[0].key: no record of helpdesk.tickets 'TCK-9'",
    ),
    "unknown table": (
        _replace(GRADING, "table: helpdesk.tickets\n", "table: helpdesk.ticket\n"), GRADING,
        "outcomes[0] (resolution_has_the_procedure).table: no table 'helpdesk.ticket', did you mean 'helpdesk.tickets'?",
    ),
    "unknown collection": (
        _replace(GRADING, "helpdesk.updated_tickets", "helpdesk.updated"), GRADING,
        "checks[5] (ticket_updated).collection: no audit collection 'helpdesk.updated', did you mean 'helpdesk.updated_tickets'?",
    ),
    "check of a tool that is not permitted": (
        _replace(GRADING, "tool: kb_search", "tool: kb_update_article"), GRADING,
        "checks[3] (knowledge_base_searched).tool: no tool 'kb_update_article'",
    ),
    "unknown forbidden tool": (
        _replace(GRADING, "[crm_export_report]", "[crm_export]"), GRADING,
        "forbidden_tools[0]: no tool 'crm_export', did you mean 'crm_export_report'?",
    ),
    "outcome that holds from the start": (
        _write(GRADING, _HOLDS), GRADING, "outcomes[0] (stays_open): the outcome already holds in the starting world",
    ),
    "no grading": (_remove(GRADING), GRADING, "no such file"),
    "reference to a tool that is not permitted": (
        _replace(REFERENCE, "- kb_search:", "- kb_serch:"), REFERENCE,
        "executions[0] (step_by_step).turns[4]: the task permits no tool 'kb_serch', did you mean 'kb_search'?",
    ),
    "reference with a wrong argument": (
        _replace(REFERENCE, "{customer_id: CUS-1012}", "{id: CUS-1012}"), REFERENCE,
        "executions[0] (step_by_step).turns[1]: crm_get_customer: argument 'customer_id' is missing; unknown argument 'id'",
    ),
    "no reference": (_write(REFERENCE, b"schema_version: 1\nexecutions: []\n"), REFERENCE, "executions: needs 1 or more"),
    "reference twice": (
        _replace(REFERENCE, "name: in_few_messages", "name: step_by_step"), REFERENCE, "executions[1].name: the name 'step_by_step' comes twice",
    ),
    "turn with two tools": (
        _write(REFERENCE, b"executions: [{name: a, turns: [{a: {}, b: {}}]}]"), REFERENCE, "executions[0].turns[0]: a turn is `tool: {arguments}`",
    ),
    "arguments as a list": (
        _write(REFERENCE, b"executions: [{name: a, turns: [{a: [1]}]}]"), REFERENCE, "executions[0].turns[0]: the arguments of a are a mapping",
    ),
    "negative without a bound": (_replace(NEGATIVES, "    max_reward: 0\n", ""), NEGATIVES, "executions[0].max_reward: is missing"),
    "negative worth 1": (
        _replace(NEGATIVES, "max_reward: 0\n", "max_reward: 1\n"), NEGATIVES,
        "executions[0].max_reward: a bound is a number from 0 to less than 1, not 1",
    ),
    "negative with a misspelt tool": (
        _replace(NEGATIVES, "- kb_search:", "- kb_serch:"), NEGATIVES, "the task permits no tool 'kb_serch', did you mean 'kb_search'?",
    ),
    "no negatives": (_remove(NEGATIVES), NEGATIVES, "no such file"),
    "duplicate id": (_replace(CRM, "customer_id: CUS-1013", "customer_id: CUS-1012"), CRM, "customers[3].customer_id: duplicate id 'CUS-1012'"),
    "record without its id": (_replace(CRM, "- customer_id: CUS-1003\n    name", "- name"), CRM, "customers[0].customer_id: Field required"),
    "unknown collection of records": (_replace(CRM, "customers:", "customer:"), CRM, "customer: unknown collection, did you mean 'customers'?"),
    "records as a mapping": (_write(CRM, b"customers: {a: {name: b}}"), CRM, "customers: expected a list of records"),
    "record as text": (_write(CRM, b"customers: [a]"), CRM, "customers[0]: a record is a mapping of fields, not str"),
    "Latin-1 file": (_latin_1, CRM, "line 39: not UTF-8: byte 0xe9; save the file as UTF-8"),
    "50 MB file": (_huge(CRM), CRM, "too large: 50.0 MB, at most 5 MB are read"),
    "50 MB in the workspace": (_huge("world/files/dump.bin"), "world/files/dump.bin", "too large: 50.0 MB, at most 5 MB are read"),
    "mistake in a JSON file": (_as_json, "world/crm.json", "customers[0].name: Input should be a valid string"),
    "records of no service": (
        _write("world/cmr.yaml", b"a: []"), "world/cmr.yaml", "no service of the task has this file, did you mean 'crm.yaml'?",
    ),
    "records by another suffix": (
        _write("world/crm.yml", b"a: []"), "world/crm.yml", "no service of the task has this file, did you mean 'crm.yaml'?",
    ),
    "records in two files": (_write("world/crm.json", b"{}"), CRM, "the records of crm are in crm.json too"),
    "file that does not belong": (_write("grading.yaml", b"a: 1"), "grading.yaml", "does not belong here"),
    "private file with another name": (
        _write("private/negative.yaml", b"a: 1"), "private/negative.yaml", "does not belong here, did you mean 'negatives.yaml'?",
    ),
}


@pytest.mark.parametrize(("mutate", "file", "problem"), BAD.values(), ids=BAD.keys())
def test_a_bad_package_is_refused_in_one_line(tmp_path: Path, mutate: Mutation, file: str, problem: str) -> None:
    package = shutil.copytree(CATALOG / "M1100_at_risk_key_rotation", tmp_path / "M1100")
    mutate(package)
    with pytest.raises(PackageError) as caught:
        load_task(package, REGISTRY.services())
    assert str(caught.value).startswith(f"{package / file}: ")
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_path_is_shown_as_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(CATALOG / "M1100_at_risk_key_rotation", tmp_path / "mine")
    _replace(TASK, "[crm,", "[cmr,")(tmp_path / "mine")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PackageError, match=r"^mine/task\.yaml: "):
        load_task("mine", REGISTRY.services())
