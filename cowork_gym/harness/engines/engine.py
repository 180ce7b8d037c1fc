"""What draws tokens: the engine protocol. Prompts go in as token ids and sampled ids come out; no text is seen on this side."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from cowork_gym.core.errors import CoworkError

__all__ = ["ContextFull", "Drawn", "Engine", "Sampling"]


class ContextFull(CoworkError):
    """The conversation is longer than the model can read."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How tokens are drawn."""

    max_tokens: int = 512
    """The most that one answer may have."""
    temperature: float = 1.0
    """0 for the likeliest token each time."""
    top_p: float = 1.0
    top_k: int = 0
    """0 for all tokens."""


class Drawn(NamedTuple):
    """One answer of an engine."""

    ids: tuple[int, ...]
    """Sampled ids. An answer that ended by a stop token has it as its last id."""
    logprobs: tuple[float, ...]
    """Natural logarithms of their probabilities at the temperature used, before top-p and top-k; as many as `ids`."""
    finish: Literal["stop", "length"]
    version: str
    """Of the weights that drew it."""


class Engine(Protocol):
    """Draws answers to prompts. Methods may be called from many threads at once; an engine may batch what waits together."""

    name: str
    """How episodes call the model."""
    context: int | None
    """The most tokens that a prompt and its answer may have together; None when it is not known."""

    @property
    def version(self) -> str:
        """Of the weights that the next answer will be drawn from."""
        ...

    def generate(self, prompt: Sequence[int], sampling: Sampling, *, stop: Sequence[int], seed: int) -> Drawn:
        """One answer.

        Args:
            prompt: Token ids, at least one.
            sampling: How tokens are drawn.
            stop: Ids any of which ends the answer.
            seed: Decides what is drawn, as far as the engine can promise that.

        Raises:
            ContextFull: The prompt leaves no room for an answer.
            Fault: The engine failed; the blame is the model server's.
        """
        ...
