"""FIFO windows: each answer learned once, with the context that the harness's own window shows, under both packagings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_tools import SOURCE, assistant, calls, dialogue, told, user

from cowork_gym.core.messages import Message, call, final
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.harness import compose, play
from cowork_gym.harness.middleware import Window as FifoWindow
from cowork_gym.harness.policies.scripted import ScriptedPolicy
from cowork_gym.trainers.data.dialogue import Dialogue, Utterance
from cowork_gym.trainers.data.sft.windows import Window, context_start, windowed, windows

sizes = st.tuples(st.integers(1, 7), st.integers(1, 5)).map(lambda pair: (pair[0] * pair[1], pair[1]))
packagings = st.sampled_from(["literal", "merged_first"])


@pytest.mark.parametrize(("turns", "literal", "merged"), [
    (7, [(0, 0, 7)], [(0, 0, 7)]),
    (30, [(0, 0, 10), (0, 10, 20), (0, 20, 30)], [(0, 0, 30)]),
    (35, [(0, 0, 10), (0, 10, 20), (0, 20, 30), (10, 30, 35)], [(0, 0, 30), (10, 30, 35)]),
    (0, [], []),
])
def test_the_published_sizes(turns, literal, merged):
    assert [*windows(turns)] == literal and [*windows(turns, packaging="merged_first")] == merged


@given(st.integers(0, 200), sizes, packagings)
def test_every_turn_is_supervised_once_and_sees_the_same_whatever_the_packaging(turns, size, packaging):
    window, stride = size
    found = windows(turns, window, stride, packaging)
    assert [turn for one in found for turn in range(one.supervised_from, one.supervised_to)] == [*range(turns)]
    for at, one in enumerate(found):
        new = one.supervised_to - one.supervised_from
        assert 0 < new <= (window if packaging == "merged_first" and at == 0 else stride)
        assert one.supervised_to - one.context_start <= window
        assert {context_start(turn, window, stride) for turn in range(one.supervised_from, one.supervised_to)} == {one.context_start}


@pytest.mark.parametrize(("arguments", "told_"), [
    ((-1,), "cannot have -1 turns"), ((5, 25, 10), "25 is none of 10"), ((5, 5, 10), "5 is none of 10"), ((5, 10, 0), "10 is none of 0"),
    ((5, 30, 10, "merged"), "choose literal or merged_first"),
])
def test_what_is_no_window_is_told(arguments, told_):
    with pytest.raises(ValueError, match=told_):
        windows(*arguments)
    with pytest.raises(ValueError, match="counted from 0"):
        context_start(-1)


@st.composite
def conversations(draw):
    """A head, then turns: calls with results, or answers to which the user replies; some not to be learned."""
    messages = [*([Message("system", "rules")] if draw(st.booleans()) else []), user("request")]
    context = []
    for turn in range(draw(st.integers(1, 14))):
        if draw(st.integers(0, 9)) < 3:
            context.append(len(messages))
        if draw(st.integers(0, 9)) < 2:
            messages += [assistant(f"question {turn}"), user(f"reply {turn}")]
        else:
            number = draw(st.integers(1, 3))
            asked = [(f"tool{turn}-{at}", {}) for at in range(number)]
            results = (Message("tool", "r", tool_call_id=f"call_{at}", name=f"tool{turn}-{at}") for at in range(number))
            messages += [calls(f"turn {turn}", *asked), *results]
    return dialogue(*messages, context=context)


@given(conversations(), sizes, packagings)
def test_each_answer_that_is_to_be_learned_is_learned_in_one_window(whole, size, packaging):
    found = windowed(whole, *size, packaging)
    learned = [one.message for window in found for one in window.utterances if one.trained]
    assert learned == [one.message for one in whole.utterances if one.trained]
    for window in found:
        assert window.supervised and window.source == SOURCE
        messages = [one.message for one in window.utterances]
        assert messages[0] == whole.messages[0] and user("request") in messages
        wanted = [call.name for one in messages for call in one.tool_calls]
        assert [one.name for one in messages if one.role == "tool"] == wanted  # no call is parted from its result
        positions = [whole.messages.index(one) for one in messages]
        assert positions == sorted(set(positions))


@given(conversations(), sizes)
def test_each_answer_has_the_same_context_under_both_packagings(whole, size):
    literal, merged = (
        [(one.message, [each.message for each in window.utterances[:at]])
         for window in windowed(whole, *size, packaging) for at, one in enumerate(window.utterances) if one.trained]
        for packaging in ("literal", "merged_first")
    )
    assert literal == merged


def test_an_answer_that_is_not_to_be_learned_stays_as_context():
    whole = Dialogue(SOURCE, (
        Utterance(user("request")), Utterance(assistant("bad"), False, "low quality"), Utterance(user("go on")), Utterance(assistant("good"), True),
    ))
    (only,) = windowed(whole, 2, 1)
    assert only.utterances == whole.utterances


def test_a_window_in_which_nothing_is_to_be_learned_is_no_sample():
    turns = [message for at in range(6) for message in (calls(str(at), ("look", {})), told(at, "r"))]
    assert len(windowed(dialogue(user("request"), *turns), 4, 2)) == 3
    assert len(windowed(dialogue(user("request"), *turns, context=(5, 7)), 4, 2)) == 2


@pytest.mark.parametrize(("size", "stride"), [(4, 2), (6, 3)])
def test_windows_show_what_the_harness_showed(size, stride):
    lines = [call("helpdesk_list_tickets"), call("kb_search", query="certificate")] * 6 + [final("done")]
    with CoworkEnv("M1003") as env:
        whole, cut = (
            play(env, ScriptedPolicy("script", lines), harness=compose(middleware=chain), seed=0) for chain in ([], [FifoWindow(size, stride)])
        )
    seen = [segment.messages for segment in cut.runs[0].segments]
    messages = whole.runs[0].segments[0].messages
    merged = windowed(dialogue(*messages, tools=()), size, stride, "merged_first")
    shown = [tuple(one.message for one in window.utterances) for window in merged]
    assert len(seen) > 3 and [_words(one) for one in seen] == [_words(one[: len(other)]) for one, other in zip(shown, seen, strict=True)]


def _words(messages):
    return [(one.role, one.content, [each.name for each in one.tool_calls]) for one in messages]


def test_windows_are_named_tuples_of_turns():
    assert windows(3) == (Window(context_start=0, supervised_from=0, supervised_to=3),)
