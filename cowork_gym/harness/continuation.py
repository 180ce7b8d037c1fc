"""A reference played on from the middle of somebody else's episode: from the part that is open, and without what was done already."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from cowork_gym.core.canonical import canonical, encode
from cowork_gym.core.episode import Dispatch, Turn
from cowork_gym.core.errors import ToolError
from cowork_gym.core.ledger import AGENT, Effect, Entry, Ledger
from cowork_gym.core.messages import Message, ToolCall, final
from cowork_gym.core.task import Execution
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.progress import Checkpoint
from cowork_gym.harness.policies.blanks import fill

__all__ = ["Known", "LeftOut", "Rehearsal", "learn", "played_on"]


class LeftOut(StrEnum):
    """What of a reference is not done once more when the episode has it already."""

    DONE = "done"
    """Writes that did their work, and questions whose answers were heard."""
    NOTHING = "nothing"
    TRIED = "tried"
    """Every call that was made, whatever came of it, and these questions: what met a fault that was planned does not meet it again."""


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What became of a reference that was played from the beginning."""

    turns: tuple[Turn, ...]
    """One for each of its lines, as far as it came."""
    starts: tuple[int, ...]
    """The line with which it begins each part of the task that it came to."""


Known = Mapping[str, Rehearsal]
"""Rehearsals by the reference's name."""


def learn(env: CoworkEnv, start: Checkpoint) -> Known:
    """Rehearse the references of a task.

    Args:
        env: An environment of the task; it is left where the last rehearsal ended.
        start: The beginning.
    """
    known = {}
    for reference in env.task.references:
        env.restore(start)
        played_on(env, reference, Rehearsal((), (0,)), LeftOut.NOTHING)
        progress = env.progress
        known[reference.name] = Rehearsal(progress.turns, (0, *(stage.turns for stage in progress.stages)))
    return known


def played_on(env: CoworkEnv, reference: Execution, rehearsal: Rehearsal, left: LeftOut) -> int:
    """Play a reference on from where an episode stands, to its end.

    Blanks in it are filled in from what its own calls give. For one that it does not make, because it belongs to a part that is closed or was
    made already, that is what the equal call of the episode gave, or else what it gave in the rehearsal.

    Args:
        env: The environment, at that moment.
        reference: What to play; it begins with the line of the part that is open.
        rehearsal: What became of it from the beginning.
        left: What is left out because the episode has it.

    Returns:
        How many calls and questions were left out.
    """
    session, part = env.session, len(env.progress.stages)
    begin = rehearsal.starts[part] if part < len(rehearsal.starts) else len(reference.actions)
    ledger = session.world.ledger
    made, skipped = _made(ledger, lambda one: one.done), _made(ledger, _COUNTS[left])
    heard = {fact for turn in env.progress.turns for fact in turn.heard}
    results, left_out = list[Message](), 0
    for at, line in enumerate(reference.actions):
        action = fill(line, results)
        rehearsed = rehearsal.turns[at] if at < len(rehearsal.turns) else None
        if at < begin:
            dispatches = rehearsed.dispatches if rehearsed else ()
            results += [_found(call, one, made) for call, one in zip(action.tool_calls, dispatches, strict=False)]
            continue
        if left is not LeftOut.NOTHING and not action.tool_calls and rehearsed is not None and rehearsed.heard and heard.issuperset(rehearsed.heard):
            left_out += 1
            continue
        given = {number: one for number, call in enumerate(action.tool_calls) if (one := _again(call, skipped)) is not None}
        left_out += len(given)
        results += _taken(env, action, given)
        if session.progress.ending is not None:
            return left_out
    session.take(final(""))
    return left_out


def _taken(env: CoworkEnv, action: Message, given: Mapping[int, Message]) -> list[Message]:
    """What the calls of an action give, in order: those that are left out what they gave before, the others what they give now."""
    calls = tuple(call for number, call in enumerate(action.tool_calls) if number not in given)
    back: Sequence[Message] = ()
    if calls or not action.tool_calls:
        back = env.session.take(replace(action, tool_calls=calls)).observation
    fresh = iter(back)
    return [one for number in range(len(action.tool_calls)) if (one := given.get(number) or next(fresh, None)) is not None]


_COUNTS: Mapping[LeftOut, Callable[[Entry], bool]] = {
    LeftOut.DONE: lambda one: one.done and one.effect is Effect.WRITE, LeftOut.NOTHING: lambda one: False, LeftOut.TRIED: lambda one: True,
}


def _made(ledger: Ledger, counts: Callable[[Entry], bool]) -> dict[str, list[Message]]:
    """What the agent's calls gave that count, by tool and arguments, in order."""
    made: dict[str, list[Message]] = {}
    for entry in ledger.entries:
        if entry.actor == AGENT and counts(entry):
            made.setdefault(canonical([entry.tool, entry.arguments]), []).append(Message("tool", encode(entry.outcome), name=entry.tool))
    return made


def _again(call: ToolCall, made: Mapping[str, list[Message]]) -> Message | None:
    """What an equal call gave, which then counts for this one; None when there is none left."""
    try:
        waiting = made.get(canonical([call.name, call.decoded()]))
    except (ToolError, ValueError, TypeError):
        return None
    return waiting.pop(0) if waiting else None


def _found(call: ToolCall, rehearsed: Dispatch, made: Mapping[str, list[Message]]) -> Message:
    """What a call of a part that is closed gave: in the episode, or else in the rehearsal."""
    return _again(call, made) or Message("tool", rehearsed.result, name=rehearsed.tool)
