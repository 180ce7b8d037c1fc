"""Checks that ask for less, grades put together anew, and the agent that does not look again."""

from decimal import Decimal
from typing import Any

import pytest
from overlays import SOUND, overlaid

from cowork_gym.core.grade import CheckResult, Part
from cowork_gym.core.snapshot import Change
from cowork_gym.envs.evidence import evidence_of
from cowork_gym.envs.registration import load_task
from cowork_gym.graders.checks import Check
from cowork_gym.graders.contract import Contract
from cowork_gym.synthesis.gates.degenerate import play_agents
from cowork_gym.synthesis.gates.subject import Subject
from cowork_gym.synthesis.mutants import weakened
from cowork_gym.synthesis.recorded import drops, script_of
from cowork_gym.synthesis.regrade import Mark, mark_of, regrade
from cowork_gym.synthesis.stale import moved_between


def _check(**fields: Any) -> Check:
    return Contract.parse({
        "schema_version": 1, "checks": [{"id": "one", "weight": 1, **fields}],
        "outcomes": [{"id": "o", "kind": "tool_called", "tool": "t"}],
    }).checks[0]


@pytest.mark.parametrize(("fields", "whole", "less"), [
    ({"kind": "tool_called", "tool": "t"}, [], []),
    ({"kind": "tool_called", "tool": "t", "min_calls": 2, "stage": 1}, [], ["min_calls 2", "stage 1"]),
    ({"kind": "tool_called_with", "tool": "t", "arguments": {"id": "x"}}, ["arguments.id"], []),
    ({"kind": "audit_record", "collection": "a.b", "where": {"n": {"number": 5}}, "min": 2, "max": 2},
     ["where.n"], ["where.n tolerance", "max 2", "min 2"]),
    ({"kind": "order", "events": [{"tool": "t", "arguments": {"id": "x"}}, {"tool": "u"}]}, [], ["events[0]", "events[0].arguments.id", "events[1]"]),
    ({"kind": "unchanged", "allow": [{"table": "a.b", "key": "k", "fields": ["f"], "change": "updated"}]}, [],
     ["allow[0].key", "allow[0].fields", "allow[0].change"]),
    ({"kind": "asked", "fact": "f", "before": "t"}, [], ["before"]),
    ({"kind": "answer", "matches": {"form": {"A": {"text": "x"}, "B": {"contains_all": ["y", "z"]}}}},
     ["matches.A", "matches.B"], ["matches.B.contains 'y'", "matches.B.contains 'z'", "matches as a form"]),
    ({"kind": "answer", "matches": {"all": [{"contains": "x"}, {"not": {"text": "y"}}]}}, [], ["matches[1].not", "matches[0]", "matches[1]"]),
    ({"kind": "file_content", "path": "f", "content": {"json": {"fields": {"n": 1}}}}, ["content.json.n"], []),
])
def test_each_thing_that_is_asked_for_can_be_left_out(fields: Any, whole: list[str], less: list[str]) -> None:
    found = [*weakened(_check(**fields))]
    assert [one.what for one in found if one.whole] == whole
    assert [one.what for one in found if not one.whole] == less
    assert all(one.check != _check(**fields) for one in found)


def test_a_weaker_check_passes_more() -> None:
    subject = Subject(load_task(SOUND))
    check = next(one for one in subject.contract.outcomes if one.id == "routed")
    wrong = evidence_of(subject.negatives[2], subject.blueprint)
    assert not check.evaluate(wrong).passed
    [mutant] = weakened(check)
    assert mutant.check.evaluate(wrong).passed


@pytest.mark.parametrize("name", ["sound", "failing", "staged", "asking"])
def test_a_grade_is_put_together_anew_from_its_verdicts(name: str, tmp_path: Any) -> None:
    subject = Subject(load_task(SOUND if name == "sound" else overlaid(SOUND.parent / name, tmp_path)))
    script = script_of(subject, 0)
    play_agents(subject)
    drops(subject, script, range(4))
    for episode in (*subject.references, *subject.negatives, *subject.episodes):
        grade = episode.grade
        assert grade is not None
        assert mark_of(grade) == Mark(grade.reward, grade.passed, grade.outcome)


def _result(id: str, part: Part, weight: float = 0.0, *, passed: bool = True) -> CheckResult:
    return CheckResult(id, "tool_called", part, passed, weight, "")


def test_weights_are_shares_of_what_is_left() -> None:
    checks = [_result("a", Part.OBJECTIVE, 0.5), _result("b", Part.OBJECTIVE, 0.25, passed=False), _result("c", Part.OUTCOME)]
    assert regrade(checks, 1.0, "cowork-v1") == Mark(0.7333, False, 1.0)
    assert regrade([checks[0], checks[2]], 1.0, "cowork-v1") == Mark(1.0, True, 1.0)
    assert regrade([*checks, _result("d", Part.GUARDRAIL, passed=False)], 1.0, "cowork-v1") == Mark(0.2667, False, 0.5)
    assert regrade([*checks, _result("e", Part.FORBIDDEN, passed=False)], 1.0, "claw-v1") == Mark(0.0, False, 1.0)
    assert regrade(checks[2:], 1.0, "cowork-v1") is None


def _moved(old: dict[str, Any] | None, new: dict[str, Any] | None, told: str = "", seen: str = "") -> Any:
    return moved_between({("a.b", "K-1"): old}, (Change("a.b", "K-1", old, new),), told, seen)


@pytest.mark.parametrize(("old", "new", "said", "stale"), [
    ({"team": "desk-orchard"}, {"team": "desk-juniper"}, "It is with desk-juniper.", "It is with desk-orchard."),
    ({"text": "Tickets go to the mill, at 10:00."}, {"text": "Tickets go to the dairy, at 10:00."}, ["dairy", "Dairymaid"], ["mill", "Dairymaid"]),
    ({"sum": 40}, {"sum": 55}, {"amount": 55, "other": 56, "flag": True}, {"amount": 40, "other": 56, "flag": True}),
    ({"sum": Decimal("40.10")}, {"sum": Decimal("55.20")}, {"amount": 55.2}, {"amount": Decimal("40.10")}),
    ({"due": "1,240.50 EUR"}, {"due": "1,310.00 EUR"}, ["1,310.00", 1310], ["1,240.50", Decimal("1240.50")]),
    (None, {"body": "Please pay 512.40 to Hollin."}, ["pay 512.40", 512.4, "K-1"], ["pay unknown", 0, "K-1"]),
    ({"owner": "王芳"}, {"owner": "李娜"}, "交给李娜处理", "交给王芳处理"),
    ({"gone": "x"}, None, "anything", "anything"),
    ({"done": False}, {"done": True}, True, True),
])
def test_what_has_changed_is_not_known(old: Any, new: Any, said: Any, stale: Any) -> None:
    assert _moved(old, new).before(said) == stale


def test_what_was_told_or_seen_is_known() -> None:
    old, new = {"team": "desk-orchard"}, {"team": "desk-juniper"}
    assert _moved(old, new, told="It goes to desk-juniper now.").before("desk-juniper") == "desk-juniper"
    assert _moved(old, new, seen="There is a team desk-juniper.").before("desk-juniper") == "desk-orchard"
    assert _moved(None, {"team": "desk-juniper"}, seen="There is a team desk-juniper.").before("desk-juniper") == "desk-juniper"
    assert (_moved(None, new).new, _moved(None, new, told="K-1").new) == (frozenset({"K-1"}), frozenset())
