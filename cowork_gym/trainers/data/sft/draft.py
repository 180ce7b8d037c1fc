"""A sample as it grows: ids, mask and spans side by side, so that they cannot fall apart."""

from collections.abc import Sequence

from cowork_gym.core.messages import Message
from cowork_gym.trainers.data.dialogue import Source
from cowork_gym.trainers.data.sample import Sample, Span
from cowork_gym.trainers.data.sft.spans import Place

__all__ = ["TEMPLATE", "Draft"]

TEMPLATE = "template"
"""The role of spans that are no message's."""


class Draft:
    """Grows by stretches that condition and answers that may be learned."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.mask: list[bool] = []
        self._spans: list[Span] = []

    def __len__(self) -> int:
        return len(self.ids)

    def condition(self, ids: Sequence[int], places: Sequence[Place], messages: Sequence[Message], first: int = 0) -> None:
        """Add what is not learned.

        Args:
            ids: The stretch.
            places: Where messages stand in it, in order.
            messages: Those of the dialogue.
            first: Which of them a place counts from.
        """
        base = len(self.ids)
        self.ids += ids
        self.mask += [False] * len(ids)
        for one in places:
            self._fill(base + one.start)
            self._spans.append(Span(base + one.start, base + one.end, messages[first + one.message].role, False, first + one.message))
        self._fill(len(self.ids))

    def answer(self, ids: Sequence[int], mask: Sequence[bool], message: int) -> None:
        """Add an answer of the dialogue's, of which the mask says what is learned."""
        if ids:
            self._spans.append(Span(len(self.ids), len(self.ids) + len(ids), "assistant", any(mask), message))
        self.ids += ids
        self.mask += mask

    def sample(self, source: Source, weight: float, tokenizer: str) -> Sample:
        """The sample, with one weight for all that is learned."""
        weights = tuple(weight if one else 0.0 for one in self.mask)
        return Sample(tuple(self.ids), tuple(self.mask), weights, source, tuple(self._spans), tokenizer)

    def _fill(self, end: int) -> None:
        start = self._spans[-1].end if self._spans else 0
        if start < end:
            self._spans.append(Span(start, end, TEMPLATE, False, -1))
