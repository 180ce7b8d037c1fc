"""Pruning: old results of tools give way to a note, the calls stay."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from cowork_gym.core.canonical import encode
from cowork_gym.core.messages import Message
from cowork_gym.core.trajectory import RewriteKind
from cowork_gym.harness.middleware.middleware import Middleware
from cowork_gym.harness.middleware.settings import require
from cowork_gym.harness.view import Block, Rewritten, View

if TYPE_CHECKING:
    from cowork_gym.harness.run import LiveRun

__all__ = ["Prune"]


@dataclass(frozen=True, slots=True)
class Prune(Middleware):
    """Once the view has `at` tokens, results that stand before its last `keep` blocks give way to a note, in `stride` blocks or more at once.

    A result that is no longer than the note stays. When the context is full, neither `at` nor `stride` is waited for.

    Raises:
        UserError: A setting is too small. The last result is not to be pruned: nobody has read it.
    """

    keep: int = 6
    at: int = 4000
    stride: int = 4
    shown: str = "an old result that is no longer shown; call the tool again if it is needed"
    name: ClassVar[str] = "prune"

    def __post_init__(self) -> None:
        require(self, {"keep": 1, "at": 0, "stride": 1})

    def rewrite(self, run: "LiveRun") -> Rewritten | None:
        """The view with notes in place of old results."""
        if run.size < self.at and not run.full:
            return None
        blocks, text = run.view.blocks, encode({"note": self.shown})
        begin = max(len(blocks) - self.keep, 0)
        pruned = tuple([_pruned(one, text) for one in blocks[:begin]])
        changed = sum(new != old for new, old in zip(pruned, blocks, strict=False))
        if changed < (1 if run.full else self.stride):
            return None
        return Rewritten(RewriteKind.PRUNE, View(run.view.head, (*pruned, *blocks[begin:])))


def _pruned(block: Block, text: str) -> Block:
    return replace(block, messages=tuple([_noted(one, text) for one in block.messages]))


def _noted(message: Message, text: str) -> Message:
    return replace(message, content=text) if message.role == "tool" and len(message.content or "") > len(text) else message
