"""The action space: what it samples is valid, what is valid it contains."""

import json
import pickle
from copy import deepcopy
from random import Random
from typing import Annotated

import pytest
from desk_samples import TOOLS, desk_world
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AfterValidator, Field

from cowork_gym.core.canonical import encode
from cowork_gym.core.errors import ToolError, UserError
from cowork_gym.core.messages import Message, ToolCall, call, final, message
from cowork_gym.envs.sampling import sample_action, sample_arguments
from cowork_gym.envs.spaces import ActionSpace
from cowork_gym.mock_services.kit import Effect, Service, tool

GET = {"customer_id": "C-1"}


@pytest.fixture
def space():
    return ActionSpace(TOOLS.values(), seed=11)


def fits(tool, arguments):
    try:
        tool.validate(arguments)
    except ToolError:
        return False
    return True


def test_every_sample_is_valid_and_every_tool_is_sampled(space):
    samples = [space.sample() for _ in range(1000)]
    calls = [one for sample in samples for one in sample.tool_calls]
    for one in calls:
        TOOLS[one.name].validate(one.decoded())
    drawable = {name for name, one in TOOLS.items() if any(fits(one, sample_arguments(one.parameters, Random(seed))) for seed in range(40))}
    assert {one.name for one in calls} == drawable
    assert len(drawable) > len(TOOLS) - 3
    assert all(sample in space for sample in samples)
    assert {len(sample.tool_calls) for sample in samples} == {0, 1, 2}
    assert 10 < sum(not sample.tool_calls for sample in samples) < 90


def test_the_world_takes_every_sample(space):
    world = desk_world()
    sequences = [world.call(one.name, one.decoded()).sequence for _ in range(300) for one in space.sample().tool_calls]
    assert sequences == [*range(1, len(sequences) + 1)]


def test_every_optional_argument_is_sometimes_there_and_sometimes_not(space):
    for one in TOOLS.values():
        drawn = [sample_arguments(one.parameters, Random(seed)) for seed in range(40)]
        for name in one.arguments:
            needed = name in one.parameters.get("required", ())
            assert {name in arguments for arguments in drawn} == ({True} if needed else {True, False})


def test_equal_seeds_give_equal_samples(space):
    other = ActionSpace(TOOLS.values())
    other.seed(11)
    drawn = [space.sample() for _ in range(20)]
    assert drawn == [other.sample() for _ in range(20)]
    other.seed(12)
    assert drawn != [other.sample() for _ in range(20)]


def test_half_of_the_ids_come_from_earlier_observations():
    schema = TOOLS["gmail_save_draft"].parameters
    schema = {**schema, "properties": {**schema["properties"], "reply_to_message_id": {"type": "string"}}, "required": ["reply_to_message_id", "to"]}
    drawn = [sample_arguments(schema, Random(seed), ["M-7", "M-8"]) for seed in range(400)]
    seen = [one["reply_to_message_id"] in {"M-7", "M-8"} for one in drawn]
    assert 150 < sum(seen) < 250
    assert not any(one["to"] in {"M-7", "M-8"} for one in drawn)


def test_ids_in_lists_come_from_the_pool_too_and_none_twice():
    drawn = [sample_arguments(TOOLS["crm_export_report"].parameters, Random(seed), ["C-1"])["customer_ids"] for seed in range(200)]
    assert any("C-1" in ids for ids in drawn)
    assert all(len(set(ids)) == len(ids) >= 1 for ids in drawn)


def test_masks_and_probabilities_choose_among_tools(space):
    names = list(TOOLS)
    mask = [name == "kb_search" for name in names]
    assert {one.name for _ in range(50) for one in space.sample(mask=mask).tool_calls} == {"kb_search"}
    assert {one.name for _ in range(50) for one in space.sample(probability=[float(one) for one in mask]).tool_calls} == {"kb_search"}
    assert not space.sample(mask=[0] * len(names)).tool_calls
    with pytest.raises(ValueError, match="not both"):
        space.sample(mask=mask, probability=mask)
    with pytest.raises(ValueError, match=f"each of the {len(names)} tools, not 1"):
        space.sample(mask=[1])


@pytest.mark.parametrize("action", [
    call("crm_get_customer", customer_id="Zürich 🙂"),
    final("done"),
    message("two", call("crm_get_customer", **GET), call("kb_search", query="证书", max_results=3)),
    {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "crm_get_customer", "arguments": GET}}]},
    {"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "crm_get_customer", "arguments": json.dumps(GET)}}]},
    {"name": "crm_get_customer", "arguments": GET},
    json.dumps({"name": "crm_get_customer", "arguments": GET}),
    json.dumps({"name": "finance_list_transactions", "arguments": {"min_amount": 0.1}}),
])
def test_accepted_forms(space, action):
    assert action in space


@pytest.mark.parametrize("action", [
    None, 5, b"{}", ["a"], "not JSON", "[]", "NaN", "[" * 10_000, {"tool_calls": "x"}, {"role": "robot"},
    Message("user", "hello"), Message("tool", "{}", (), "call_1", "crm_get_customer"),
    call("crm_nope"), call("crm_get_customer"), call("crm_get_customer", customer_id=1), call("crm_get_customer", customer_id="C-1", extra=1),
    call("kb_search", query="x", max_results=2.5), call("kb_search", query="x", max_results=0), call("kb_search", query="x" * 501),
    call("crm_get_customer", customer_id="\ud800"), call("crm_get_customer", customer_id="a\0b"), call("crm_get_customer", customer_id="x" * 2**20),
    call("finance_list_transactions", min_amount=float("nan")), call("finance_list_transactions", start_date="2026-02-30"), final("\ud800"),
    message(None, call("crm_get_customer", **GET), call("crm_nope")),
    Message("assistant", None, (ToolCall("crm_get_customer", "{"),)), Message("assistant", None, (ToolCall("crm_get_customer", "[]"),)),
], ids=lambda action: str(action)[:40].encode("ascii", "replace").decode())
def test_what_is_no_action(space, action):
    assert action not in space


@settings(max_examples=60)
@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["role", "tool_calls", "name", "arguments", "function"]), inner),
    max_leaves=8,
))
def test_asking_never_fails(value):
    assert ActionSpace(TOOLS.values()).contains(value) in {True, False}


def test_samples_survive_json(space):
    samples = [space.sample() for _ in range(100)]
    text = json.dumps(space.to_jsonable(samples))
    assert space.from_jsonable(json.loads(text)) == samples
    texts = [Message("assistant", None, (ToolCall("kb_search", '{"query": "x"}', "a"),))]
    assert space.from_jsonable(json.loads(json.dumps(space.to_jsonable(texts)))) == texts


@pytest.mark.parametrize("copy", [deepcopy, lambda space: pickle.loads(pickle.dumps(space))])
def test_copies_are_equal_and_go_on_alike(space, copy):
    space.sample()
    other = copy(space)
    assert other == space
    assert [other.sample() for _ in range(20)] == [space.sample() for _ in range(20)]


def test_equality_is_about_tools(space):
    assert space == ActionSpace(TOOLS.values())
    assert space != ActionSpace([*TOOLS.values()][1:])
    assert space != 5
    assert not space.is_np_flattenable
    assert "kb_search" in repr(space)


def test_without_tools_there_are_only_answers():
    space = ActionSpace([], seed=1)
    assert not any(space.sample().tool_calls for _ in range(20))
    assert final("x") in space


class Shapes(Service):
    """Arguments of many shapes."""

    name = "shapes"

    @tool(Effect.READ)
    def nested(self, any: object, free: dict[str, int], deep: list[dict[str, list[int]]], either: int | str | None, share: float = 0.5) -> None:
        """Take nested values."""

    @tool(Effect.READ)
    def many(self, day_ids: list[str], flag: bool = False) -> None:
        """Take a list of ids."""


def _even(text: str) -> str:
    if len(text) % 2:
        raise ValueError("should have an even length")
    return text


def _code(text: str) -> str:
    if not text.startswith("X"):
        raise ValueError("should begin with X")
    return text


class Picky(Service):
    """Arguments that must be more than their schema says."""

    name = "picky"

    @tool(Effect.READ)
    def even(self, text: Annotated[str, AfterValidator(_even)]) -> None:
        """Take a text of even length."""

    @tool(Effect.READ)
    def shown(self, text: Annotated[str, AfterValidator(_code), Field(examples=["X1", "X2"])]) -> None:
        """Take a code, with examples."""

    @tool(Effect.READ)
    def hidden(self, text: Annotated[str, AfterValidator(_code)]) -> None:
        """Take a code."""


def test_samples_fit_what_schemas_do_not_say():
    space = ActionSpace(Picky.tools().values(), seed=1)
    samples = [space.sample() for _ in range(200)]
    assert all(one in space for one in samples)
    assert {one.name for sample in samples for one in sample.tool_calls} == {"picky_even", "picky_shown"}
    assert {one.arguments["text"] for sample in samples for one in sample.tool_calls if one.name == "picky_shown"} == {"X1", "X2"}
    assert not space.sample(mask=[0, 0, 1]).tool_calls


def test_other_shapes_are_sampled_too():
    for name, one in Shapes.tools().items():
        for seed in range(100):
            arguments = sample_arguments(one.parameters, Random(seed))
            assert one.validate(json.loads(encode(arguments))) == one.validate(arguments), name


@pytest.mark.parametrize(("schema", "fits"), [
    ({"$ref": "#/$defs/Kind"}, lambda value: value in {"a", "b"}),
    ({"const": 7}, lambda value: value == 7),
    ({"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 6}, lambda value: value in {4, 5}),
    ({"type": "integer", "maximum": -5}, lambda value: value <= -5),
    ({"type": "number", "minimum": 0, "maximum": 1}, lambda value: 0 <= value <= 1),
    ({"type": "number", "exclusiveMinimum": 0, "maximum": 0.02}, lambda value: value in {0.01, 0.02}),
    ({"type": "string", "minLength": 30, "maxLength": 31}, lambda value: 30 <= len(value) <= 31),
    ({"type": "string", "format": "date-time"}, lambda value: value[10] == "T" and value[-1] == "Z"),
    ({"type": "string", "pattern": "^a+$", "examples": ["aa", "a"]}, lambda value: value in {"a", "aa"}),
    ({"type": "array", "items": {"enum": ["x", "y"]}, "minItems": 2, "maxItems": 2, "uniqueItems": True}, lambda value: sorted(value) == ["x", "y"]),
])
def test_bounds_are_kept(schema, fits):
    whole = {"type": "object", "properties": {"it": schema}, "required": ["it"], "$defs": {"Kind": {"enum": ["a", "b"], "type": "string"}}}
    assert all(fits(sample_arguments(whole, Random(seed))["it"]) for seed in range(60))


def test_a_pattern_without_examples_is_named():
    schema = {"type": "object", "properties": {"code": {"type": "string", "pattern": "^a+$"}}, "required": ["code"]}
    with pytest.raises(UserError, match="'code' has a pattern"):
        sample_arguments(schema, Random(1))


def test_sampling_works_on_the_schemas_alone():
    schemas = [one.schema for one in TOOLS.values()]
    assert sample_action(schemas, Random(3), ["C-1"]) == sample_action(schemas, Random(3), ["C-1"])
