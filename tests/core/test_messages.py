import json
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cowork_gym.core.errors import ErrorKind, ToolError
from cowork_gym.core.messages import Message, ToolCall, call, final, message

TEXT = st.text(max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | TEXT,
    lambda part: st.lists(part, max_size=3) | st.dictionaries(TEXT, part, max_size=3), max_leaves=6,
)
ARGUMENTS = st.dictionaries(TEXT, JSON, max_size=3)
CALLS = st.builds(ToolCall, TEXT, ARGUMENTS | ARGUMENTS.map(json.dumps), st.none() | TEXT)
MESSAGES = st.builds(
    Message, st.sampled_from(["system", "user", "assistant", "tool"]), st.none() | TEXT, st.lists(CALLS, max_size=3).map(tuple),
    st.none() | TEXT, st.none() | TEXT,
).filter(lambda one: one.content is not None or one.tool_calls)


@settings(max_examples=60)
@given(MESSAGES)
def test_wire_and_parse_are_each_others_inverse(one):
    again = Message.parse(json.loads(json.dumps(one.wire())))
    assert again.wire() == one.wire() == Message.parse(json.dumps(one.wire())).wire()
    assert [call.decoded() for call in again.tool_calls] == [call.decoded() for call in one.tool_calls]


def test_the_wire_form_is_openais():
    one = Message.parse({"role": "assistant", "content": None, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "crm_get", "arguments": {"id": "C-1", "é": 1}}}]})
    assert one.wire() == {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "crm_get", "arguments": '{"id":"C-1","é":1}'}}]}
    assert Message("tool", "{}", (), "c1", "crm_get").wire() == {"role": "tool", "content": "{}", "tool_call_id": "c1", "name": "crm_get"}
    assert final("done").wire() == {"role": "assistant", "content": "done"}


@pytest.mark.parametrize("form", [
    {"name": "a_b", "arguments": {"x": 1}},
    {"name": "a_b", "arguments": '{"x": 1}'},
    '{"name": "a_b", "arguments": {"x": 1}}',
    {"tool_calls": [{"name": "a_b", "arguments": {"x": 1}}]},
    {"role": "assistant", "content": "I call", "tool_calls": [{"type": "function", "function": {"name": "a_b", "arguments": '{"x":1}'}}]},
    {"role": "assistant", "tool_calls": [ToolCall("a_b", {"x": 1})]},
    call("a_b", x=1),
    message("I call", call("a_b", x=1)),
])
def test_one_call_in_many_forms(form):
    [one] = Message.parse(form).tool_calls
    assert (one.name, one.decoded()) == ("a_b", {"x": 1})


def test_arguments_are_kept_as_they_came_and_nothing_is_coerced():
    text = '{"n": "1", "f": 0.12345678901234567890, "b": "true"}'
    one = Message.parse({"tool_calls": [{"name": "t", "arguments": text}]}).tool_calls[0]
    assert one.arguments == text and one.wire()["function"]["arguments"] == text
    assert one.decoded() == {"n": "1", "f": Decimal("0.12345678901234567890"), "b": "true"}
    arguments = {"n": 1.0}
    assert call("t", **arguments).tool_calls[0].decoded() == {"n": 1.0}
    doubled = Message.parse({"tool_calls": [{"name": "t", "arguments": '"{}"'}]}).tool_calls[0]
    with pytest.raises(ToolError, match="must be a JSON object, not a string"):
        doubled.decoded()


@pytest.mark.parametrize(("text", "said"), [
    ("{", "not valid JSON"), ("", "not valid JSON"), ("[]", "not a list"), ("null", "not null"), ("1", "not a number"), ("true", "not a boolean"),
    ('{"a": NaN}', "NaN is not JSON"), ("[" * 10_000 + "]" * 10_000, "nested too deeply|not a list"), ("0.5", "not a"),
])
def test_arguments_that_are_no_object(text, said):
    with pytest.raises(ToolError, match=said) as found:
        ToolCall("t", text).decoded()
    assert found.value.kind is ErrorKind.VALIDATION


@pytest.mark.parametrize(("form", "said"), [
    (None, "not null"), (3, "not a number"), ([], "not a list"), ("", "not JSON"), ("hello", r"cowork_gym\.final"), ("[1]", "not a list"),
    ('"x"', "not a string"),
    ("{" * 10_000, "not JSON"), ('{"role": Infinity}', "not JSON"),
    ({"role": "robot"}, "unknown role 'robot': choose from system, user"), ({"role": None}, "unknown role"), ({"role": []}, "unknown role"),
    ({"tool_calls": "x"}, "must be a list"), ({"tool_calls": {"a": 1}}, "must be a list"),
    ({"tool_calls": [3]}, r"tool_calls\[0\] must be an object"),
    ({"tool_calls": [{"function": 3}]}, r"tool_calls\[0\] must be an object"), ({"tool_calls": [{"arguments": {}}]}, r"tool_calls\[0\] has no name"),
    ({"tool_calls": [{"name": 3}]}, "has no name"), ({"tool_calls": [{"name": "t", "arguments": None}]},
    "must be an object or its JSON text, not null"),
    ({"tool_calls": [{"name": "t", "arguments": []}]}, "not a list"), ({"tool_calls": [{"name": "t", "id": 3}]}, "the id of"),
    ({"tool_calls": [{"name": "t"}, {"name": "t", "arguments": 3}]}, r"tool_calls\[1\]"),
    ({}, "this one has nothing"), ({"content": None, "tool_calls": []}, "has a text in `content` or calls in `tool_calls`"),
    ({"calls": [], "text": ""}, "this one has 'calls', 'text'"), ({"content": 3}, "content must be"),
    ({"content": {"text": "x"}}, "content must be"), ({"content": ["x"]}, "content must be"),
    ({"content": "x", "tool_call_id": 3}, "tool_call_id must be a string"), ({"content": "x", "name": 3}, "name must be a string"),
])
def test_what_is_no_message_says_what_was_expected(form, said):
    with pytest.raises(ToolError, match=said) as found:
        Message.parse(form)
    assert found.value.kind is ErrorKind.INVALID_ACTION


def test_content_in_parts_is_their_text():
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert Message.parse({"role": "user", "content": parts}) == Message("user", "ab")
    assert Message.parse({"role": "user", "content": []}).content == ""


def test_calls_without_ids_are_numbered_from_where_the_episode_stands():
    one = message(None, call("a"), ToolCall("b", {}, "mine"), call("c"))
    assert [each.id for each in one.with_ids(5).tool_calls] == ["call_5", "mine", "call_6"]
    named = Message("assistant", None, (ToolCall("a", {}, "x"),))
    assert named.with_ids(1) is named
    clash = message(None, call("a"), ToolCall("b", {}, "call_1"), ToolCall("c", {}, ""))
    ids = [each.id for each in clash.with_ids(1, {"call_3"}).tool_calls]
    assert ids[1] == "call_1" and len({*ids, "call_3", ""}) == 5
    assert final("x").with_ids(1) == final("x")


def test_a_message_is_taken_as_it_is():
    one = call("a", x=1)
    assert Message.parse(one) == one
    with pytest.raises(ToolError):
        Message.parse(Message("assistant", None, (ToolCall("a", 3),)))
    assert message("text", call("a"), call("b")).tool_calls == (ToolCall("a", {}), ToolCall("b", {}))
