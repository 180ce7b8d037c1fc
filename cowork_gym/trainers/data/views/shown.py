"""A sample as what people look at: each token with its text, who it is of, and how much it counts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cowork_gym.harness.tokens import ChatFormat
from cowork_gym.trainers.data.sample import Sample
from cowork_gym.trainers.data.sft.answers import answers_of

__all__ = ["Piece", "Shown", "Stretch", "show", "visible"]

_WIDEST_LETTER = 8
"""The most tokens that one letter is taken to have; a real mark of replacement is shown after as many."""
_NAMED = {"\n": "⏎\n", "\t": "⇥", "\r": "␍"}


class Piece(NamedTuple):
    """One token."""

    id: int
    text: str
    """What it stands for; empty where a letter ends only in a later token. Without a tokenizer, the id."""
    learned: bool
    weight: float


class Stretch(NamedTuple):
    """The tokens of one message, or what a template puts between messages."""

    role: str
    message: int
    """Which message of the dialogue; -1 for none."""
    pieces: tuple[Piece, ...]

    @property
    def learned(self) -> int:
        """How many of its tokens are learned."""
        return sum(one.learned for one in self.pieces)


@dataclass(frozen=True, slots=True)
class Shown:
    """A sample, ready to be looked at."""

    title: str
    sample: Sample
    stretches: tuple[Stretch, ...]
    text: bool
    """Whether pieces have texts, and not ids."""
    note: str = ""
    """What one has to know of it, such as why it must not be trained."""

    @property
    def facts(self) -> str:
        """Its numbers, in a sentence."""
        weights = sorted({weight for weight, on in zip(self.sample.weights, self.sample.mask, strict=True) if on})
        told = f", weight {' '.join(f'{one:g}' for one in weights)}" if weights else ""
        size = len(self.sample)
        return f"{size:,} tokens, {self.sample.supervised:,} learned ({self.sample.supervised / max(size, 1):.1%}){told}"


def show(title: str, sample: Sample, format: ChatFormat | None = None, *, note: str = "") -> Shown:
    """A sample with the texts of its tokens.

    Args:
        title: What it is called.
        sample: The sample.
        format: The tokenizer; without one, tokens are shown as ids.
        note: What one has to know of it.
    """
    texts = [f"{id} " for id in sample.ids] if format is None else _texts(sample.ids, format)
    pieces = [Piece(*one) for one in zip(sample.ids, texts, sample.mask, sample.weights, strict=True)]
    stretches = tuple(Stretch(one.role, one.message, tuple(pieces[one.start : one.end])) for one in sample.spans)
    return Shown(title, sample, stretches or (Stretch("", -1, tuple(pieces)),), format is not None, note)


def visible(text: str) -> str:
    """A text with what nobody sees made visible. Nothing is left that moves a cursor but the ends of lines, which are marked too."""
    return "".join(one if one.isprintable() else _NAMED.get(one) or one.encode("unicode_escape").decode() for one in text)


def _texts(ids: Sequence[int], format: ChatFormat) -> Iterator[str]:
    answers, waiting = answers_of(format), list[int]()
    for at, id in enumerate(ids, 1):
        waiting.append(id)
        text = answers.text(waiting)
        if text.endswith("\ufffd") and len(waiting) < _WIDEST_LETTER and at < len(ids):
            yield ""
        else:
            yield text
            waiting.clear()
