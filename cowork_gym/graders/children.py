"""Child runs and tools of the harness, held against the dispatches that asked for them and the tools that were offered."""

from collections.abc import Iterator, Mapping, Set

from cowork_gym.core.canonical import encode
from cowork_gym.core.episode import Dispatch, Ending, Episode, Turn
from cowork_gym.core.errors import ErrorKind, ToolError
from cowork_gym.core.trajectory import ROOT, Run
from cowork_gym.graders.dispatched import cut

__all__ = ["contradiction_of_children"]

_DELEGATE = "delegate"
"""The tool whose answer is exactly what a child handed back; one of another's making may answer as it likes."""
_OVER = ErrorKind.EPISODE_OVER.status


def contradiction_of_children(episode: Episode, permitted: Set[str]) -> str | None:
    """Where runs contradict the dispatches, or None.

    The harness answers its own tools and no others, and of those, as of the task's, only what a run was offered is dispatched. A child
    was asked for by such a dispatch of its parent, which holds what the child handed back: its last message.

    Args:
        episode: The record.
        permitted: The task's tools.
    """
    return next(_contradictions(episode, permitted), None)


def _contradictions(episode: Episode, permitted: Set[str]) -> Iterator[str]:
    first, own = episode.origin.turn if episode.origin else 0, _own(episode)
    yield from _of_generations(episode, first)
    for run in episode.runs[:1]:
        if (run.call, run.handoff, run.result, run.ending) != ("", "", None, ""):
            yield f"run {ROOT} is the root and was asked for, or handed something back"
    offered = [frozenset(run.tools) for run in episode.runs]
    for turn in episode.turns:
        if turn.tokens < 0:
            yield f"turn {turn.index} has {turn.tokens} tokens"
        yield from (
            f"dispatch {one.id} was answered by the harness, which has no tool {one.tool}" for one in turn.dispatches
            if one.inner and (one.tool in permitted or (turn.index >= first and one.tool not in own))
        )
        if turn.index >= first and 0 <= turn.run < len(offered):
            yield from _of_offers(turn, own, offered[turn.run])
    if len(episode.runs) > 1 or _DELEGATE in own:
        yield from _of_families(episode, first)


def _of_generations(episode: Episode, first: int) -> Iterator[str]:
    """What generations said, and the turns that they led to, none of which a branch took over."""
    turns = episode.turns
    if first > 0 and turns[first - 1].run != ROOT:
        yield f"the episode took over {first} turns, after which a child run was under way"
    for run in episode.runs:
        for segment in run.segments:
            for led in segment.generations:
                if led.turn is not None and (led.turn < first or (led.said is not turns[led.turn].action and led.said != turns[led.turn].said)):
                    yield f"turn {led.turn} was taken over, or says something else than the generation that led to it"


def _of_offers(turn: Turn, own: Set[str], offered: Set[str]) -> Iterator[str]:
    """What was dispatched, and what the run was offered. The harness answers what is its own, unless the calls were spent."""
    for one in turn.dispatches:
        if (one.inner or one.sequence is not None) and one.tool not in offered:
            yield f"dispatch {one.id} is of {one.tool}, which run {turn.run} was not offered"
        if one.tool in own and not one.inner and one.status != _OVER and one.tool in offered:
            yield f"dispatch {one.id} is of {one.tool}, and the harness did not answer it"


def _own(episode: Episode) -> frozenset[str]:
    """The tools of the harness, as its manifest says."""
    manifest = episode.composition.manifest if episode.composition else {}
    named = [one["name"] for one in manifest.get("tools") or () if isinstance(one, Mapping) and "name" in one]
    return frozenset([*named, *(["read_skill"] if manifest.get("skills") else [])])


def _of_families(episode: Episode, first: int) -> Iterator[str]:
    handed = {(run.parent, run.call) for run in episode.runs}
    for turn in episode.turns[first:]:
        for one in turn.dispatches:
            if one.tool == _DELEGATE and one.inner and one.status < 400 and (turn.run, one.id) not in handed:
                yield f"dispatch {one.id} handed work to a child run, which there is not"
    for run in episode.runs[1:]:
        yield from _of_result(run, [turn for turn in episode.turns[first:] if turn.run == run.id])
        asked = next((one.turn for one in episode.runs[run.parent or 0].generations if one.index == run.fork), None)
        if asked is not None:
            yield from _of_asking(run, episode.turns[asked], episode.runs[run.parent or 0])


def _of_asking(run: Run, turn: Turn, parent: Run) -> Iterator[str]:
    """A child, and the turn of its parent that asked for it."""
    at, asked = next(((at, one) for at, one in enumerate(turn.dispatches) if one.id == run.call), (0, None))
    if asked is None:
        if not cut(turn):
            yield f"run {run.id} was asked for by the call {run.call}, which turn {turn.index} has not"
    elif not asked.inner:
        yield f"run {run.id} was asked for by the call {run.call}, which the harness did not answer"
    elif asked.tool == _DELEGATE:
        if turn.action is None or not _tells(run, asked, turn, at):
            yield f"run {run.id} was asked for and handed back otherwise than the call {run.call} says"
        if not {*run.tools} <= {*parent.tools}:
            yield f"run {run.id} was offered tools that its parent was not"


def _tells(run: Run, asked: Dispatch, turn: Turn, at: int) -> bool:
    """Whether the call has what the child was asked to do, and its result what the child handed back."""
    try:
        task = turn.action.tool_calls[at].decoded().get("task") if turn.action else None
    except (ToolError, IndexError):
        return False
    return task == run.handoff and asked.result == encode({"result": run.result, "ending": run.ending})


def _of_result(run: Run, turns: list[Turn]) -> Iterator[str]:
    last = turns[-1].action if turns else None
    answered = last is not None and not last.tool_calls
    if (run.result is not None) is not (run.ending == Ending.FINAL):
        yield f"run {run.id} ended by {run.ending or 'nothing'} and {'handed back nothing' if run.result is None else 'handed something back'}"
    elif run.result is not None and not (answered and last is not None and (last.content or "") == run.result):
        yield f"run {run.id} handed back another text than its last message"
