"""What the policy sees of a run: a head that stays, and blocks of messages that are kept or dropped as wholes. Middleware rewrites views."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from cowork_gym.core.messages import Message
from cowork_gym.core.trajectory import Provenance, RewriteKind

__all__ = ["Block", "Rewritten", "View", "check_rewritten"]


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


def check_rewritten(rewritten: Rewritten) -> None:
    """See that a rewrite of anybody's making can be recorded and read.

    Raises:
        TypeError: One of its parts is of another type.
        ValueError: It is of no known kind, has no message, parts a call from its result, or a summary from where it comes from.
    """
    kind, summary = RewriteKind(rewritten.kind), rewritten.summary
    if not isinstance(rewritten.view, View):
        raise TypeError(f"a rewrite gives a View, not {type(rewritten.view).__name__}")
    if (kind is RewriteKind.SUMMARY) is not (summary is not None):
        raise ValueError("a summary has a provenance, and nothing else has one")
    if summary is not None and not (summary.author in ("policy", "model", "rule") and isinstance(summary.name, str)):
        raise ValueError(f"no author of a summary: {summary.author!r:.40}, {summary.name!r:.40}")
    if not (messages := rewritten.view.messages):
        raise ValueError("a rewrite leaves something to read")
    open_ = list[str | None]()
    for one in messages:
        if one.role == "tool" and one.tool_call_id in open_:
            open_.remove(one.tool_call_id)
        elif one.role == "tool" or open_:
            raise ValueError("a rewrite parts a call from its result")
        elif one.tool_calls:
            open_ = [call.id for call in one.tool_calls]
    if open_:
        raise ValueError("a rewrite parts a call from its result")


def _block(messages: Sequence[Message]) -> Block:
    said, *back = messages
    return Block(tuple(messages), pinned=not said.tool_calls and any(one.role == "user" for one in back))
