from decimal import Decimal
from typing import Any

import pytest
from grading_samples import GRADING, with_checks

from cowork_gym.core.errors import PackageError
from cowork_gym.graders import Contract
from cowork_gym.graders.checks import KINDS

LISTED, OPENED, UPDATED, TIDY = GRADING["checks"]
OUTCOME = GRADING["outcomes"][0]


def test_a_contract_is_read() -> None:
    contract = Contract.parse(GRADING)
    assert contract.reward == "cowork-v1"
    assert [check.id for check in contract.checks] == ["listed", "opened", "updated", "tidy"]
    assert [check.weight for check in contract.checks] == [Decimal("0.3"), Decimal("0.3"), Decimal("0.4"), 0]
    assert contract.forbidden_tools == ("crm_export_report",)
    assert Contract.parse({**GRADING, "reward": "claw-v1"}).reward == "claw-v1"


def test_ten_tenths_are_one() -> None:
    assert len(Contract.parse(with_checks(*({**LISTED, "id": f"c{number}", "weight": 0.1} for number in range(10)))).checks) == 10


def test_every_kind_is_known_by_its_name() -> None:
    assert {kind: model.model_fields["kind"].annotation.__args__ for kind, model in KINDS.items()} == {kind: (kind,) for kind in KINDS}


WHOLE = "private/grading.yaml"


@pytest.mark.parametrize(("change", "message"), [
    ({"checkz": []}, "checkz: unknown key: did you mean 'checks'?"),
    ({"schema_version": 2}, "schema_version: input should be 1, not 2"),
    ({"reward": "cowork-v2"}, "reward: unknown reward spec 'cowork-v2': did you mean 'cowork-v1'?"),
    ({"reward": 1}, "reward: input should be a valid string, not 1"),
    ({"outcomes": []}, "outcomes: needs 1 or more"),
    ({"checks": {}}, "checks: input should be a valid tuple, not {}"),
    ({"checks": ["x"]}, 'checks[0]: expected a mapping, not "x"'),
    ({"forbidden_tools": ["a", "a"]}, "forbidden_tools[1]: 'a' is listed twice"),
    ({"forbidden_tools": ["helpdesk_get_ticket"]}, "checks[1] (opened).tool: 'helpdesk_get_ticket' is forbidden, so no check may require it"),
    ({"outcomes": [{**OUTCOME, "weight": 0.1}]}, "outcomes[0] (resolved).weight: an outcome has no weight"),
    ({"outcomes": [{**OUTCOME, "id": "listed"}]}, "outcomes[0] (listed).id: another check has this id"),
])
def test_problems_of_the_file(change: dict[str, Any], message: str) -> None:
    with pytest.raises(PackageError) as caught:
        Contract.parse({**GRADING, **change})
    assert str(caught.value).startswith(f"{WHOLE}: {message}")
    assert "\n" not in str(caught.value)


def test_a_missing_key_is_named() -> None:
    for key in ("schema_version", "checks", "outcomes"):
        with pytest.raises(PackageError, match=f"^{WHOLE}: {key}: is missing$"):
            Contract.parse({name: value for name, value in GRADING.items() if name != key})


@pytest.mark.parametrize(("check", "message"), [
    ({"kind": "tool_caled", "id": "x"}, "checks[0] (x).kind: unknown kind 'tool_caled': did you mean 'tool_called'?"),
    ({"id": "x"}, "checks[0] (x).kind: is missing: choose from answer, asked"),
    ({**LISTED, "tol": "x"}, "checks[0] (listed).tol: unknown key: did you mean 'tool'?"),
    ({"kind": "tool_called", "id": "x", "weight": 1, "tol": "y"}, "checks[0] (x).tol: unknown key: did you mean 'tool'?"),
    ({"kind": "tool_called", "id": "x", "weight": 1}, "checks[0] (x).tool: is missing"),
    ({"kind": "tool_called", "weight": 1, "tool": "y"}, "checks[0].id: is missing"),
    ({**LISTED, "id": "has space"}, "checks[0] (has space).id: string should match pattern"),
    ({**LISTED, "weight": "0.3"}, 'checks[0] (listed).weight: expected a number, not "0.3"'),
    ({**LISTED, "weight": 1.5}, "checks[0] (listed).weight: input should be less than or equal to 1, not 1.5"),
    ({**OPENED, "arguments": {"ticket_id": {"contain": "T"}}},
     "checks[0] (opened).arguments.ticket_id: unknown matcher 'contain': did you mean 'contains'?"),
    ({**OPENED, "arguments": {"a": {"any": [1, {"number": "x"}]}}}, 'checks[0] (opened).arguments.a.any[1].number: expected a number, not "x"'),
    ({**TIDY, "allow": [{"table": "a.b", "feilds": ["x"]}]}, "checks[0] (tidy).allow[0].feilds: unknown key: did you mean 'fields'?"),
    ({"kind": "order", "id": "o", "weight": 1, "events": [{"tool": "a"}, {"tol": "b"}]},
     "checks[0] (o).events[1].tol: unknown key: did you mean 'tool'?"),
    ({**OPENED, "arguments": {}}, "checks[0] (opened).arguments: needs 1 or more"),
    ({"kind": "order", "id": "o", "weight": 1, "events": [{"tool": "a"}]}, "checks[0] (o).events: needs 2 or more"),
    ({**OPENED, "arguments": "x"}, 'checks[0] (opened).arguments: expected a mapping, not "x"'),
    ({**TIDY, "allow": ["x"]}, 'checks[0] (tidy).allow[0]: expected a mapping, not "x"'),
    ({**UPDATED, "min": 2, "max": 1}, "checks[0] (updated): max 1 is less than min 2"),
    ({"kind": "answer", "id": "a", "weight": 1, "matches": {"date": "soon"}},
     "checks[0] (a).matches.date: expected an ISO 8601 date or time in quotes"),
])
def test_problems_of_a_check(check: dict[str, Any], message: str) -> None:
    with pytest.raises(PackageError) as caught:
        Contract.parse(with_checks(check))
    assert str(caught.value).startswith(f"{WHOLE}: {message}")
    assert "\n" not in str(caught.value)
    assert caught.value.where == message.split(": ")[0]


@pytest.mark.parametrize(("weights", "total"), [((0.3, 0.3, 0.39), "0.99"), ((0.5, 0.5, 0.5), "1.5"), ((0, 0, 0), "0")])
def test_weights_must_sum_to_one(weights: tuple[float, ...], total: str) -> None:
    checks = [{**one, "weight": weight} for one, weight in zip((LISTED, OPENED, UPDATED), weights, strict=True)]
    with pytest.raises(PackageError, match=f"^{WHOLE}: checks: the weights sum to {total}, not 1$"):
        Contract.parse(with_checks(*checks))


def test_a_second_use_of_an_id_is_named() -> None:
    with pytest.raises(PackageError, match=r"checks\[2\] \(listed\).id: another check has this id"):
        Contract.parse(with_checks(LISTED, OPENED, {**UPDATED, "id": "listed"}))


def test_what_is_no_mapping_is_refused_under_its_own_path() -> None:
    with pytest.raises(PackageError, match=r"^my\.yaml: expected a mapping, not \[\]$"):
        Contract.parse([], "my.yaml")  # type: ignore[arg-type]


def test_references_say_what_is_named_and_where() -> None:
    extra = {"kind": "file_content", "id": "file", "path": "out.csv", "content": "x"}
    order = {"kind": "order", "id": "order", "events": [{"tool": "a"}, {"tool": "b"}]}
    loose = {"kind": "unchanged", "id": "loose", "allow": [{"table": "gmail.drafts"}]}
    absent = {"kind": "audit_absent", "id": "absent", "collection": "gmail.sent"}
    contract = Contract.parse(with_checks(LISTED, OPENED, UPDATED, TIDY, extra, order, loose, absent))
    assert contract.references() == (
        ("forbidden_tools[0]", "tool", "crm_export_report", ""),
        ("checks[0] (listed).tool", "tool", "helpdesk_list_tickets", ""),
        ("checks[1] (opened).tool", "tool", "helpdesk_get_ticket", ""),
        ("checks[2] (updated).collection", "collection", "helpdesk.updated_tickets", ""),
        ("checks[3] (tidy).allow[0].key", "row", "helpdesk.tickets", "T-1"),
        ("checks[4] (file).path", "file", "out.csv", ""),
        ("checks[5] (order).events[0].tool", "tool", "a", ""),
        ("checks[5] (order).events[1].tool", "tool", "b", ""),
        ("checks[6] (loose).allow[0].table", "table", "gmail.drafts", ""),
        ("checks[7] (absent).collection", "collection", "gmail.sent", ""),
        ("outcomes[0] (resolved).key", "row", "helpdesk.tickets", "T-1"),
    )
