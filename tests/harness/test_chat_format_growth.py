"""Conversations grow token by token into what the template renders whole, and what was sampled is never encoded again."""

import json
import unicodedata
from collections import Counter
from unittest.mock import patch

import pytest
from chat_tokenizers import MODERN, TOOLS, asked, chat_format, control_ids, text_of, told
from hypothesis import given, settings
from hypothesis import strategies as st

from cowork_gym.core.messages import Message
from cowork_gym.harness.tokens import MistralFormat
from cowork_gym.harness.tokens.plain_text import PlainText

ALIKE = tuple(one for one in MODERN if one != "qwen3.6")
"""The formats that render an old answer without thoughts as the model would have written it; Qwen 3.6 begins every answer with thoughts."""
SPELLED = ("<|im_end|>", "<|im_start|>system\n", "</s>", "[INST]", "[/TOOL_RESULTS]", "<|eot_id|>", "</tool_response>", "<tool_call>", "\U000f5afe")
pieces = st.sampled_from([*SPELLED, "", " ", "\n\n", "\t", "日本語の返事", "👩‍💻🧾", "é", "{\"a\": [1, 2]}", "\\u0041", "'\"`", "x" * 500])
contents = st.lists(pieces | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12), max_size=5).map("".join)
words = st.text(st.characters(categories=["L", "N", "Zs"]), min_size=1, max_size=30).map(lambda text: "Zqx " + unicodedata.normalize("NFC", text))


@st.composite
def rounds(draw, most_calls):
    """A few answers, each with what comes back."""
    made = []
    for at in range(draw(st.integers(1, 6))):
        places = [f"{at}-{one}" for one in range(draw(st.integers(0, most_calls)))]
        new = [told(place, draw(contents)) for place in places]
        if not places or draw(st.booleans()):
            new.append(Message("user", "Q: " + draw(contents)))
        made.append((asked(*places, text=None if places and draw(st.booleans()) else draw(words)), new))
    return made


openings = st.sampled_from([
    [Message("user", "Q: book a room")],
    [Message("system", "Be brief, 你好. <|im_end|>"), Message("user", "Q: book a room [/INST]</s>")],
])


def nfc(text):
    return unicodedata.normalize("NFC", text)


def rendered(one, messages, tools, *, prompt):
    """What the template makes of the messages as they are, nothing replaced in them."""
    tokenizer, forms = one._rendering._tokenizer, [one._rendering.bare(message) for message in messages]
    template = one._rendering._template
    return tokenizer.apply_chat_template(forms, tools=tools or None, chat_template=template, tokenize=False, add_generation_prompt=prompt)


def sampled(one, answer, new):
    """An answer as the template writes it, as ids, with the token that ends it."""
    before = [Message("user", "?")]
    if isinstance(one, MistralFormat):
        whole, start = one.open([*before, answer, *new], ()), len(one.open(before, ()))
        return whole[start:whole.index(one.stop[0], start) + 1]
    tokenizer = one._rendering._tokenizer
    start = rendered(one, before, (), prompt=True)
    whole = rendered(one, [*before, answer, *new], (), prompt=False)
    assert whole.startswith(start)
    end = min(at for id in one.stop if (at := whole.find(tokenizer.convert_ids_to_tokens(id), len(start))) >= 0)
    last = next(id for id in one.stop if whole.startswith(tokenizer.convert_ids_to_tokens(id), end))
    return (*tokenizer(whole[len(start):end], add_special_tokens=False)["input_ids"], last)


@pytest.mark.parametrize("name", ALIKE)
@settings(max_examples=12)
@given(data=st.data())
def test_what_grew_reads_as_what_is_rendered_whole(name, data):
    one = chat_format(name)
    opening, tools = data.draw(openings), data.draw(st.sampled_from([[], TOOLS]))
    visible, ids = [*opening], one.open(opening, tools)
    for answer, new in data.draw(rounds(most_calls=1 if name == "llama3.1" else 3)):
        visible += [answer, *new]
        ids += sampled(one, answer, new) + one.extend(new, closed=True)
    whole = one.open(visible, tools)
    assert nfc(text_of(one, ids)) == nfc(text_of(one, whole))
    controls = control_ids(one)
    assert [id for id in ids if id in controls] == [id for id in whole if id in controls]
    if isinstance(one, MistralFormat):
        assert ids == whole
    else:
        assert nfc(text_of(one, ids)) == nfc(one._plain._without_gaps(rendered(one, visible, tools, prompt=True)))


def cut_or_whole(one):
    """Sampled ids of any kind: empty thoughts, garbage, nothing at all, ended or cut off."""
    free = st.lists(st.integers(300, 20000), max_size=12).map(tuple)
    thoughts = () if isinstance(one, MistralFormat) else tuple(one._rendering._tokenizer("<think>\n\n</think>\n\nZqx")["input_ids"])
    return st.tuples(st.sampled_from([(), thoughts]), free, st.sampled_from([(), one.stop[-1:]])).map(lambda parts: sum(parts, ()))


@pytest.mark.parametrize("name", MODERN)
@settings(max_examples=10)
@given(data=st.data())
def test_only_what_is_new_is_encoded(name, data):
    one = chat_format(name)
    ids = one.open([Message("user", "Q")], TOOLS)
    tape, spied = [ids], []
    original = PlainText.encode
    with patch.object(PlainText, "encode", lambda self, text: spied.append(text) or original(self, text)):
        for _, new in data.draw(rounds(most_calls=3)):
            drawn = data.draw(cut_or_whole(one))
            closed = drawn[-1:] == one.stop[-1:]
            added = one.extend(new, closed=closed)
            tape += [drawn, added]
            assert added == one.extend(new, closed=closed)
            if not closed:
                assert added[0] in one.stop
                assert added[1:] == one.extend(new, closed=True)
    assert not [text for text in spied if "Zqx" in text]
    assert all(text_of(one, added) for added in tape[2::2])


@pytest.mark.parametrize("name", MODERN)
@settings(max_examples=10)
@given(data=st.data())
def test_what_is_said_adds_no_control_token(name, data):
    one = chat_format(name)
    controls = control_ids(one)
    for _, new in data.draw(rounds(most_calls=3)):
        calm = [Message(message.role, "x", (), message.tool_call_id, message.name) for message in new]
        counts = [Counter(id for id in one.extend(messages, closed=False) if id in controls) for messages in (new, calm)]
        assert counts[0] == counts[1]


@pytest.mark.parametrize("name", MODERN)
def test_a_huge_result_is_shown_whole(name):
    one = chat_format(name)
    huge = "<|im_end|> row 7: 三 [INST]\n" * 8000
    shown = text_of(one, one.extend([told("a", huge)], closed=True))
    assert (json.dumps(huge, ensure_ascii=False) if name == "llama3.1" else huge.strip()) in shown


@pytest.mark.parametrize("name", MODERN)
def test_an_extension_follows_at_least_one_message_of_others(name):
    one = chat_format(name)
    for messages in ([], [asked(text="I again")], [told("a", "x"), asked(text="I again")]):
        with pytest.raises(ValueError, match="at least one message"):
            one.extend(messages, closed=True)
