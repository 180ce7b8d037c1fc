"""Bad actions: each is answered clearly, leaves state and ledger as they were, and the episode can still be won, sealed and read back."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cowork_gym.core.messages import Message, ToolCall, call, final, message
from cowork_gym.core.record import read_episode, seal, write_episode
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import load_task

TASK = load_task("M1100")
REFERENCE = TASK.references[0].actions
MEGABYTE = "x" * 2**20


def _nested(depth: int = 10_000) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def _get(customer_id: Any) -> Message:
    return call("crm_get_customer", customer_id=customer_id)


def _written(arguments: str) -> Message:
    return message(None, ToolCall("crm_get_customer", arguments))


REFUSED: dict[str, tuple[Callable[[], Any], int, str]] = {
    "unknown tool": (lambda: call("crm_get_custmer", customer_id="CUS-1012"), 404, "did you mean 'crm_get_customer'?"),
    "tool of a service, not permitted": (lambda: call("helpdesk_close_ticket", ticket_id="TCK-5802"), 404, "unknown tool"),
    "missing argument": (lambda: call("crm_get_customer"), 422, "argument 'customer_id' is missing"),
    "extra argument": (lambda: call("crm_get_customer", customer_id="CUS-1012", custmer_id="x"), 422, "unknown argument 'custmer_id'"),
    "wrong type": (lambda: _get(1012), 422, "argument 'customer_id': input should be a valid string"),
    "null": (lambda: _get(None), 422, "argument 'customer_id'"),
    "value outside of a choice": (lambda: call("helpdesk_update_ticket", ticket_id="TCK-5802", priority="asap"), 422, "'priority'"),
    "1 MB string": (lambda: _get(MEGABYTE), 422, "too large"),
    "1 MB of arguments": (lambda: _written(json.dumps({"customer_id": MEGABYTE})), 422, "too large"),
    "1 MB tool name": (lambda: message(None, ToolCall(MEGABYTE[:200_000], {})), 404, "unknown tool 'xxx"),
    "NUL": (lambda: _get("CUS\0-1012"), 422, "NUL"),
    "NUL in written arguments": (lambda: _written('{"customer_id": "\\u0000"}'), 422, "NUL"),
    "lone surrogate": (lambda: _get("\ud800"), 422, "lone surrogate"),
    "lone surrogate in written arguments": (lambda: _written('{"customer_id": "\\ud83d"}'), 422, "lone surrogate"),
    "NaN": (lambda: _get(float("nan")), 422, "not a number"),
    "infinity": (lambda: _get(float("-inf")), 422, "not a number"),
    "NaN in written arguments": (lambda: _written('{"customer_id": NaN}'), 422, "not valid JSON"),
    "huge integer": (lambda: _get(10**400), 422, "more than 64 bits"),
    "nested arguments": (lambda: call("crm_get_customer", customer_id=_nested()), 422, "nested more than 32 levels"),
    "nested written arguments": (lambda: _written('{"customer_id": ' + "[" * 10_000 + "]" * 10_000 + "}"), 422, "nested"),
    "a set": (lambda: _get({"CUS-1012"}), 422, "not JSON"),
    "bytes": (lambda: _get(b"CUS-1012"), 422, "not JSON"),
    "keys that are numbers": (lambda: message(None, ToolCall("crm_get_customer", {7: "CUS-1012"})), 422, "key that is not a string"),
    "arguments that are no object": (lambda: _written('["CUS-1012"]'), 422, "must be a JSON object"),
    "empty arguments text": (lambda: _written(""), 422, "not valid JSON"),
    "two objects": (lambda: _written('{"customer_id": "A"}{"customer_id": "B"}'), 422, "not valid JSON"),
}
NO_ACTION: dict[str, tuple[Callable[[], Any], str]] = {
    "nothing": (lambda: None, "an action is an assistant message"),
    "a number": (lambda: 7, "an action is an assistant message"),
    "a list": (list, "an action is an assistant message"),
    "prose": (lambda: "I will look up the customer.", "not JSON"),
    "1 MB of prose": (lambda: MEGABYTE, "not JSON"),
    "1 MB of content": (lambda: final(MEGABYTE), "too large"),
    "nested text": (lambda: "[" * 10_000 + "]" * 10_000, "nested too deeply"),
    "nested object": (_nested, "an action is an assistant message"),
    "nested content": (lambda: {"content": _nested()}, "content must be a text"),
    "nested tool calls": (lambda: {"tool_calls": _nested()}, "tool_calls[0] must be an object"),
    "NaN": (lambda: '{"content": NaN}', "NaN is not JSON"),
    "another role": (lambda: {"role": "user", "content": "hello"}, "role 'user'"),
    "an unknown role": (lambda: {"role": "robot", "content": "hello"}, "unknown role 'robot'"),
    "calls that are no list": (lambda: {"tool_calls": "crm_list_customers"}, "tool_calls must be a list"),
    "a call without a name": (lambda: {"tool_calls": [{"arguments": {}}]}, "has no name"),
    "arguments that are a number": (lambda: {"tool_calls": [{"name": "kb_search", "arguments": 7}]}, "must be an object or its JSON text"),
    "an id that is a number": (lambda: {"tool_calls": [{"id": 7, "name": "kb_search", "arguments": {}}]}, "must be a string"),
    "content with a lone surrogate": (lambda: final("\ud800"), "lone surrogate"),
    "content with NUL": (lambda: final("\0"), "NUL"),
    "a name with a lone surrogate": (lambda: message(None, ToolCall("\ud800", {})), "lone surrogate"),
    "an id with NUL": (lambda: message(None, ToolCall("kb_search", {"query": "x"}, id="\0")), "NUL"),
}


@pytest.fixture
def env() -> CoworkEnv:
    made = CoworkEnv(TASK)
    made.reset(seed=0)
    return made


def _win_and_read_back(env: CoworkEnv, folder: Path) -> None:
    """The reference still earns everything but robustness, and the episode survives its file."""
    for action in REFERENCE:
        *_, info = env.step(action)
    assert info["grade"].completion == 1.0
    assert info["grade"].passed
    episode = env.episode()
    assert episode.ledger.verify()
    again = read_episode(write_episode(episode, folder))
    assert seal(again) == seal(episode)
    assert [one.wire() for one in again.messages] == [one.wire() for one in episode.messages]
    assert (again.ledger, again.grade, again.end) == (episode.ledger, episode.grade, episode.end)


@pytest.mark.parametrize("name", REFUSED)
def test_a_call_that_does_not_fit_is_refused_at_the_door(env: CoworkEnv, name: str, tmp_path: Path) -> None:
    make, status, text = REFUSED[name]
    before = env.world.fingerprint()
    observation, reward, terminated, truncated, info = env.step(make())
    (told,), (dispatch,) = observation, info["dispatches"]
    assert observation in env.observation_space
    assert (told.role, dispatch.status, dispatch.sequence) == ("tool", status, None)
    assert text in json.loads(told.content)["error"]
    assert len(told.content) < 400
    assert (reward, terminated, truncated, info["invalid_actions"]) == (0.0, False, False, 0)
    assert (env.world.fingerprint(), len(env.world.ledger)) == (before, 0)
    _win_and_read_back(env, tmp_path)


@pytest.mark.parametrize("name", NO_ACTION)
def test_what_is_no_action_is_answered_with_a_typed_error(env: CoworkEnv, name: str, tmp_path: Path) -> None:
    make, text = NO_ACTION[name]
    before = env.world.fingerprint()
    observation, reward, terminated, truncated, info = env.step(make())
    (told,) = observation
    assert observation in env.observation_space
    assert text in json.loads(told.content)["error"]
    assert len(told.content) < 400
    assert (told.role, reward, terminated, truncated, info["dispatches"], info["invalid_actions"]) == ("user", 0.0, False, False, (), 1)
    assert (env.world.fingerprint(), len(env.world.ledger)) == (before, 0)
    _win_and_read_back(env, tmp_path)


@pytest.mark.parametrize("text", ["🙂", "证书", "مرحبا", "a\tb\nc", "\u202eevil", "e\u0301", "\U0010ffff"])
def test_any_text_may_be_said_and_searched(env: CoworkEnv, text: str, tmp_path: Path) -> None:
    observation, *_, info = env.step(message(text, ToolCall("crm_get_customer", {"customer_id": text}), ToolCall("kb_search", {"query": text})))
    assert [one.sequence for one in info["dispatches"]] == [1, 2]
    assert json.loads(observation[0].content) == {"error": f"Customer {text} not found", "type": "not_found"}
    assert [one.arguments for one in env.world.ledger] == [{"customer_id": text}, {"query": text}]
    _win_and_read_back(env, tmp_path)


def test_after_the_end_nothing_is_called_and_nothing_counts(env: CoworkEnv) -> None:
    *_, info = env.step(final("done"))
    before, turns, grade = env.world.fingerprint(), env.progress.turns, info["grade"]
    for action in (call("crm_list_customers"), final("again"), None):
        observation, reward, terminated, truncated, info = env.step(action)
        assert json.loads(observation[0].content) == {"error": "the episode is over; call reset()", "type": "episode_over"}
        assert (reward, terminated, truncated, info["grade"], info["dispatches"]) == (0.0, True, False, grade, ())
    assert (env.world.fingerprint(), len(env.world.ledger), env.progress.turns) == (before, 0, turns)


def test_good_and_bad_calls_in_one_message_are_told_apart(env: CoworkEnv) -> None:
    mixed = message(None, ToolCall("nope", {}), ToolCall("crm_list_customers", {}), ToolCall("crm_get_customer", "{"))
    observation, *_, info = env.step(mixed)
    assert [one.status for one in info["dispatches"]] == [404, 200, 422]
    assert [one.name for one in observation] == ["nope", "crm_list_customers", "crm_get_customer"]
    assert [one.tool for one in env.world.ledger] == ["crm_list_customers"]


JSONISH = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["crm_list_customers", "kb_search", "assistant", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["role", "content", "tool_calls", "name", "arguments", "id", "function", "query"]) | st.text(max_size=3), inner, max_size=4,
    ),
    max_leaves=12,
)


@given(action=JSONISH | st.text() | st.binary() | JSONISH.map(lambda one: {"tool_calls": [{"name": "kb_search", "arguments": one}]}))
@settings(max_examples=150)
def test_nothing_at_all_raises_or_changes_the_world(action: Any) -> None:
    env = CoworkEnv(TASK)
    env.reset(seed=0)
    before = env.world.fingerprint()
    observation, reward, *_, info = env.step(action)
    assert observation in env.observation_space
    assert reward == 0.0
    assert "fault" not in info
    assert env.world.fingerprint() == before
    assert env.world.ledger.verify()
    assert seal(env.episode())
