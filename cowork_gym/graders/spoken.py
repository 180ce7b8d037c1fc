"""What was said in an episode, held against its task and itself: request, replies, the parts that were closed, and the final answer."""

from collections.abc import Iterator

from cowork_gym.core.canonical import decode
from cowork_gym.core.episode import Ending, Episode, StageEnd, Turn
from cowork_gym.core.ledger import AGENT, ENVIRONMENT
from cowork_gym.core.messages import Message
from cowork_gym.core.task import Stage, Task
from cowork_gym.core.trajectory import ROOT

__all__ = ["contradiction_of_words"]


def contradiction_of_words(episode: Episode, task: Task) -> str | None:
    """Where what was said contradicts the task or itself, or None.

    It began with the task's request. A message without calls got the user's reply, closed a part of the task and got the next request, or
    ended the episode, and then it is the answer. Facts are told by replies alone. When a part was closed, what the task says happened
    to the world, and nothing else did.
    """
    return next(_contradictions(episode, task), None)


def _contradictions(episode: Episode, task: Task) -> Iterator[str]:
    if episode.task != task.id:
        yield f"the episode is of the task {episode.task}, not of {task.id}"
    if episode.opening != (Message("user", task.request),):
        yield "the episode began with another request than that of its task"
    closing = {end.turns - 1: (end, stage) for end, stage in zip(episode.stages, task.stages, strict=False)}
    if [*closing] != sorted(closing) or len(closing) != len(episode.stages) or not all(0 <= at < len(episode.turns) for at in closing):
        yield "the parts of the task were not closed one after the other"
    last = max((turn.index for turn in episode.turns if turn.run == ROOT), default=-1)
    for turn in episode.turns:
        if turn.index in closing:
            yield from _of_part(turn, *closing[turn.index])
        elif turn.action is None or turn.invalid is not None or turn.raw is not None:
            yield from _of_invalid(turn)
        elif turn.action.tool_calls:
            if turn.heard:
                yield f"turn {turn.index} calls tools, and a user told {', '.join(turn.heard)}"
        else:
            yield from _of_reply(turn, turn.index == last)
    yield from _of_answer(episode, episode.turns[last] if last >= 0 else None)
    yield from _of_moves(episode, task)


def _of_part(turn: Turn, end: StageEnd, stage: Stage) -> Iterator[str]:
    if turn.run != ROOT or turn.action is None or turn.action.tool_calls or turn.action.content != end.answer:
        yield f"turn {turn.index} is not the message that closed a part of the task"
    if turn.observation != (Message("user", stage.request),) or turn.heard:
        yield f"turn {turn.index} closed a part of the task, and what came back is not the next request"


def _of_invalid(turn: Turn) -> Iterator[str]:
    if turn.action is not None:
        yield f"turn {turn.index} has an action and was refused as a whole"
    elif turn.invalid is None or turn.raw is None or turn.dispatches or turn.heard:
        yield f"turn {turn.index} has no action, and does not tell as a refused one does"
    elif [one.role for one in turn.observation] != ["user"] or _reason(turn.observation[0].content or "") != turn.invalid:
        yield f"turn {turn.index} was refused, and what came back is not why"


def _reason(text: str) -> object:
    try:
        told = decode(text)
    except ValueError:
        return None
    return told.get("error") if isinstance(told, dict) else None


def _of_reply(turn: Turn, last: bool) -> Iterator[str]:
    """A message without calls that closed no part."""
    if not turn.observation:
        if turn.heard:
            yield f"turn {turn.index}: a user who said nothing told {', '.join(turn.heard)}"
        if turn.run == ROOT and not last:
            yield f"turn {turn.index} calls nothing and got no reply, and the episode went on"
        return
    (said, *more), empty = turn.observation, not (turn.observation[0].content or "").strip()
    if turn.run != ROOT or more or said != Message("user", said.content):
        yield f"turn {turn.index} calls nothing, and what came back is no user's reply"
    if turn.heard and empty:
        yield f"turn {turn.index}: a user who said nothing told {', '.join(turn.heard)}"


def _of_answer(episode: Episode, last: Turn | None) -> Iterator[str]:
    if episode.ending is not Ending.FINAL:
        if episode.answer is not None:
            yield f"the episode has a final answer and ended by {episode.ending}"
    elif last is None or last.action is None or last.action.tool_calls or last.observation or last.action.content != episode.answer:
        yield "the final answer is not the last message"


def _of_moves(episode: Episode, task: Task) -> Iterator[str]:
    """The entries of what happened by itself: those of each part that was closed, behind its own."""
    due = {
        end.entries + number: (f"{ENVIRONMENT}_{one.op}", one.table, one.key)
        for end, stage in zip(episode.stages, task.stages, strict=False) for number, one in enumerate(stage.changes, 1)
    }
    for entry in episode.ledger.entries:
        expected = due.pop(entry.sequence, None) if due else None
        if expected is None:
            if entry.actor != AGENT:
                yield f"ledger entry {entry.sequence} ({entry.tool}) is of the world, of which the task does not say so"
        elif (entry.tool, entry.arguments.get("table"), entry.arguments.get("key")) != expected or entry.actor != ENVIRONMENT:
            yield f"ledger entry {entry.sequence} ({entry.tool}) is not what the task says happened then"
    if due:
        yield f"what the task says happened between two parts has no ledger entry: {', '.join(one[0] for one in due.values())}"
