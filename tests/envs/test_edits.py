"""Negatives that depart from a reference by edits."""

from typing import Any

import pytest
from pydantic import ValidationError

from cowork_gym.core.messages import Message, call, final, message
from cowork_gym.envs.edits import Edit, edited

A1, A2, B = call("a", id="T-1"), call("a", id="T-2", note="T-1 of T"), call("b")
RUN = (A1, message(None, *B.tool_calls, *A2.tool_calls), final("T-1 is done."))


def _calls(actions: tuple[Message, ...]) -> list[Any]:
    return [[(one.name, one.decoded()) for one in each.tool_calls] or each.content for each in actions]


@pytest.mark.parametrize(("edit", "expected"), [
    ({"drop": "b"}, [[("a", {"id": "T-1"})], [("a", {"id": "T-2", "note": "T-1 of T"})], "T-1 is done."]),
    ({"drop": "a#1"}, [[("b", {}), ("a", {"id": "T-2", "note": "T-1 of T"})], "T-1 is done."]),
    ({"drop": "a"}, [[("b", {})], "T-1 is done."]),
    ({"change": "a#2", "arguments": {"note": None, "id": "T-3"}}, [[("a", {"id": "T-1"})], [("b", {}), ("a", {"id": "T-3"})], "T-1 is done."]),
    ({"change": "a", "arguments": {"x": 1}},
     [[("a", {"id": "T-1", "x": 1})], [("b", {}), ("a", {"id": "T-2", "note": "T-1 of T", "x": 1})], "T-1 is done."]),
    ({"add": "c"}, [*_calls(RUN[:2]), [("c", {})], "T-1 is done."]),
    ({"add": "c", "arguments": {"y": 2}, "before": "a#2"}, [*_calls(RUN[:1]), [("c", {"y": 2})], *_calls(RUN[1:])]),
    ({"add": "c", "after": "a#1"}, [*_calls(RUN[:1]), [("c", {})], *_calls(RUN[1:])]),
    ({"swap": {"T-1": "T-9"}}, [[("a", {"id": "T-9"})], [("b", {}), ("a", {"id": "T-2", "note": "T-9 of T"})], "T-9 is done."]),
    ({"swap": {"T-1": "T-2", "T-2": "T-1"}}, [[("a", {"id": "T-2"})], [("b", {}), ("a", {"id": "T-1", "note": "T-2 of T"})], "T-2 is done."]),
    ({"final": "No."}, [*_calls(RUN[:2]), "No."]),
])
def test_an_edit(edit: dict[str, Any], expected: list[Any]) -> None:
    assert _calls(edited(RUN, [Edit(**edit)])) == expected
    assert RUN[0].tool_calls[0].decoded() == {"id": "T-1"}


def test_edits_follow_each_other() -> None:
    assert _calls(edited(RUN, [Edit(drop="a"), Edit(drop="b"), Edit(final="x")])) == ["x"]
    assert _calls(edited((A1,), [Edit(final="x")])) == [[("a", {"id": "T-1"})], "x"]


@pytest.mark.parametrize(("edit", "problem"), [
    (Edit(drop="c"), "the execution calls no 'c'"), (Edit(drop="a#3"), "the execution calls a 2 times, not 3"),
    (Edit(drop=f"a#{'9' * 5000}"), "the execution calls no 'a#9"),
    (Edit(swap={"T-7": "x"}), "nothing to swap: 'T-7' does not occur"), (Edit(add="c", before="d"), "the execution calls no 'd'"),
])
def test_an_edit_that_does_not_fit_is_refused(edit: Edit, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        edited(RUN, [edit])


@pytest.mark.parametrize("fields", [
    {}, {"drop": "a", "add": "b"}, {"drop": "a", "arguments": {"x": 1}}, {"change": "a"}, {"add": "a", "before": "b", "after": "b"}, {"swap": {}},
    {"swap": {"": "x"}},
    {"change": "a", "arguments": {"x": 1}, "before": "b"},
])
def test_an_edit_without_one_meaning_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Edit(**fields)
