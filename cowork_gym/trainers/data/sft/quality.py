"""Which answers of a good episode are no examples: they stay where they are as context, and nobody learns them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from cowork_gym.core.episode import Episode, Turn
from cowork_gym.core.trajectory import Generation

__all__ = ["Appraise", "Quality", "refused"]

Appraise: TypeAlias = Callable[[Episode, Turn], str]
"""Says why a turn's answer is not to be learned, such as `low quality`; an empty text when it may be."""

_REFUSED = frozenset({400, 401, 403, 404, 405, 409, 410, 413, 422})
"""What a call can be answered that is its own fault. Rate limits, timeouts and broken services are the world's."""


@dataclass(frozen=True, slots=True)
class Quality:
    """What keeps an answer from being learned."""

    invalid: bool = True
    """No message could be read in it."""
    refused: bool = True
    """One of its calls was refused: an unknown tool, bad arguments, something that is not permitted or came too late."""
    cut_off: bool = True
    """It was cut off at the token limit."""
    appraise: Appraise | None = None
    """The caller's own opinion."""

    def flaw(self, episode: Episode, turn: Turn | None, generation: Generation | None = None) -> str:
        """Why an answer is not to be learned; empty when it may be.

        Args:
            episode: The record.
            turn: What the answer led to; None for plans and summaries.
            generation: How it came to be, where that is known.
        """
        if self.cut_off and generation is not None and generation.finish == "length":
            return "cut off"
        if turn is None:
            return ""
        if self.invalid and (turn.action is None or turn.invalid is not None):
            return "invalid action"
        if not (turn.said.content or "").strip() and not turn.said.tool_calls:
            return "empty answer"
        if self.refused and refused(turn):
            return "refused call"
        return self.appraise(episode, turn) if self.appraise is not None else ""


def refused(turn: Turn) -> bool:
    """Whether a call of the turn was refused for a reason of its own."""
    return any(one.status in _REFUSED for one in turn.dispatches)
