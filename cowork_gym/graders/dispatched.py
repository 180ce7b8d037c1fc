"""What each turn called, what was dispatched for it, what the ledger says of it, and what came back, held against each other."""

from collections.abc import Iterator, Sequence, Set

from cowork_gym.core.canonical import canonical, decode, exact
from cowork_gym.core.episode import Dispatch, Episode, Turn
from cowork_gym.core.errors import ToolError
from cowork_gym.core.ledger import Entry
from cowork_gym.core.messages import ToolCall
from cowork_gym.core.trajectory import ROOT

__all__ = ["contradiction_of_calls", "cut"]


def contradiction_of_calls(episode: Episode) -> str | None:
    """Where calls, dispatches, ledger and tool messages of an episode contradict each other, or None.

    A turn has one dispatch for each call, in order, unless it was interrupted, which nothing follows. A dispatch is of its call's tool,
    under its call's id where that was free; its entry has the call's arguments and the result, and the agent read that result. What has
    no entry was refused, or answered by the harness.
    """
    return next(_contradictions(episode), None)


def cut(turn: Turn) -> bool:
    """Whether a turn was interrupted in its calls, so that nothing came back."""
    return turn.action is not None and bool(turn.action.tool_calls) and not turn.observation


def _contradictions(episode: Episode) -> Iterator[str]:
    entries, bodies = episode.ledger.entries, [link.body for link in episode.ledger.links()]
    bodies.reverse()
    used = {one.id for turn in episode.turns for one in turn.dispatches if not one.replayed}
    for turn in episode.turns:
        if turn.dispatches or (turn.action is not None and turn.action.tool_calls):
            yield from _of_turn(turn, used, entries, bodies)
    yield from _of_order(episode, len(used))
    yield from _of_cuts(episode)


def _of_turn(turn: Turn, used: Set[str], entries: Sequence[Entry], bodies: Sequence[str]) -> Iterator[str]:
    calls = turn.action.tool_calls if turn.action is not None else ()
    if len(turn.dispatches) != len(calls) and (turn.observation or len(turn.dispatches) > len(calls)):
        yield f"turn {turn.index} has {len(calls)} calls and {len(turn.dispatches)} dispatches"
    for call, one in zip(calls, turn.dispatches, strict=False):
        if one.tool != call.name:
            yield f"turn {turn.index}: {call.name} was called, and {one.tool} was dispatched"
        if one.id != call.id and not (_numbered(one.id, call.id or "") and call.id in used):
            yield f"turn {turn.index}: the call {call.id} was dispatched as {one.id}"
        if found := _of_entry(call, one, entries, bodies):
            yield f"turn {turn.index}: {found}"
    if turn.observation:
        yield from _of_observation(turn, calls)


def _of_order(episode: Episode, ids: int) -> Iterator[str]:
    """Ids come once, and a run's entries one after the other."""
    made, last = 0, dict[int, int]()
    for turn in episode.turns:
        for one in turn.dispatches:
            made += not one.replayed
            if one.sequence is not None and not one.replayed:
                if one.sequence <= last.get(turn.run, 0):
                    yield f"turn {turn.index}: ledger entry {one.sequence} of dispatch {one.id} is older than one before it"
                last[turn.run] = one.sequence
    if ids < made:
        yield "two dispatches have the same id"


def _numbered(id: str, wire: str) -> bool:
    return id.startswith(f"{wire}~") and id[len(wire) + 1 :].isdecimal()


def _of_entry(call: ToolCall, one: Dispatch, entries: Sequence[Entry], bodies: Sequence[str]) -> str | None:
    """What a dispatch says of its entry, or of having none."""
    if one.sequence is None:
        told = one.status >= 400 or one.inner
        return None if told and not one.replayed else f"dispatch {one.id} ({one.tool}) was executed and has no ledger entry"
    if one.inner:
        return f"dispatch {one.id} ({one.tool}) was answered by the harness and has a ledger entry"
    if not 0 < one.sequence <= len(entries):
        return f"dispatch {one.id} ({one.tool}) has no entry: the ledger ends before {one.sequence}"
    entry, body = entries[one.sequence - 1], bodies[one.sequence - 1]
    if one.replayed and (entry.dispatch, entry.tool, entry.status) != (one.id, one.tool, one.status):
        return f"dispatch {one.id} ({one.tool}) repeats another call than that of ledger entry {one.sequence}"
    if not _called(call, entry, body):
        return f"ledger entry {one.sequence} ({one.tool}) has other arguments than the call {call.id}"
    if not body.endswith(f'"outcome":{one.result}}}') and not _shows(one.result, entry):
        return f"dispatch {one.id} ({one.tool}) has another result than ledger entry {one.sequence}"
    return None


def _called(call: ToolCall, entry: Entry, body: str) -> bool:
    """Whether an entry has a call's arguments: in the same spelling, as most of them are, or as the same values."""
    if isinstance(call.arguments, str) and call.arguments[:1] == "{" and f'"arguments":{call.arguments},"status":' in body:
        return True
    try:
        return canonical(exact(call.decoded())) == canonical(entry.arguments)
    except (ToolError, ValueError, TypeError):
        return False


def _shows(result: str, entry: Entry) -> bool:
    """Whether a result has an entry's outcome: an answer that was sent again may spell its numbers otherwise."""
    try:
        return canonical(decode(result)) == canonical(entry.outcome)
    except (ValueError, TypeError):
        return False


def _of_observation(turn: Turn, calls: tuple[ToolCall, ...]) -> Iterator[str]:
    """The tool messages of a turn, one for each dispatch."""
    if len(turn.observation) != len(turn.dispatches):
        yield f"turn {turn.index}: {len(turn.dispatches)} calls were dispatched, and {len(turn.observation)} messages came back"
    for call, one, seen in zip(calls, turn.dispatches, turn.observation, strict=False):
        if (seen.content, seen.tool_call_id, seen.name, seen.role, seen.tool_calls) != (one.result, call.id, call.name, "tool", ()):
            yield f"turn {turn.index}: what came back for the call {call.id} is not the result of dispatch {one.id}"


def _of_cuts(episode: Episode) -> Iterator[str]:
    """Turns that came to nothing, though their run went on. A harness never goes on; whoever drives an environment by hand may."""
    if not any(map(cut, episode.turns)):
        return
    first, seen = episode.origin.turn if episode.origin else 0, set[int]()
    for turn in reversed(episode.turns[first:]) if episode.runs else ():
        if turn.run in seen and cut(turn):
            yield f"turn {turn.index} called tools, and nothing came back"
        seen.add(turn.run)
    own = [one for one in episode.turns if one.run == ROOT]
    for turn in own[:-1]:
        if cut(turn) and turn.action is not None and len(turn.dispatches) == len(turn.action.tool_calls):
            yield f"turn {turn.index} called tools that answered, and nothing came back"
