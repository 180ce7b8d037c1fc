"""The check of what the user was asked: whether, and before which work."""

import pytest
from grading_samples import READ_LIST, READ_ONE, UPDATE, check, evidence_of, graded_task, verdict, with_checks

from cowork_gym.core.errors import PackageError
from cowork_gym.graders import Contract, Evidence, classify, grade
from cowork_gym.graders.checks import Reference
from cowork_gym.graders.evidence import Heard

REFUSED = ("helpdesk_update_ticket", {"ticket_id": "T-9"}, {"error": "no such ticket", "type": "not_found"})


def evidence(*heard: tuple[str, int]) -> Evidence:
    """A list, a refused update, a read, an update: entries 1 to 4."""
    return evidence_of(READ_LIST, REFUSED, READ_ONE, UPDATE, heard=tuple(Heard(*one) for one in heard))


def test_a_fact_was_told_or_was_not() -> None:
    assert verdict(evidence(("date", 0)), "asked", fact="date") == (True, "The user told 'date'.", ())
    assert verdict(evidence(("place", 0)), "asked", fact="date") == (False, "The user never told 'date'.", ())


@pytest.mark.parametrize(("sequence", "passed"), [(0, True), (1, True), (2, True), (3, True), (4, False), (9, False)])
def test_it_comes_before_the_first_call_that_was_not_refused(sequence: int, passed: bool) -> None:
    found = verdict(evidence(("place", 0), ("date", sequence)), "asked", fact="date", before="helpdesk_update_ticket")
    word = "after" if passed else "before"
    assert found == (passed, f"helpdesk_update_ticket was first called {word} the user told 'date'.", ("ledger:4",))


def test_the_first_time_counts() -> None:
    assert verdict(evidence(("date", 9), ("date", 1)), "asked", fact="date", before="helpdesk_update_ticket").passed
    assert not verdict(evidence_of(UPDATE, UPDATE, heard=(Heard("date", 1),)), "asked", fact="date", before="helpdesk_update_ticket").passed


def test_without_the_call_it_is_enough_to_have_asked() -> None:
    assert verdict(evidence(("date", 4)), "asked", fact="date", before="crm_export_report").passed
    assert not verdict(evidence(), "asked", fact="date", before="crm_export_report").passed


def test_the_untouched_world_has_told_nothing() -> None:
    contract = with_checks({"kind": "asked", "id": "asked", "weight": 1, "fact": "date", "before": "helpdesk_update_ticket"})
    assert not check("asked", fact="date").evaluate(evidence(("date", 0)).untouched()).passed
    assert classify(Contract.parse(contract), evidence(("date", 0)))["asked"] == "objective"
    rewards = [grade(graded_task(contract), evidence(*heard)).completion for heard in ([("date", 1)], [("date", 4)], [])]
    assert rewards == [1.0, 0.0, 0.0]


def test_it_names_its_tool() -> None:
    assert [*check("asked", fact="date", before="kb_search").references()] == [Reference("before", "tool", "kb_search")]
    assert [*check("asked", fact="date").references()] == []


@pytest.mark.parametrize(("fields", "problem"), [
    ({}, r"checks\[0\] \(it\)\.fact: is missing"), ({"fact": ""}, r"\.fact: string should have"),
    ({"fact": "a", "befor": "b"}, "did you mean 'before'"),
    ({"fact": "a", "before": "crm_export_report"}, "is forbidden, so no check may require it"),
])
def test_what_cannot_be_used_is_refused(fields: dict[str, str], problem: str) -> None:
    with pytest.raises(PackageError, match=problem):
        Contract.parse(with_checks({"kind": "asked", "id": "it", "weight": 1, **fields}))
