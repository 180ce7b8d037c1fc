import pytest
from grading_samples import CLOSED, GRADING, UPDATE, evidence_of, with_checks

from cowork_gym.core.errors import PackageError
from cowork_gym.core.grade import Part
from cowork_gym.graders import Contract, classify

LISTED, OPENED, UPDATED, TIDY = GRADING["checks"]
OUTCOME = GRADING["outcomes"][0]
OPEN = {"kind": "row_state", "id": "open", "table": "helpdesk.tickets", "key": "T-2", "fields": {"status": "open"}}


def test_parts_come_from_the_starting_world_alone() -> None:
    contract = Contract.parse(with_checks(LISTED, OPENED, UPDATED, TIDY, OPEN))
    parts = classify(contract, evidence_of())
    assert parts == {
        "listed": Part.OBJECTIVE, "opened": Part.OBJECTIVE, "updated": Part.OBJECTIVE, "tidy": Part.GUARDRAIL, "open": Part.GUARDRAIL,
        "resolved": Part.OUTCOME,
    }
    assert classify(contract, evidence_of(UPDATE, changes=(CLOSED,), answer="done")) == parts


@pytest.mark.parametrize(("grading", "where", "problem"), [
    ({**GRADING, "outcomes": [OUTCOME, OPEN]}, "outcomes[1] (open)", "the outcome already holds in the starting world"),
    (with_checks({**OPEN, "weight": 1}, TIDY), "checks", "there is no objective: every check already holds in the starting world"),
    (with_checks({**OPEN, "weight": 1}, {**OPENED, "weight": 0}), "checks[1] (opened).weight",
     "an objective needs a weight: it does not hold in the starting world"),
    (with_checks(LISTED, OPENED, UPDATED, {"kind": "python", "id": "own", "entry": "no_such_module:f"}), "checks[3] (own)",
     "fails to run on the starting world: ModuleNotFoundError: No module named 'no_such_module'"),
])
def test_contracts_that_cannot_grade_are_refused(grading: dict[str, object], where: str, problem: str) -> None:
    with pytest.raises(PackageError) as caught:
        classify(Contract.parse(grading, "g.yaml"), evidence_of())
    assert (caught.value.path, caught.value.where, caught.value.problem) == ("g.yaml", where, problem)


def test_a_negative_check_of_the_answer_is_a_guardrail() -> None:
    silent = {"kind": "answer", "id": "silent", "matches": {"contains_none": ["new account"]}}
    assert classify(Contract.parse(with_checks(LISTED, OPENED, UPDATED, silent)), evidence_of())["silent"] is Part.GUARDRAIL
