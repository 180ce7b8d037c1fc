"""Dialogues for tests of samples, and the real tokenizers that the harness is tested with."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "harness"))

from chat_tokenizers import MODERN, TOOLS, asked, chat_format, control_ids, mistral, qwen, template, text_of, told

from cowork_gym.core.messages import Message, ToolCall
from cowork_gym.harness.engines import Drawn, Engine
from cowork_gym.trainers.data.dialogue import Dialogue, Source, Utterance
from cowork_gym.trainers.data.sft.answers import answers_of

__all__ = [
    "MODERN", "SOURCE", "TOOLS", "Dictated", "asked", "assistant", "calls", "chat_format", "control_ids", "dialogue", "learned", "mistral", "qwen",
    "template", "text_of", "told", "user",
]

SOURCE = Source("0" * 64, "M1003", "r", 0, "teacher")


def user(text):
    return Message("user", text)


def assistant(text):
    return Message("assistant", text)


def calls(text, *pairs):
    return Message("assistant", text, tuple(ToolCall(name, arguments, f"call_{at}") for at, (name, arguments) in enumerate(pairs)))


def dialogue(*messages, context=(), tools=TOOLS, **fields):
    """Every answer is to be learned but those whose index is named."""
    utterances = (Utterance(one, one.role == "assistant" and at not in context) for at, one in enumerate(messages))
    return Dialogue(SOURCE, tuple(utterances), tuple(tools), **fields)


class Dictated(Engine):
    """Draws what it was told to, as a model would have written it."""

    name, version = "dictated", "1"

    def __init__(self, format, lines):
        self._lines = iter([answers_of(format).write(one) for one in lines])

    def generate(self, prompt, sampling, *, stop, seed):
        ids = next(self._lines)
        return Drawn(ids, (-0.5,) * len(ids), "stop", "1")


def learned(format, sample):
    """The text of each run of tokens that are learned."""
    runs, last = [], False
    for id, trained in zip(sample.ids, sample.mask, strict=True):
        if trained:
            if last:
                runs[-1].append(id)
            else:
                runs.append([id])
        last = trained
    return [text_of(format, run) for run in runs]
