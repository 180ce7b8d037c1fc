"""Any history, however odd, becomes a request that a strict server takes."""

from chat_server import check_chat
from hypothesis import given, settings
from hypothesis import strategies as st

from cowork_gym.core.messages import Message, ToolCall
from cowork_gym.harness.policies.conversation import conversation

IDS = ("a", "b", "c")
TEXTS = st.text(st.characters(), max_size=5)
ARGUMENTS = st.sampled_from(["{}", '{"a": 1}', '{"a"', "[]", "", "null", '{"a":NaN}', '{"a": "\ud800"}']) | st.dictionaries(TEXTS, TEXTS, max_size=1)


@st.composite
def histories(draw):
    """A request, then calls with fresh ids, results in any number and order, texts between them."""
    history, number = [Message("user", draw(TEXTS))], 0
    for _ in range(draw(st.integers(0, 4))):
        made = []
        for _ in range(draw(st.integers(0, 2))):
            number += 1
            made.append(ToolCall("kb_search", draw(ARGUMENTS), f"id{number}"))
        history.append(Message("assistant", draw(st.none() | TEXTS), tuple(made)))
        answered = draw(st.permutations([one.id for one in made])) if draw(st.booleans()) else made[:1] and [made[0].id]
        history += [Message("tool", draw(TEXTS), (), id, "kb_search") for id in answered]
        history += draw(st.lists(st.sampled_from([Message("user", "note"), Message("tool", "lost", (), "nobody", None)]), max_size=1))
    return [*history, Message("user", "go on")]


@settings(max_examples=150)
@given(histories())
def test_every_history_is_accepted(history):
    chat = conversation(history)
    check_chat(chat)
    for one in chat:
        repr(one).encode()


def test_a_sound_history_goes_out_as_it_is():
    first = Message("assistant", "Looking.", (ToolCall("kb_search", '{"query" : "é"}', "x"),))
    chat = conversation([Message("system", "Be brief."), Message("user", "Hi"), first, Message("tool", "[]", (), "x", "kb_search")])
    assert chat == [
        {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}, first.wire(),
        {"role": "tool", "tool_call_id": "x", "content": "[]"},
    ]


def test_a_call_without_result_gets_one_that_says_so():
    made = tuple(ToolCall("kb_search", {}, id) for id in IDS)
    chat = conversation([Message("user", "Hi"), Message("assistant", None, made), Message("tool", "[]", (), "b", None), Message("user", "stop")])
    assert [one.get("tool_call_id") for one in chat] == [None, None, "b", "a", "c", None]
    assert "not executed" in chat[3]["content"]


def test_the_history_itself_stays_untouched():
    call = ToolCall("kb_search", '{"a"', "x")
    history = (Message("user", "Hi"), Message("assistant", None, (call,)))
    conversation(history)
    assert history[1].tool_calls[0].arguments == '{"a"'
