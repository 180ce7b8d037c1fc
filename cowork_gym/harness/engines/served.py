"""What engines behind a server share: the model's name and context, the room for an answer, and what an answer has to hold."""

import itertools
import math
import secrets
from collections.abc import Collection, Sequence
from typing import ClassVar, Literal, NamedTuple, Self

from cowork_gym.core.errors import CoworkError, Fault, UserError, nearest
from cowork_gym.harness.engines.engine import ContextFull, Drawn, Sampling
from cowork_gym.harness.engines.http import Connection, Received

__all__ = ["SEEDS", "UNKNOWN", "Answer", "Fields", "ServedModel", "Span"]

UNKNOWN = "unknown"
"""The version of weights that nobody named."""
SEEDS = 2**63
"""Servers take seeds of 64 bits with a sign."""
_SLACK = 1e-6
"""What rounding may put on top of the logarithm of 1."""
_LEAST = -9999.0
"""What some servers send for a probability of 0, since JSON has no infinity."""


class Fields(NamedTuple):
    """What a server calls the parts of an answer."""

    ids: str
    logprobs: str
    finish: str
    matched: str
    versions: str


class Span(Received):
    """A stretch of an answer that one version of the weights drew."""

    version: str


class Answer(NamedTuple):
    """What a server says that it drew."""

    ids: Sequence[int]
    scored: Sequence[int]
    """The ids that its log-probabilities are said to belong to."""
    logprobs: Sequence[float | None]
    finish: str | None
    matched: int | str | None
    """What ended it; None where the server does not say."""
    versions: Collection[str]
    """Of the weights that drew it."""


class _Card(Received):
    id: str
    max_model_len: int | None = None


class _Cards(Received):
    data: tuple[_Card, ...]


class ServedModel:
    """A model behind a connection. Its name and its context are asked for at once.

    Args:
        connection: The server, which lists its models at `/v1/models`. It is closed if the model is not there.
        model: One of them; by default the first.

    Raises:
        UserError: Nobody answers at the address, the key is wrong, or there is no such model.
    """

    fields: ClassVar[Fields]
    """What the server calls the parts of an answer."""

    def __init__(self, connection: Connection, model: str | None = None) -> None:
        self._connection = connection
        card = self._find(model)
        self.name, self.context = card.id, card.max_model_len
        # Not seeded: two clients that play the same episode must not take each other's request for their own. No record has it.
        self._salt, self._numbers = secrets.token_hex(8), itertools.count()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def request_id(self) -> str:
        """A new one. A request that is sent again keeps its own."""
        return f"{self._salt}-{next(self._numbers)}"

    def room(self, prompt: Sequence[int], sampling: Sampling) -> int:
        """How many tokens may be asked for.

        Raises:
            ContextFull: The prompt leaves no room for an answer.
            UserError: No server would sample like this.
        """
        _check_sampling(sampling)
        if self.context is None:
            return sampling.max_tokens
        if len(prompt) >= self.context:
            raise ContextFull(f"a prompt of {len(prompt)} tokens, and a context of {self.context}")
        return min(sampling.max_tokens, self.context - len(prompt))

    def drawn(self, answer: Answer, *, room: int, stop: Collection[int]) -> Drawn:
        """An answer in which everything is as it has to be.

        Args:
            answer: What came.
            room: How many tokens were asked for.
            stop: The ids that should end it.

        Raises:
            Fault: It cannot be what the model drew; the message names the field.
        """
        finish = self._check_finish(answer, stop)
        self._check_ids(answer, room, stop)
        if len(answer.versions) != 1:
            raise self._bad(self.fields.versions, f"an answer of {len(answer.versions)} versions of the weights: {', '.join(answer.versions)}")
        logprobs = tuple(self._logprob(place, value) for place, value in enumerate(answer.logprobs))
        return Drawn(tuple(answer.ids), logprobs, finish, next(iter(answer.versions)))

    def _find(self, model: str | None) -> _Card:
        try:
            cards = self._connection.ask("/v1/models", _Cards).data
            for card in cards:
                if model in (None, card.id):
                    return card
            raise UserError(f"{self._connection.url} knows no model {model!r}: {nearest(model or '', [card.id for card in cards])}")
        except CoworkError as error:
            self._connection.close()
            # Whatever it is: nothing has begun yet, and the person can mend it.
            raise UserError(f"{error.record.where}{error.record.message}" if isinstance(error, Fault) else str(error)) from None

    def _check_finish(self, answer: Answer, stop: Collection[int]) -> Literal["stop", "length"]:
        if answer.finish not in ("stop", "length"):
            raise self._bad(self.fields.finish, f"the answer ended by {answer.finish!r}")
        if not answer.ids:
            raise self._bad(self.fields.ids, "no tokens")
        # Some versions look at the length first: an answer whose last token may be its last by both rules ended by itself.
        if answer.finish == "length":
            return "stop" if answer.ids[-1] in stop else "length"
        if answer.matched not in (None, answer.ids[-1]):
            raise self._bad(self.fields.matched, f"ended by {answer.matched!r}, and the last id is {answer.ids[-1]}")
        return "stop"

    def _check_ids(self, answer: Answer, room: int, stop: Collection[int]) -> None:
        if len(answer.ids) > room:
            raise self._bad(self.fields.ids, f"{len(answer.ids)} tokens, and {room} were asked for")
        if len(answer.logprobs) != len(answer.ids):
            raise self._bad(self.fields.logprobs, f"{len(answer.logprobs)} log-probabilities of {len(answer.ids)} tokens")
        if list(answer.scored) != list(answer.ids):
            raise self._bad(self.fields.logprobs, f"log-probabilities of other tokens than those of {self.fields.ids}")
        early = next((place for place, id in enumerate(answer.ids[:-1]) if id in stop), None)
        if early is not None:
            raise self._bad(f"{self.fields.ids}.{early}", f"{answer.ids[early]} should have ended the answer")

    def _logprob(self, place: int, value: float | None) -> float:
        if value is None or not math.isfinite(value) or not _LEAST < value <= _SLACK:
            raise self._bad(f"{self.fields.logprobs}.{place}", f"{value} is no logarithm of a probability")
        return min(value, 0.0)

    def _bad(self, field: str, text: str) -> Fault:
        return self._connection.fault(f"{field}: {text}")


def _check_sampling(sampling: Sampling) -> None:
    rules = {
        "max_tokens": (sampling.max_tokens >= 1, "at least 1"),
        "temperature": (math.isfinite(sampling.temperature) and sampling.temperature >= 0, "0 or more"),
        "top_p": (0 < sampling.top_p <= 1, "above 0 and at most 1"),
        "top_k": (sampling.top_k >= 0, "0 for all tokens, or at least 1"),
    }
    for name, (holds, rule) in rules.items():
        if not holds:
            raise UserError(f"{name} is {getattr(sampling, name)}: it should be {rule}")
