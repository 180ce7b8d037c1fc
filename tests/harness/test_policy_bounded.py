"""Schemas for constrained decoding: whatever comes in, everything in what goes out has an end."""

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policy_tools import TOOLS

from cowork_gym.harness.policies.bounded import action_schema, bounded

LEAVES = st.sampled_from([
    {}, True, None, {"type": "string"}, {"type": "string", "maxLength": 9999, "pattern": "^a+$"}, {"type": "integer", "minimum": 1}, {"type": "null"},
    {"type": ["string", "null"]}, {"enum": ["a", None]}, {"const": "x"}, {"$ref": "#/$defs/Node"}, {"$ref": "#/$defs/Missing"}, {"type": "array"},
    {"type": "object", "additionalProperties": {"type": "string"}}, {"type": "any"}, {"type": "string", "format": "email"},
])
SCHEMAS = st.recursive(LEAVES, lambda inner: st.one_of(
    st.builds(lambda items, least: {"type": "array", "items": items, "minItems": least, "uniqueItems": True}, inner, st.integers(0, 5)),
    st.builds(lambda one, two: {"type": "object", "properties": {"one": one, "two": two}, "required": ["one", "ghost"]}, inner, inner),
    st.builds(lambda a, b, word: {word: [a, b]}, inner, inner, st.sampled_from(["anyOf", "oneOf", "allOf"])),
    st.builds(lambda a: {"allOf": [a]}, inner),
), max_leaves=8)


def check_ends(schema: Mapping, depth: int = 0) -> None:
    """Fail where a value could go on for ever, or where a key is left that the decoder ignores."""
    assert depth < 20
    if "enum" in schema or "const" in schema:
        assert set(schema) <= {"enum", "const"}
    elif "anyOf" in schema:
        assert set(schema) == {"anyOf"} and schema["anyOf"]
        for one in schema["anyOf"]:
            check_ends(one, depth + 1)
    elif schema["type"] == "string":
        assert set(schema) == {"type", "maxLength"} and schema["maxLength"] <= 60
    elif schema["type"] == "array":
        assert set(schema) == {"type", "items", "minItems", "maxItems"} and schema["minItems"] <= schema["maxItems"] <= 5
        check_ends(schema["items"], depth + 1)
    elif schema["type"] == "object":
        assert schema["additionalProperties"] is False and set(schema["required"]) <= set(schema["properties"])
        for one in schema["properties"].values():
            check_ends(one, depth + 1)
    else:
        assert schema["type"] in {"integer", "number", "boolean", "null"} and set(schema) <= {"type", "minimum", "maximum"}


@settings(max_examples=200)
@given(SCHEMAS, SCHEMAS)
def test_everything_ends(schema, node):
    if isinstance(schema, Mapping):
        schema = {**schema, "$defs": {"Node": node}}
    check_ends(bounded(schema))


def test_a_recursive_model_ends():
    node = {"type": "object", "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}}
    check_ends(bounded({"$ref": "#/$defs/Node", "$defs": {"Node": node}}))


def test_what_matters_is_kept():
    parameters = TOOLS[5]["function"]["parameters"]
    inside = bounded(parameters)["properties"]
    assert inside["ticket_id"] == {"type": "string", "maxLength": 60}
    assert inside["priority"] == {"anyOf": [{"enum": ["low", "medium", "high", "critical"]}, {"type": "null"}]}
    assert bounded(parameters)["required"] == ["ticket_id"]
    assert bounded({"type": "integer", "minimum": 1, "maximum": 20, "default": 5}) == {"type": "integer", "minimum": 1, "maximum": 20}
    assert bounded({"type": "string", "maxLength": 8})["maxLength"] == 8


@pytest.mark.parametrize("tools", [TOOLS, []])
def test_an_action_is_a_call_of_one_tool_or_a_final_answer(tools):
    *made, last = action_schema(tools)["anyOf"]
    assert [one["properties"]["name"]["const"] for one in made] == [one["function"]["name"] for one in tools]
    assert all([*one["properties"]] == ["name", "arguments"] == one["required"] for one in made)
    assert [*last["properties"]] == ["final"] == last["required"]
