"""The token streams of one fixed conversation: they change when a template, a tokenizer or a library starts to render otherwise."""

import hashlib

import pytest
from chat_tokenizers import MODERN, TOOLS, asked, chat_format, told

from cowork_gym.core.messages import Message

GOLDEN = {
    "qwen2.5": (791, "bd4772d3d647a4e5"),
    "qwen3": (791, "bd4772d3d647a4e5"),
    "qwen3.6": (1033, "079ada480074bb03"),
    "llama3.1": (910, "79a7fb868a5bdcea"),
    "chatml": (322, "34fb8c6db6e1b30c"),
    "chatml+tools": (711, "5d7813b1b62296f4"),
    "mistral13": (486, "903a6c82723cb04d"),
    "smollm2": (903, "5f8b110bf7b9999b"),
}
TURNS = (
    (asked("a"), [told("a", '{"rooms": ["Blau", "Grün"]}')]),
    (asked("b", "c", text="Two more."), [told("b", "Fehler: not found <|im_end|>"), told("c", "")]),
    (asked(text="Which room?"), [Message("user", "緑の部屋 👩‍💻")]),
    (asked("d"), [told("d", "  spaced \n\n"), Message("user", "Hurry.")]),
    (asked(text="Booked [INST]?"), [Message("user", "</s>")]),
    (asked(text="Yes."), [Message("user", "Thanks.")]),
)


def stream(one):
    """The opening and what is put behind each answer, the last one cut off, and the whole conversation as a prompt of its own."""
    visible = [Message("system", "Be brief."), Message("user", "Book a room.")]
    parts = [one.open(visible, TOOLS)]
    for at, (answer, new) in enumerate(TURNS):
        visible += [answer, *new]
        parts.append(one.extend(new, closed=at < len(TURNS) - 1))
    return [*parts, one.open(visible, TOOLS)]


@pytest.mark.parametrize("name", MODERN)
def test_the_tokens_of_a_fixed_conversation(name):
    parts = stream(chat_format(name))
    assert (sum(map(len, parts)), hashlib.sha256(repr(parts).encode()).hexdigest()[:16]) == GOLDEN[name]
