"""What the policy sees of a run: a head that stays, and blocks of messages that are kept or dropped as wholes. Middleware rewrites views."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from cowork_gym.core.messages import Message
from cowork_gym.core.trajectory import Provenance, RewriteKind

__all__ = ["Block", "Rewritten", "View"]


@dataclass(frozen=True, slots=True)
class Block:
    """Messages that stand or fall together, so that no rewrite parts a call from its result."""

    messages: tuple[Message, ...]
    turn: int | None = None
    """The turn of the episode that it shows; None for plans, notes and summaries."""
    pinned: bool = False
    """Whether it has the word of the user, such as the request of a later part, and is not to be dropped."""


@dataclass(frozen=True, slots=True)
class View:
    """A visible history."""

    head: tuple[Message, ...]
    """The system prompt, if there is one, and the request."""
    blocks: tuple[Block, ...] = ()

    @property
    def messages(self) -> tuple[Message, ...]:
        """All of it, as the policy reads it."""
        return (*self.head, *(message for block in self.blocks for message in block.messages))

    @property
    def answered(self) -> tuple[Message, ...]:
        """All of it up to and including the last answer."""
        messages = self.messages
        return messages[: max((at for at, one in enumerate(messages, 1) if one.role == "assistant"), default=0)]

    @classmethod
    def parse(cls, messages: Sequence[Message]) -> "View":
        """A view from a plain history: each assistant message begins a block, which has what follows up to the next one."""
        starts = [at for at, one in enumerate(messages) if one.role == "assistant"]
        spans = pairwise([*starts, len(messages)])
        return cls(tuple(messages[: starts[0]] if starts else messages), tuple(_block(messages[start:end]) for start, end in spans))


class Rewritten(NamedTuple):
    """What a rewrite makes of a view."""

    kind: RewriteKind
    view: View
    summary: Provenance | None = None
    """Of the summary that was put in."""


def _block(messages: Sequence[Message]) -> Block:
    said, *back = messages
    return Block(tuple(messages), pinned=not said.tool_calls and any(one.role == "user" for one in back))
