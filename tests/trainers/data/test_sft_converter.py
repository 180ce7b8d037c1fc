"""CoworkEnv's structural limits: what is cut, and the reason for each dialogue that is dropped."""

import json
from dataclasses import replace

import pytest

from cowork_gym.core.messages import Message, ToolCall, call
from cowork_gym.trainers.data.dialogue import Dialogue, Source, Utterance
from cowork_gym.trainers.data.sft.converter import MARKER, REPORTED, SYSTEM, Limits, Size, Verdict, convert, cut, size_of, verdict

SOURCE = Source("0" * 64, "M1_x", "M1_x@0:0", 0, "teacher")


def made(*messages: Message) -> Dialogue:
    return Dialogue(SOURCE, tuple(Utterance(one, one.role == "assistant") for one in messages))


def calls(count: int) -> list[Message]:
    return [call("look", at="x")] * count


def test_each_limit_keeps_what_is_exactly_at_it():
    assert verdict(Size(5, 20, 40_000, True)) is Verdict.KEEP
    assert verdict(Size(4, 1, 100, True)) is Verdict.TOO_FEW_MESSAGES
    assert verdict(Size(30, 21, 100, True)) is Verdict.TOO_MANY_TOOL_CALLS
    assert verdict(Size(10, 2, 40_001, True)) is Verdict.OVER_BUDGET


def test_the_first_reason_counts():
    assert verdict(Size(4, 21, 40_001, False)) is Verdict.UNUSABLE
    assert verdict(Size(4, 21, 40_001, True)) is Verdict.TOO_FEW_MESSAGES
    assert verdict(Size(5, 21, 40_001, True)) is Verdict.TOO_MANY_TOOL_CALLS


def test_the_published_counts_add_up():
    assert REPORTED["candidates"] == sum(REPORTED.values()) - REPORTED["candidates"] == 1809


def test_an_observation_is_cut_behind_its_thousandth_character():
    assert cut("x" * 1000) == "x" * 1000
    assert cut("x" * 1001) == "x" * 1000 + "...[truncated]"
    assert len(MARKER) == 14
    assert cut("会" * 1001) == "会" * 1000 + MARKER
    assert cut("📅" * 1001)[999] == "📅"


def test_only_results_of_tools_are_cut():
    long = "x" * 2000
    dialogue, _ = convert(made(Message("user", long), call("look"), Message("tool", long, (), "1", "look"), Message("assistant", long)))
    assert [len(one.content or "") for one in dialogue.messages] == [len(SYSTEM), 2000, 0, 1014, 2000]


def test_a_system_message_is_put_before_and_counted():
    dialogue, found = convert(made(Message("user", "q"), call("look"), Message("tool", "r", (), "1", "look"), Message("assistant", "a")))
    assert (dialogue.messages[0], dialogue.utterances[0].trained, found) == (Message("system", SYSTEM), False, Verdict.KEEP)
    assert dialogue.supervised == 2
    short, found = convert(made(Message("user", "q"), Message("assistant", "a"), Message("user", "q")))
    assert (len(short.messages), found) == (4, Verdict.TOO_FEW_MESSAGES)


def test_a_system_message_that_is_there_stays_the_only_one():
    own = made(Message("system", "Be careful."), Message("user", "q"), *calls(3))
    dialogue, found = convert(own)
    assert (dialogue, found) == (own, Verdict.KEEP)
    bare, _ = convert(made(Message("user", "q"), *calls(4)), Limits(system=""))
    assert bare.messages[0].role == "user"


def test_characters_are_code_points_of_contents_and_of_the_calls_json():
    one = Message("assistant", "é会📅", (ToolCall("book", {"title": "Réserver 会議室"}, "c1"), ToolCall("look", "{}", "c2")))
    text = json.dumps([each.wire() for each in one.tool_calls], ensure_ascii=False)
    assert "会議室" in text
    assert size_of([Message("user", "ab"), one]) == Size(2, 2, 2 + 3 + len(text), True)


def test_the_marker_counts_toward_the_budget():
    fixed = made(Message("user", "q"), call("look"), Message("tool", "r" * 1001, (), "1", "look"), Message("assistant", "a"))
    whole = size_of(convert(fixed)[0].messages).characters
    padded = replace(fixed, utterances=(*fixed.utterances, Utterance(Message("user", "p" * (40_000 - whole)))))
    assert convert(padded)[1] is Verdict.KEEP
    over = replace(fixed, utterances=(*fixed.utterances, Utterance(Message("user", "p" * (40_001 - whole)))))
    assert convert(over)[1] is Verdict.OVER_BUDGET


@pytest.mark.parametrize("messages", [
    [Message("assistant", "a")] * 5,
    [Message("user", "q")] * 5,
    [*[Message("assistant", "a")] * 4, Message("user", "q")],
    [Message("user", "  "), *[Message("assistant", "a")] * 4],
    [Message("user", "q"), *[Message("assistant", " ")] * 4],
    [],
])
def test_what_has_no_question_that_is_answered_is_unusable(messages):
    assert convert(made(*messages))[1] is Verdict.UNUSABLE


def test_twenty_calls_in_few_messages_count_as_twenty():
    many = Message("assistant", None, (ToolCall("look", {}, "c"),) * 20)
    assert convert(made(Message("user", "q"), many, *[Message("tool", "r", (), "c", "look")] * 20))[1] is Verdict.KEEP
    more = Message("assistant", None, (ToolCall("look", {}, "c"),) * 21)
    assert convert(made(Message("user", "q"), more, *[Message("tool", "r", (), "c", "look")] * 20))[1] is Verdict.TOO_MANY_TOOL_CALLS


def test_a_huge_text_is_measured_not_refused():
    huge = made(Message("user", "q"), call("look"), Message("tool", "r" * 5_000_000, (), "1", "look"), Message("assistant", "a"))
    assert convert(huge)[1] is Verdict.KEEP
