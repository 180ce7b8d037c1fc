"""What is made of an execution: calls left out, made twice, aimed elsewhere; texts with one wrong thing in them."""

from typing import Any

import pytest
from overlays import SOUND, overlaid

from cowork_gym.core.messages import Message, ToolCall, call, final, message
from cowork_gym.core.task import Execution
from cowork_gym.envs.registration import load_task
from cowork_gym.synthesis.derived import appended, astray, beside, calls_of, doubled, dropped, leaves, put, silenced, spoken
from cowork_gym.synthesis.ends import end_of
from cowork_gym.synthesis.gates.subject import Subject
from cowork_gym.synthesis.lookalikes import Lookalikes
from cowork_gym.synthesis.recorded import script_of
from cowork_gym.synthesis.spoils import spoiled

SCRIPT = Execution("way", (call("a", id="1"), message("Both.", call("b", to=["x", "y"]), call("c")), final("Which?"), final("Line: 1")))


def _told(execution: Execution) -> list[Any]:
    return [[(one.name, dict(one.decoded())) for one in action.tool_calls] or action.content for action in execution.actions]


def test_calls_are_left_out_with_the_messages_that_they_empty() -> None:
    assert _told(dropped(SCRIPT, [0])) == [[("b", {"to": ["x", "y"]}), ("c", {})], "Which?", "Line: 1"]
    assert _told(dropped(SCRIPT, [1, 2])) == [[("a", {"id": "1"})], "Which?", "Line: 1"]
    assert (dropped(SCRIPT, [2]).name, dropped(SCRIPT, [1], "less").name) == ("way/drop:2 c", "way/less")


def test_a_call_is_made_twice_or_aimed_elsewhere() -> None:
    assert _told(doubled(SCRIPT, 2))[1] == [("b", {"to": ["x", "y"]}), ("c", {}), ("c", {})]
    assert _told(astray(SCRIPT, 1, ("to", 1), "z"))[1] == [("b", {"to": ["x", "z"]}), ("c", {})]
    assert _told(beside(SCRIPT, 1, ("to", 0), "z"))[1] == [("b", {"to": ["x", "y"]}), ("b", {"to": ["z", "y"]}), ("c", {})]
    assert _told(SCRIPT)[1] == [("b", {"to": ["x", "y"]}), ("c", {})]
    names = {one.name for one in (doubled(SCRIPT, 1), astray(SCRIPT, 1, ("to", 1), "z"), beside(SCRIPT, 1, ("to", 1), "z"))}
    assert names == {"way/double:1 b", "way/astray:1 b.to.1 z", "way/beside:1 b.to.1 z"}


@pytest.mark.parametrize(("actions", "at"), [(SCRIPT.actions, 3), (SCRIPT.actions[:2], 2), ((), 0)])
def test_a_call_is_added_before_the_answer(actions: tuple[Message, ...], at: int) -> None:
    longer = appended(Execution("way", actions), ToolCall("d", {}), "more").actions
    assert longer[at].tool_calls[0].name == "d"
    assert [*longer[:at], *longer[at + 1 :]] == [*(actions or (final(""),))]


def test_messages_are_left_out() -> None:
    assert _told(silenced(SCRIPT, [2], "mute")) == [*_told(SCRIPT)[:2], "Line: 1"]


def test_values_have_places() -> None:
    value = {"a": [1, {"b": "x"}], "c": None}
    assert dict(leaves(value)) == {("a", 0): 1, ("a", 1, "b"): "x", ("c",): None}
    assert put(value, ("a", 1, "b"), "y") == {"a": [1, {"b": "y"}], "c": None}
    assert all(put(value, path, one) == value for path, one in leaves(value))


def test_a_script_is_said_again_with_its_blanks_filled_in(tmp_path: Any) -> None:
    subject = Subject(load_task(overlaid(SOUND.parent / "asking", tmp_path)))
    script = script_of(subject, 0)
    assert [one.name for one in calls_of(script)] == [one.tool for one in subject.references[0].dispatches]
    assert script.actions == subject.task.references[0].actions
    again = subject.play(script)
    assert again.ledger.hash == subject.references[0].ledger.hash
    assert spoken(again, "asks") == script


def test_the_nearest_record_is_alike_in_form_and_fields() -> None:
    lookalikes = Lookalikes({
        "crm.customers": {
            "CUS-1": {"id": "CUS-1", "name": "Alder", "tier": "vip", "mail": "a@alder.example"},
            "CUS-2": {"id": "CUS-2", "name": "Birch", "tier": "vip", "mail": "b@birch.example"},
            "CUS-3": {"id": "CUS-3", "name": "Alder", "tier": "low"},
            "X9": {"id": "X9", "name": "Alder", "tier": "vip", "mail": "a@alder.example"},
        },
        "kb.articles": {"KB-1": {"id": "KB-1"}},
    })
    assert (lookalikes.of("CUS-1"), lookalikes.of("CUS-3")) == ("CUS-2", "CUS-1")
    assert lookalikes.of("b@birch.example") == "a@alder.example"
    assert [lookalikes.of(one) for one in ("KB-1", "CUS-4", 7, None)] == [None] * 4


def test_ends_are_equal_whatever_the_time() -> None:
    subject = Subject(load_task(SOUND))
    script, marks = script_of(subject, 0), subject.blueprint.marks
    once, later, other = (subject.play(one) for one in (script, doubled(script, 0), astray(script, 6, ("assigned_to",), "desk-mill")))
    assert once.end != later.end
    assert end_of(once, marks) == end_of(later, marks) != end_of(other, marks)
    assert end_of(subject.play(dropped(script, [6])), marks) == frozenset()


def _spoils(value: Any, **form: Any) -> list[Any]:
    execution = Execution("way", (call("w", it=value),))
    schema = {"w": {"properties": {"it": form}}}
    return [calls_of(one)[0].decoded()["it"] for one, *_ in spoiled(execution, [0], schema)]


@pytest.mark.parametrize(("value", "form", "wrong"), [
    ("high", {"enum": ["low", "high"]}, ["low"]),
    ("high", {"anyOf": [{"enum": ["high", "low"]}, {"type": "null"}]}, ["low"]),
    (True, {}, [False]),
    (4, {}, [9]),
    (None, {}, []),
    ("2026-03-31", {}, ["2026-03-30", "2026-04-01"]),
    ("2026-03-31T09:00:00Z", {}, ["2026-03-31T08:45:00Z", "2026-03-31T09:15:00Z"]),
    ("2026-03-31T00:00+01:00", {}, ["2026-03-30T23:45+01:00", "2026-03-31T00:15+01:00"]),
    ("2026-13-41", {}, ["unknown"]),
    ("ann@mill.example", {}, ["somebody.else@elsewhere.example", "ann@mill.example, somebody.else@elsewhere.example"]),
    ("Due: 2026-03-31\nTotal: 1,240.50.", {}, [f"Due: {due}\nTotal: {total}" for due, total in (
        ("unknown", "1,240.50."), ("2026-03-31 or unknown", "1,240.50."), ("2026-04-01", "1,240.50."),
        ("2026-03-31", "unknown"), ("2026-03-31", "1,240.50. or unknown"), ("2026-03-31", "1241.50."))]),
    ("原因：证书", {}, ["原因：unknown", "原因：证书 or unknown"]),
    ("desk-mill", {}, ["unknown"]),
    ("Cause: CHAIN\nFix: reload", {}, ["Cause: unknown\nFix: reload", "Cause: CHAIN or unknown\nFix: reload",
                                           "Cause: CHAIN\nFix: unknown", "Cause: CHAIN\nFix: reload or unknown"]),
    ("Pay 12.40 by 3 May", {}, ["unknown", "Pay 13.40 by 3 May", "Pay 12.40 by 4 May"]),
    ('{"total": 3, "due": "2026-01-01"}', {}, ['{"total":7,"due":"2026-01-01"}', '{"total":3,"due":"2025-12-31"}', '{"total":3,"due":"2026-01-02"}']),
    (["x", "y"], {}, [["unknown", "y"], ["x", "unknown"]]),
])
def test_one_thing_is_made_wrong(value: Any, form: Any, wrong: list[Any]) -> None:
    assert _spoils(value, **form) == wrong


def test_answers_are_made_wrong_and_reads_are_not() -> None:
    found = [one.execution for one in spoiled(SCRIPT, [], {})]
    assert [one.actions[-1].content for one in found if one.actions[-1] != SCRIPT.actions[-1]] == ["Line: unknown", "Line: 1 or unknown", "Line: 2"]
    assert all(calls_of(one) == calls_of(SCRIPT) for one in found)
    assert len({one.name for one in found}) == len(found)
