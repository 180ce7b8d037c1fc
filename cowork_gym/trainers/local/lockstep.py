"""An engine for a crowd: it draws when everybody who plays is waiting, in a fixed order, so that what is drawn together never depends on time.

Sums are rounded in another way when other prompts stand beside one. With a fixed crowd the same weights and seeds give the same tokens and
log-probabilities to the bit, on one machine with one number of threads.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import Condition
from typing import Any

from cowork_gym.core.errors import Blame, Fault, told
from cowork_gym.harness.engines.engine import ContextFull, Drawn, Engine, Sampling
from cowork_gym.harness.policies.local.draw import Request, draw_together

__all__ = ["Crowd", "Seat"]


class Crowd:
    """Players of one model. The last one who asks draws for all.

    Args:
        model: A causal language model.
        name: How episodes call it.
        context: The most tokens that a prompt and its answer may have together.
        max_batch: The most answers that are drawn together.
        version: Of the weights.
    """

    def __init__(self, model: Any, *, name: str, context: int, max_batch: int = 64, version: str = "0") -> None:
        self.model, self.name, self.context, self.version = model, name, context, version
        self._max_batch = max_batch
        self._changed = Condition()
        self._seated: set[int] = set()
        self._waiting: dict[int, Request] = {}
        self._drawn: dict[int, Drawn | BaseException] = {}

    def seats(self, count: int) -> "list[Seat]":
        """Places for so many players, who all have to leave in the end: nobody draws before everybody has asked or left."""
        with self._changed:
            first = max(self._seated, default=-1) + 1
            self._seated |= {*range(first, first + count)}
        return [Seat(self, first + at) for at in range(count)]

    def ask(self, seat: int, request: Request) -> Drawn:
        """One answer, once everybody waits."""
        with self._changed:
            self._waiting[seat] = request
            self._draw_if_all_wait()
            self._changed.wait_for(lambda: seat in self._drawn)
            found = self._drawn.pop(seat)
        if isinstance(found, BaseException):
            raise Fault(Blame.MODEL_SERVER, self.name, told(found)[:300]) from found
        return found

    def leave(self, seat: int) -> None:
        """A player is done; a second time does nothing."""
        with self._changed:
            self._seated.discard(seat)
            self._draw_if_all_wait()

    def _draw_if_all_wait(self) -> None:
        if not self._waiting or self._waiting.keys() != self._seated:
            return
        order = sorted(self._waiting)
        training = self.model.training
        self.model.eval()
        for at in range(0, len(order), self._max_batch):
            some = order[at : at + self._max_batch]
            try:
                answers: Sequence[Drawn | BaseException] = draw_together(
                    self.model, [self._waiting[one] for one in some], self.version, check=lambda: None,
                )
            except Exception as error:  # nobody may wait for ever
                answers = [error] * len(some)
            self._drawn.update(zip(some, answers, strict=True))
        self.model.train(training)
        self._waiting.clear()
        self._changed.notify_all()


@dataclass(eq=False)
class Seat(Engine):
    """One player's way to the model."""

    crowd: Crowd
    number: int

    @property
    def name(self) -> str:  # type: ignore[override]
        """How episodes call the model."""
        return self.crowd.name

    @property
    def context(self) -> int:  # type: ignore[override]
        """The most tokens of a prompt and its answer."""
        return self.crowd.context

    @property
    def version(self) -> str:
        """Of the weights."""
        return self.crowd.version

    def generate(self, prompt: Sequence[int], sampling: Sampling, *, stop: Sequence[int], seed: int) -> Drawn:
        """One answer.

        Raises:
            ContextFull: The prompt leaves no room for an answer.
            Fault: The model failed.
        """
        if (room := self.crowd.context - len(prompt)) < 1:
            raise ContextFull(f"{len(prompt)} tokens, and the model reads {self.crowd.context}")
        limited = replace(sampling, max_tokens=min(sampling.max_tokens, room))
        return self.crowd.ask(self.number, Request(tuple(prompt), limited, frozenset(stop), seed))

    def leave(self) -> None:
        """Be done: the others no longer wait."""
        self.crowd.leave(self.number)
