"""The OpenAI-compatible policy against a server that refuses what real ones refuse."""

import sys

import pytest
from chat_server import KEY, MODEL, Answer, ChatServer, calls, fails, says
from policy_tools import TOOLS

from cowork_gym.core.episode import Ending
from cowork_gym.core.errors import Blame, Fault, MissingExtra, UserError
from cowork_gym.core.messages import InvalidAction, Message, ToolCall
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.harness.engines import ContextFull
from cowork_gym.harness.loop import play
from cowork_gym.harness.policies import OpenAIPolicy, Usage

pytest.importorskip("openai")

REQUEST = Message("user", "Which customer is at risk?")


@pytest.fixture
def server():
    with ChatServer() as running:
        yield running


@pytest.fixture
def policy(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return made(server)


def made(server, **options):
    policy = OpenAIPolicy(options.pop("model", MODEL), options.pop("base_url", server.url), **{"timeout": 10, "retries": 2} | options)
    policy.reset(TOOLS, 5)
    return policy


def result(call, text='{"ok": true}'):
    return Message("tool", text, (), call.id, call.name)


def refused(action):
    """Assert that an action is invalid, and give its reason and its text."""
    assert isinstance(action, InvalidAction)
    return action.reason, action.text


def test_a_call_its_result_and_the_final_answer(server, policy):
    server.script = [calls(("call_a", "crm_get_customer", '{"customer_id" :  "C-1"}')), says("C-1 is at risk.")]
    first = policy.act([REQUEST])
    assert first.tool_calls == (ToolCall("crm_get_customer", '{"customer_id" :  "C-1"}', "call_a"),)
    assert policy.usage == Usage(11, 7)
    assert policy.act([REQUEST, first, result(first.tool_calls[0])]) == Message("assistant", "C-1 is at risk.")
    one, two = server.requests
    assert one["tools"] == TOOLS and one["seed"] == 5 and one["max_tokens"] == 4096 and "temperature" not in one
    assert [form["role"] for form in two["messages"]] == ["user", "assistant", "tool"]
    assert two["messages"][1]["tool_calls"][0]["function"]["arguments"] == '{"customer_id" :  "C-1"}'


def test_parallel_calls_keep_their_order_and_ids(server, policy):
    server.script = [calls(("x", "kb_get_article", '{"article_id":"A"}'), ("y", "kb_search", '{"query":"B"}'), content="Looking."), says("Done.")]
    first = policy.act([REQUEST])
    assert [(one.id, one.name) for one in first.tool_calls] == [("x", "kb_get_article"), ("y", "kb_search")]
    assert first.content == "Looking."
    assert policy.act([REQUEST, first, *map(result, first.tool_calls)]).content == "Done."


def test_ids_that_a_server_repeats_are_replaced(server, policy):
    server.script = [calls(("call_0", "kb_search", "{}")), calls(("call_0", "kb_search", "{}"), ("", "kb_search", "{}")), says("Done.")]
    first = policy.act([REQUEST])
    history = [REQUEST, first, result(first.tool_calls[0])]
    second = policy.act(history)
    assert len({one.id for one in (*first.tool_calls, *second.tool_calls)}) == 3
    assert policy.act([*history, second, *map(result, second.tool_calls)]).content == "Done."


def test_failures_are_retried(server, policy):
    server.script = [fails(500), fails(429), says("At last.")]
    assert policy.act([REQUEST]).content == "At last."
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", [400, 422, 429, 500, 503])
def test_a_server_that_goes_on_failing_is_a_fault(server, policy, status):
    server.script = [fails(status, "out of\nmemory")] * 3
    with pytest.raises(Fault, match="out of memory") as caught:
        policy.act([REQUEST])
    assert caught.value.record.blame is Blame.MODEL_SERVER
    assert policy.usage == Usage()


def test_an_answer_that_does_not_come_is_a_fault(server):
    server.script = [Answer(late=True)] * 2
    with pytest.raises(Fault, match="no answer within") as caught:
        made(server, api_key=KEY, timeout=0.1, retries=1).act([REQUEST])
    assert caught.value.record.blame is Blame.MODEL_SERVER
    assert len(server.requests) == 2


def test_no_server_at_all_is_a_fault(server):
    policy = made(server, base_url="http://127.0.0.1:9/v1", retries=0)
    with pytest.raises(Fault, match="onnect"):
        policy.act([REQUEST])


def test_a_wrong_key_is_told_in_one_line_without_the_key(server):
    with pytest.raises(UserError, match="OPENAI_API_KEY") as caught:
        made(server, api_key="wrong-key-456").act([REQUEST])
    assert "wrong-key-456" not in str(caught.value) and "\n" not in str(caught.value)


def test_a_loopback_server_needs_no_key(server, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(UserError):
        made(server).act([REQUEST])
    assert server.keys == ["Bearer none"]
    with pytest.raises(UserError, match=r"models\.example needs a key"):
        made(server, base_url="https://models.example/v1")


def test_a_wrong_model_or_path_is_the_users_mistake(server):
    for options in ({"model": "other"}, {"base_url": server.url.removesuffix("/v1")}):
        with pytest.raises(UserError, match=r"/v1"):
            made(server, api_key=KEY, **options).act([REQUEST])


@pytest.mark.parametrize("url", ["localhost:8000/v1", "", "ftp://host/v1", "http://host:port/v1", "http:///v1"])
def test_what_is_no_address_is_refused_at_once(url):
    with pytest.raises(UserError, match="no address"):
        OpenAIPolicy(MODEL, url, api_key=KEY)


def test_without_the_library_the_text_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtra, match=r"cowork-gym\[openai\]"):
        OpenAIPolicy(MODEL, "http://127.0.0.1:1/v1")


@pytest.mark.parametrize("answer", [
    calls(("x", "kb_search", '{"query": "ke'), finish="length"), says('{"role": "assistant", "content": "done"}', "length"), says("I thi", "length"),
])
def test_a_cut_answer_is_an_invalid_action(server, policy, answer):
    server.script = [answer]
    reason, text = refused(policy.act([REQUEST]))
    assert "token limit" in reason and text
    assert ("query" in text) == bool(answer.body["choices"][0]["message"].get("tool_calls"))
    assert policy.usage == Usage(11, 7)


MARKUP = '<tool_call>\n{"name": "kb_search", "arguments": {"query": "x"}}\n</tool_call>'


@pytest.mark.parametrize("text", [
    MARKUP, '[TOOL_CALLS] [{"name": "kb_search", "arguments": {}}]', "<tool_call>\n<function=kb_search>\n</function>\n</tool_call>",
    '<tool_call>{"name": "kb_search", "arg', "<tool_call> please", "[TOOL_CALLS] kb_search", "<function=kb_search",
])
@pytest.mark.parametrize("finish", ["stop", "tool_calls"])
def test_a_call_in_the_text_cannot_erase_the_episode(server, policy, text, finish):
    for answer in (says(text, finish), says(text, finish, tool_calls=[]), says(None, finish, reasoning_content=text)):
        server.script = [answer]
        assert refused(policy.act([REQUEST])) == ("a tool call stood in the text and was not executed", text)


@pytest.mark.parametrize("answer", [
    says("I refuse.", "content_filter"), calls(("x", "kb_search", "{}"), finish="content_filter", content="I refuse."),
])
@pytest.mark.parametrize("tool_format", ["native", "prompted"])
def test_what_a_content_filter_stopped_cannot_erase_the_episode(server, answer, tool_format):
    server.script = [answer]
    reason, text = refused(made(server, api_key=KEY, tool_format=tool_format).act([REQUEST]))
    assert "content filter" in reason and text.startswith("I refuse.")


@pytest.mark.parametrize("answer", [says("", "tool_calls"), says("Done.", "tool_calls", tool_calls=[]), says(None, "tool_calls")])
def test_a_server_that_claims_a_call_and_hands_over_none_is_a_fault(server, policy, answer):
    server.script = [answer]
    with pytest.raises(Fault, match="handed over none") as caught:
        policy.act([REQUEST])
    assert caught.value.record.blame is Blame.MODEL_SERVER


@pytest.mark.parametrize("name", ["no such tool", "kb.search", "", "検索", "x" * 65, "\0"])
def test_a_call_of_an_impossible_name_cannot_erase_the_episode(server, policy, name):
    server.script = [calls(("x", name, "{}")), says("Done.")]
    first = policy.act([REQUEST])
    assert first.tool_calls[0].name == name
    assert policy.act([REQUEST, first, result(first.tool_calls[0])]).content == "Done."


def test_thoughts_about_a_call_beside_an_answer_are_nobodys_mistake(server, policy):
    server.script = [says("All is well.", "stop", reasoning_content=MARKUP)]
    assert policy.act([REQUEST]) == Message("assistant", "All is well.")


@pytest.mark.parametrize("body", [
    {"choices": []}, {}, [], None, {"choices": [{"finish_reason": "stop"}]}, {"choices": [{"message": {"content": 5}}]}, b"<html>busy</html>", b"",
    {"choices": [{"message": {"content": None, "tool_calls": [{"id": "x", "function": {"arguments": "{}"}}]}}]},
    says("x", "abort").body, says("x", "error").body,
])
def test_an_answer_of_another_shape_is_a_fault(server, policy, body):
    server.script = [Answer(body=body)]
    with pytest.raises(Fault) as caught:
        policy.act([REQUEST])
    assert caught.value.record.blame is Blame.MODEL_SERVER


def test_an_empty_answer_is_an_empty_final_answer(server, policy):
    server.script = [says(None)]
    assert policy.act([REQUEST]) == Message("assistant", "")


@pytest.mark.parametrize("text", [
    "This model's maximum context length is 4096 tokens", "request (5031 tokens) exceeds the available context size (1024 tokens)",
])
def test_a_full_context_ends_the_episode_and_leaves_it_graded(server, policy, text):
    server.script = [fails(400, text)] * 2
    with pytest.raises(ContextFull):
        policy.act([REQUEST])
    episode = play(CoworkEnv("M1100"), policy, seed=0)
    assert (episode.ending, len(episode.turns), episode.grade.reward) == (Ending.CONTEXT, 0, 0.0)


def test_a_history_with_garbled_calls_is_still_accepted(server, policy):
    server.script = [calls(("x", "kb_search", '{"query": '), ("y", "kb_search", "[1]")), says("Done.")]
    first = policy.act([REQUEST])
    assert [one.arguments for one in first.tool_calls] == ['{"query": ', "[1]"]
    history = [REQUEST, first, result(first.tool_calls[0]), result(first.tool_calls[1], "lone \ud800"), Message("assistant", "<tool_call>")]
    assert policy.act([*history, Message("tool", "not JSON", (), None, None)]).content == "Done."
    sent = [one["function"]["arguments"] for one in server.requests[1]["messages"][1]["tool_calls"]]
    assert sent == ['{"malformed":"{\\"query\\": "}', '{"malformed":"[1]"}']


def test_prompted_tools_travel_as_text(server):
    policy = made(server, api_key=KEY, tool_format="prompted", temperature=0, max_tokens=50)
    fenced = 'Sure:\n```json\n{"name": "kb_search",\n "arguments": {"query": "x"}}\n```'
    server.script = [says(fenced), says("{'name': 'kb'}"), says('{"final": "Done."}')]
    first = policy.act([REQUEST])
    assert [(one.name, one.arguments, one.id) for one in first.tool_calls] == [("kb_search", {"query": "x"}, None)]
    history = [REQUEST, first, Message("tool", '{"results": []}', (), "call_1", "kb_search")]
    reason, wrong = refused(policy.act(history))
    assert (reason, wrong) == ("no JSON action found", "{'name': 'kb'}")
    assert policy.act([*history, Message("assistant", wrong), Message("user", "no JSON")]) == Message("assistant", "Done.")
    last = server.requests[2]
    assert "tools" not in last and last["temperature"] == 0 and last["max_tokens"] == 50
    assert [one["role"] for one in last["messages"]] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert last["messages"][3]["content"] == 'Result of kb_search: {"results": []}'
    assert all(f"- {one['function']['name']}(" in last["messages"][0]["content"] for one in TOOLS)


def test_a_prompted_answer_that_was_cut_is_not_executed(server):
    server.script = [says('{"final": "Done."} and', "length")]
    refused(made(server, api_key=KEY, tool_format="prompted").act([REQUEST]))
