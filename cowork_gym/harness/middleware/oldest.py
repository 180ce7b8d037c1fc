"""What is dropped from a view when its oldest turns go, and what stays all the same: the word of the user, and summaries."""

from typing import TYPE_CHECKING

from cowork_gym.core.trajectory import ROOT, RewriteKind
from cowork_gym.harness.view import Block, Rewritten, View

if TYPE_CHECKING:
    from cowork_gym.harness.run import LiveRun

__all__ = ["droppable", "since", "summarised", "taken", "without"]


def summarised(block: Block) -> bool:
    """Whether a block is a summary: a message from no turn that nobody answered."""
    return [one.role for one in block.messages] == ["user"]


def droppable(block: Block) -> bool:
    """Whether a block may be dropped: it is not the user's word, and no summary of what was dropped before."""
    return not block.pinned and not summarised(block)


def without(view: View, begin: int) -> View:
    """A view without what may be dropped of its blocks before the one at `begin`."""
    return View(view.head, (*(one for one in view.blocks[:begin] if not droppable(one)), *view.blocks[begin:]))


def taken(run: "LiveRun") -> int:
    """How many turns a run has taken, those before a branch included."""
    return run.session.progress.own if run.number == ROOT else run.spent.turns


def since(run: "LiveRun", first: int) -> Rewritten | None:
    """The view from the run's turn `first` on, counted from 0; None when it shows nothing older. Plans go with the turns that they stand among."""
    blocks = run.view.blocks
    turns = [at for at, one in enumerate(blocks) if one.messages[0].role == "assistant"]
    older = len(turns) - (taken(run) - first)  # counted from the end: the latest turns are all visible
    if older <= 0:
        return None
    view = without(run.view, turns[older] if older < len(turns) else len(blocks))
    return None if view == run.view else Rewritten(RewriteKind.WINDOW, view)
