"""Compaction by summary: what is old gives way to a text that the policy wrote, which can be trained, or that another writer did."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from cowork_gym.core.messages import InvalidAction, Message
from cowork_gym.core.trajectory import Provenance, Purpose, RewriteKind
from cowork_gym.harness.engines.engine import ContextFull
from cowork_gym.harness.middleware.middleware import Middleware
from cowork_gym.harness.middleware.oldest import droppable, without
from cowork_gym.harness.middleware.settings import require
from cowork_gym.harness.policies.policy import Action, Policy
from cowork_gym.harness.run import blamed, estimate
from cowork_gym.harness.view import Block, Rewritten, View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cowork_gym.harness.run import LiveRun

__all__ = ["Summary"]

_ASKED = (
    "Write a summary of the work so far for yourself: older messages will no longer be shown. Say what was found, with all ids, names and numbers "
    "that are still needed, what was changed, and what is left to do. Call no tool."
)
_SHOWN = "Summary of the work so far, whose messages are no longer shown:\n"
_Write: TypeAlias = "Callable[[Message], Action | None]"


@dataclass(frozen=True, slots=True)
class Summary(Middleware):
    """Once the view has `at` tokens, all but its last `keep` blocks give way to a summary, the user's word excepted.

    The earlier summary is summarised with the rest. An attempt that is no text, is empty or too long, or calls tools is discarded. When all are,
    or there is no room to ask, the old blocks are dropped and an earlier summary stays. When the context is full, blocks that were to be kept are
    dropped as well, one after the other, up to the last one.

    Raises:
        UserError: A setting is too small.
    """

    at: int = 6000
    keep: int = 2
    attempts: int = 3
    most: int = 400
    """Tokens that a summary may have, by estimate."""
    by: Callable[[], Policy] | None = None
    """Makes the writer, anew for each summary; None lets the policy that plays write. What another one writes is in no generation of the run."""
    author: Literal["model", "rule"] = "model"
    """What the other writer is."""
    asked: str = _ASKED
    name: ClassVar[str] = "summary"

    def __post_init__(self) -> None:
        require(self, {"at": 1, "keep": 0, "attempts": 1, "most": 1})

    def manifest(self) -> Mapping[str, Any]:
        """Name and settings, with the other writer's name in place of what makes it."""
        by = self.by and {"name": self.by().name, "author": self.author}
        return {
            "name": self.name, "at": self.at, "keep": self.keep, "attempts": self.attempts, "most": self.most, "by": by, "asked": self.asked,
        }

    def lacks(self, policy: Policy, tools: "Sequence[str]") -> str | None:
        """A policy that can write, or another writer."""
        writer = self.by() if self.by else policy
        return None if writer.writes else f"a policy that can write a summary, which {writer.name} cannot"

    def rewrite(self, run: "LiveRun") -> Rewritten | None:
        """The view with a summary of what is old."""
        if run.size < self.at and not run.full:
            return None
        blocks = run.view.blocks
        begin = max(len(blocks) - self.keep, 0)
        if any(map(droppable, blocks[:begin])):
            return self._summarised(run, begin) or Rewritten(RewriteKind.WINDOW, without(run.view, begin))
        first = next((at for at, one in enumerate(blocks[:-1]) if droppable(one)), None)
        return Rewritten(RewriteKind.WINDOW, without(run.view, first + 1)) if run.full and first is not None else None

    def _summarised(self, run: "LiveRun", begin: int) -> Rewritten | None:
        """The view with a summary in place of the blocks before the one at `begin`; None when none was written."""
        if self.by is not None:
            writer = self.by()
            text, origin = self._attempted(_other(writer, run), lambda reason: None), Provenance(self.author, writer.name, len(run.view.head))
        elif run.full:
            return None
        else:
            text = self._attempted(lambda asked: run.write(Purpose.SUMMARY, asked), run.discard)
            origin = Provenance("policy", run.policy.name, len(run.view.head), run.last)
        if text is None:
            return None
        stays = [one for one in run.view.blocks[:begin] if one.pinned]
        view = View(run.view.head, (Block((Message("user", _SHOWN + text),)), *stays, *run.view.blocks[begin:]))
        longer = run.full and estimate(view.messages) >= estimate(run.view.messages)
        return None if longer else Rewritten(RewriteKind.SUMMARY, view, origin)

    def _attempted(self, write: _Write, discard: Callable[[str], None]) -> str | None:
        """The first attempt that is a summary; None when none is, or there is no room for one."""
        for _ in range(self.attempts):
            said = write(Message("user", self.asked))
            if said is None:
                return None
            wrong = self._wrong(said)
            if isinstance(said, Message) and not wrong:
                return said.content
            discard(wrong)
        return None

    def _wrong(self, said: Action) -> str:
        """Why an attempt is no summary; empty when it is one."""
        if isinstance(said, InvalidAction):
            return said.reason
        if said.tool_calls:
            return "a summary calls no tool"
        if not (said.content or "").strip():
            return "the summary is empty"
        return f"the summary is longer than {self.most} tokens" if estimate((said,)) > self.most else ""


def _other(writer: Policy, run: "LiveRun") -> _Write:
    """How another writer is asked: about the same view, with the tools that the calls in it are of."""
    with blamed(writer.name):
        writer.reset(run.tools, run.session.world.seed)

    def write(asked: Message) -> Action | None:
        try:
            with blamed(writer.name):
                return writer.write((*run.view.messages, asked))
        except ContextFull:
            return None

    return write
