"""Text that spells a control token stays text, and text that spells none is encoded as the tokenizer itself would."""

import copy
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from chat_tokenizers import MODERN, TOOLS, asked, chat_format, control_ids, smollm2, text_of, tiny, told
from hypothesis import given, settings
from hypothesis import strategies as st

from cowork_gym.core.errors import UserError
from cowork_gym.core.messages import Message, ToolCall
from cowork_gym.harness.tokens import SMOLLM2_TOOLS, JinjaFormat, MistralFormat
from cowork_gym.harness.tokens.plain_text import PlainText

HUGGING = tuple(one for one in MODERN if one != "mistral13")
MARKS = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>")


def spellings(one):
    if isinstance(one, MistralFormat):
        return ["</s>", "[INST]", "[/INST]", "[TOOL_CALLS]", "[/TOOL_RESULTS]", "[ARGS]", "[AVAILABLE_TOOLS]", "<s>"]
    return [*one._plain.control, "<|im_end|><|im_end|>", "<|<|im_end|>im_end|>"]


def history(text):
    """A conversation that has the text in every place that somebody writes."""
    call = ToolCall("look", {"at": text, "more": [{text: text}]}, "call_a")
    return [
        Message("system", f"a {text} b"), Message("user", f"c {text} d"), Message("assistant", f"e {text} f", (call,)), told("a", f"g {text} h"),
        asked(text=f"i {text} j"), Message("user", f"k {text} l"),
    ]


def tools(text):
    described = copy.deepcopy(TOOLS)
    described[0]["function"]["description"] = f"Look {text} up."
    return described


@pytest.mark.parametrize("name", MODERN)
def test_no_spelling_becomes_a_control_token(name):
    one = chat_format(name)
    controls = control_ids(one)
    text = " ".join(spellings(one))
    calm, wild = (one.open(history(said), tools(said)) for said in ("x", text))
    assert Counter(id for id in wild if id in controls) == Counter(id for id in calm if id in controls)
    read = text_of(one, wild)
    assert all(f"{left} {text} {right}" in read for left, right in ("ab", "cd", "gh", "ij", "kl"))
    assert f"Look {text} up." in read or name == "chatml"


@pytest.mark.parametrize("name", ["qwen2.5", "qwen3", "qwen3.6"])
def test_results_cannot_spell_the_marks_of_the_template(name):
    one = chat_format(name)
    vocabulary = one._rendering._tokenizer.get_vocab()
    calm, wild = (one.extend([told("a", text)], closed=True) for text in ("x", " ".join(MARKS)))
    for mark in MARKS:
        assert wild.count(vocabulary[mark]) == calm.count(vocabulary[mark])
    assert " ".join(MARKS) in text_of(one, wild)


@pytest.mark.parametrize("name", ["qwen3", "qwen3.6"])
def test_the_policys_own_marks_stay_tokens(name):
    one = chat_format(name)
    thought = one._rendering._tokenizer.get_vocab()["</think>"]
    said = [Message("user", "Q"), asked("a", text="<think>\nhm\n</think>\n\nok"), told("a", "r")]
    assert thought in one.open(said, TOOLS)


@pytest.mark.parametrize("name", HUGGING)
@settings(max_examples=10)
@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs", "Co"], exclude_characters="\0"), max_size=20), min_size=4, max_size=4))
def test_what_spells_nothing_is_encoded_as_ever(name, texts):
    one = chat_format(name)
    tokenizer, template = one._rendering._tokenizer, one._rendering._template
    said = [Message("system", texts[0]), Message("user", texts[1]), asked("a"), told("a", texts[2]), asked(text="I see"), Message("user", texts[3])]
    forms = [one._rendering.bare(message) for message in said]
    ids = tokenizer.apply_chat_template(forms, tools=TOOLS, chat_template=template, add_generation_prompt=True, return_dict=False)
    if tokenizer.unk_token_id is None or not any(one._plain._is_gap(letter) for letter in "".join(texts)):
        assert list(one.open(said, TOOLS)) == ids


@pytest.mark.smol
def test_what_the_vocabulary_lacks_does_not_end_the_text():
    tokenizer, one = smollm2(), JinjaFormat(smollm2(), SMOLLM2_TOOLS)
    lacking = "\U00040000"
    assert tokenizer.unk_token_id in tokenizer(lacking)["input_ids"]
    assert one.extend([told("a", f"x{lacking}y")], closed=True) == one.extend([told("a", "x\ufffdy")], closed=True)


@pytest.mark.parametrize("name", MODERN)
def test_messages_and_tools_are_left_alone(name):
    one = chat_format(name)
    said, offered = history("<|im_end|>"), tools("</s>")
    before = copy.deepcopy((said, offered))
    one.open(said, offered)
    assert (said, offered) == before


@pytest.mark.parametrize("name", MODERN)
def test_threads_share_a_format(name):
    one = chat_format(name)
    said = [history(f"{at} <|im_end|> {'long ' * at}") for at in range(24)]
    alone = [(one.open(messages, TOOLS), one.extend(messages[3:4], closed=False)) for messages in said]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda messages: (one.open(messages, TOOLS), one.extend(messages[3:4], closed=False)), said)) == alone


def test_the_tokenizer_is_left_alone():
    tokenizer = tiny()
    before = tokenizer.backend_tokenizer.to_str()
    one = JinjaFormat(tokenizer, SMOLLM2_TOOLS)
    one.open([Message("user", "<|im_end|>")], TOOLS)
    assert tokenizer.backend_tokenizer.to_str() == before


def test_only_fast_tokenizers_will_do():
    with pytest.raises(UserError, match="fast tokenizer, not object"):
        PlainText(object(), "")


def test_a_fingerprint_is_that_of_tokenizer_and_template():
    one, again, other = (JinjaFormat(tiny(), template) for template in (SMOLLM2_TOOLS, SMOLLM2_TOOLS, SMOLLM2_TOOLS + " "))
    assert one.fingerprint == again.fingerprint != other.fingerprint
    larger = copy.deepcopy(tiny())
    larger.add_tokens(["<new>"])
    assert JinjaFormat(larger, SMOLLM2_TOOLS).fingerprint != one.fingerprint
    larger = copy.deepcopy(tiny())
    larger("x", truncation=True, max_length=7)
    assert JinjaFormat(larger, SMOLLM2_TOOLS).fingerprint == one.fingerprint
