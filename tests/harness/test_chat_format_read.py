"""Sampled ids as actions: the stop token goes, marks stay, and what was cut off or begins inside thoughts is told apart."""

import pytest
from chat_tokenizers import MODERN, TOOLS, asked, chat_format, told
from test_chat_format_growth import sampled

from cowork_gym.core.messages import InvalidAction, Message


def encoded(one, text):
    return tuple(one._rendering._tokenizer(text, add_special_tokens=False)["input_ids"])


@pytest.mark.parametrize("name", MODERN)
def test_a_call_is_read_from_the_ids_that_the_template_has_for_it(name):
    one = chat_format(name)
    if name == "qwen3.6":
        ids = encoded(one, "hm\n</think>\n\n<tool_call>\n<function=look>\n<parameter=at>\na\n</parameter>\n</function>\n</tool_call><|im_end|>")
    else:
        ids = sampled(one, asked("a"), [told("a", "x")])
    read = one.read(ids, "stop", TOOLS)
    assert isinstance(read, Message)
    [call] = read.tool_calls
    assert (call.name, call.decoded(), call.id) == ("look", {"at": "a"}, None)
    assert isinstance(call.arguments, str)


@pytest.mark.parametrize("name", [one for one in MODERN if one != "qwen3.6"])
def test_an_answer_ends_before_its_stop_token(name):
    one = chat_format(name)
    assert one.read(sampled(one, asked(text="I see."), [Message("user", "Q")]), "stop", TOOLS) == Message("assistant", "I see.")


@pytest.mark.parametrize("name", MODERN)
def test_what_was_cut_off_is_no_action(name):
    one = chat_format(name)
    ids = sampled(one, asked("a"), [told("a", "x")])[:-1] if name != "qwen3.6" else encoded(one, "hm\n</think>\n\n<tool_call>")
    read = one.read(ids, "length", TOOLS)
    assert isinstance(read, InvalidAction)
    assert "cut off" in read.reason


def test_an_answer_may_begin_inside_thoughts():
    one = chat_format("qwen3.6")
    assert one.read(encoded(one, "let me see\n</think>\n\nIt is booked.<|im_end|>"), "stop", TOOLS) == Message("assistant", "It is booked.")
    assert isinstance(one.read(encoded(one, "let me see<|im_end|>"), "stop", TOOLS), InvalidAction)


def test_ids_that_the_tokenizer_does_not_have_are_left_out():
    one = chat_format("chatml+tools")
    beyond = len(one._rendering._tokenizer)
    assert one.read((*encoded(one, "yes"), beyond, beyond + 7, 151_900, one.stop[-1]), "stop", TOOLS) == Message("assistant", "yes")


@pytest.mark.parametrize("name", MODERN)
def test_an_answer_may_be_empty(name):
    one = chat_format(name)
    for ids in ((), one.stop[:1]):
        assert one.read(ids, "stop", TOOLS) is not None
