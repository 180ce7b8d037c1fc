"""Gates whose flaw no package can have, or has in more ways than the broken ones show."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from odd_services import Desks
from overlays import SOUND

from cowork_gym.core.task import Task
from cowork_gym.envs.registration import load_task
from cowork_gym.mock_services.kit import Effect, Service, tool
from cowork_gym.synthesis.gates import contracts, ledger
from cowork_gym.synthesis.gates.allowlist import ALLOWLIST
from cowork_gym.synthesis.gates.contracts import CONTRACTS
from cowork_gym.synthesis.gates.gate import Gate
from cowork_gym.synthesis.gates.leaks import LEAKS
from cowork_gym.synthesis.gates.ledger import LEDGER
from cowork_gym.synthesis.gates.package import PACKAGE
from cowork_gym.synthesis.gates.subject import Subject
from cowork_gym.synthesis.gates.weights import WEIGHTS

Grading = dict[str, Any]


@pytest.fixture
def task() -> Task:
    return load_task(SOUND)


def _found(gate: Gate, task: Task) -> list[str]:
    problems, evidence = gate.examine(Subject(task))
    assert evidence
    return [one.found for one in problems]


def _graded(task: Task, change: Callable[[Grading], None]) -> Task:
    grading = {name: [dict(one) if isinstance(one, dict) else one for one in value] if isinstance(value, list | tuple) else value
               for name, value in task.grading.items()}
    change(grading)
    return replace(task, grading=grading)


def test_a_reference_may_not_call_what_is_forbidden(task: Task) -> None:
    forbids = _graded(task, lambda grading: grading.update(forbidden_tools=["crm_export_report", "kb_search"], checks=_without_search(grading)))
    assert _found(WEIGHTS, forbids) == ["calls kb_search, which is forbidden"]


def _without_search(grading: Grading) -> list[Grading]:
    kept = [one for one in grading["checks"] if one["id"] != "rules_searched"]
    return [{**one, "weight": Decimal("0.55")} if one["id"] == "ticket_updated" else one for one in kept]


def test_a_task_of_refusal_may_rest_on_reading() -> None:
    assert _found(WEIGHTS, load_task("M133")) == []


def test_a_schema_that_is_not_the_tools_own_is_told(task: Task) -> None:
    schema = {"type": "function", "function": {"name": "kb_search", "description": "Search.", "parameters": {}}}
    assert len(_found(CONTRACTS, replace(task, contracts={**task.contracts, "kb_search": schema}))) == 1


def test_arguments_are_read_in_whatever_way() -> None:
    class Ways(Service):
        """Ways to read."""

        name = "ways"

        @tool(Effect.READ)
        def closure(self, one: int = 1, two: int = 2) -> list[int]:
            """Read in a function within, and in a comprehension.

            Args:
                one: One.
                two: Two.
            """
            def inner() -> int:
                return one

            return [inner() for _ in range(two)]

        @tool(Effect.READ)
        def told(self, one: int = 1) -> int:
            """Read nothing.

            Args:
                one: Has no effect.
            """
            return 1

    found = {name: contracts._read_by(one) for name, one in Ways.tools().items()}
    assert found["ways_closure"] >= {"one", "two"}
    assert [*contracts._idle(dict(Ways.tools()))] == []
    assert [one.where for one in contracts._idle(dict(Desks.tools()))] == ["tool desks_list_desks"]


def test_a_forged_record_that_nobody_sees_is_told(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _found(LEDGER, task) == []
    monkeypatch.setattr(ledger, "contradiction", lambda evidence: None)
    assert _found(LEDGER, task) == [
        f"{what}, and no contradiction was seen" for what in ("a dispatch was dropped", "a dispatch was added", "the ledger's end was cut off")
    ]


def test_an_episode_whose_records_differ_is_told(task: Task) -> None:
    subject = Subject(task)
    episode = subject.negatives[1]
    turns = (replace(episode.turns[0], dispatches=()), *episode.turns[1:])
    subject._played["direct:negative:look_alike"] = replace(episode, turns=turns)
    del subject.__dict__["negatives"]
    problems, _ = LEDGER.examine(subject)
    assert [one.found for one in problems] == ["ledger entry 1 (crm_list_customers) has no dispatch"]


@pytest.mark.parametrize(("request_text", "matches", "told"), [
    ("Pay the 1,240.50 that are open.", {"labelled": {"Total": {"number": "1240.50"}}}, 1),
    ("Pay the 11,240.50 that are open.", {"labelled": {"Total": {"number": "1240.50"}}}, 0),
    ("Close with\n\n  Decision: declined\n", {"form": {"Decision": {"text": "declined"}}}, 1),
    ("Close with\n\n  Decision: approved, or declined\n", {"form": {"Decision": {"text": "declined"}}}, 0),
    ("It has 3 parts.", {"labelled": {"Parts": {"number": 3}}}, 0),
    ("Not 4711 but another.", {"labelled": {"Code": {"not": {"text": "4711"}}}}, 0),
    ("One of A4711 and B.", {"all": [{"contains_any": ["A4711", "C"]}]}, 1),
    ("By 2026-04-01.", {"json": {"fields": {"due": {"date": "2026-04-01"}}}}, 1),
])
def test_expected_values_in_a_request(task: Task, request_text: str, matches: Grading, told: int) -> None:
    outcome = {"id": "more", "kind": "answer", "matches": matches}
    asking = _graded(replace(task, request=request_text), lambda grading: grading["outcomes"].append(outcome))
    assert len(_found(LEAKS, asking)) == told


def test_what_is_given_is_no_leak(task: Task) -> None:
    named = replace(task, request=f"{task.request} It is about TCK-702.")
    assert _found(LEAKS, named) == ["names TCK-702, which is to be found out"]
    assert _found(LEAKS, replace(named, given=("TCK-702",))) == []


def test_a_tools_description_may_leak_too(task: Task) -> None:
    [name, schema] = next(iter(task.contracts.items()))
    told = {**schema, "function": {**schema["function"], "description": "Get a customer, such as CUS-101."}}
    assert _found(LEAKS, replace(task, contracts={**task.contracts, name: told})) == ["names CUS-101, which is to be found out"]


@pytest.mark.parametrize(("allow", "found"), [
    ([{"table": "helpdesk.tickets", "fields": ["assigned_to"]}], []),
    ([{"table": "helpdesk.tickets", "key": "TCK-702", "fields": ["assigned_to"], "change": "updated"}], []),
    ([{"table": "helpdesk.tickets", "key": "TCK-702", "change": "updated"}], ["allows any change of helpdesk.tickets/TCK-702 updated"]),
    ([{"table": "helpdesk.tickets", "change": "updated"}], ["allows any change of every row of helpdesk.tickets"]),
    ([{"table": "helpdesk.tickets", "key": "TCK-702", "fields": [name]} for name in ("assigned_to", "tags")],
     ["allows helpdesk.tickets/TCK-702 (tags), which no reference needs"]),
])
def test_allowances(task: Task, allow: list[Grading], found: list[str]) -> None:
    assert _found(ALLOWLIST, _graded(task, lambda grading: grading["checks"][-1].update(allow=allow))) == found


def test_a_reference_that_changes_more_than_is_allowed_is_told(task: Task) -> None:
    narrow = _graded(task, lambda grading: grading["checks"][-1].update(allow=[{"table": "helpdesk.tickets", "key": "TCK-702", "fields": ["tags"]}]))
    assert _found(ALLOWLIST, narrow)[0].startswith("rest_unchanged: Changed without need: helpdesk.tickets/TCK-702")


@pytest.mark.parametrize(("difficulty", "told"), [("", 0), ("D1", 0), ("D1.5", 1), ("D2.5", 2), ("hard", 0)])
def test_claims_of_difficulty(task: Task, difficulty: str, told: int) -> None:
    assert len(_found(PACKAGE, replace(task, difficulty=difficulty))) == told
