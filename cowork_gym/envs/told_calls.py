"""What the ledger and the turns tell of each call, held against what the tools of the blueprint can do."""

from collections import Counter
from collections.abc import Iterator

from cowork_gym.core.episode import Episode, Turn
from cowork_gym.core.errors import ErrorKind
from cowork_gym.core.ledger import AGENT, Entry
from cowork_gym.core.trajectory import ROOT
from cowork_gym.envs.blueprint import Blueprint
from cowork_gym.envs.faults import Met

__all__ = ["contradiction_of_tools"]

_KINDS = {kind.value: kind.status for kind in ErrorKind}


def contradiction_of_tools(episode: Episode, blueprint: Blueprint) -> str | None:
    """Where entries or states contradict the tools, or None.

    An entry has its tool's service and effect, the status of its refusal, and its tool's audit collection where it did its work. A call
    that fails by plan did so. A turn whose calls could change nothing left the state as it was.
    """
    return next(_contradictions(episode, blueprint), None)


def _contradictions(episode: Episode, blueprint: Blueprint) -> Iterator[str]:
    number = Counter[str]()
    for entry in episode.ledger.entries:
        if entry.actor != AGENT:
            continue
        if not _possible(entry, blueprint):
            yield f"ledger entry {entry.sequence} is of no call that {entry.tool} could answer so"
        if blueprint.faults:
            number[entry.tool] += 1
            kind = blueprint.faults.get((entry.tool, number[entry.tool]))
            if kind is not None and not _failed(entry, Met(entry.tool, kind)):
                yield f"ledger entry {entry.sequence} ({entry.tool}) had to fail by plan"
    yield from _of_states(episode, blueprint)


def _possible(entry: Entry, blueprint: Blueprint) -> bool:
    """Whether service, effect, status and audit are those of the tool."""
    door, refusal = blueprint.tools.get(entry.tool), entry.refusal
    if door is None or entry.service != door.tool.service or entry.effect != door.tool.effect or not entry.dispatch:
        return False
    if refusal is not None and (_KINDS.get(refusal) != entry.status or not isinstance(entry.outcome, dict) or entry.outcome.get("type") != refusal):
        return False
    audit = door.tool.audit
    if refusal is None:
        return entry.status == 200 and entry.audit == audit and (entry.record is None) == (audit is None)
    lost = refusal == ErrorKind.TIMEOUT and (entry.audit, entry.record is None) == (audit, audit is None)
    return lost or (entry.audit is None and entry.record is None)


def _failed(entry: Entry, met: Met) -> bool:
    """Whether a call failed by plan. One that would have lost its answer may have been refused before."""
    error = met.error()
    return (entry.refusal == error.kind and entry.outcome == error.outcome()) or (met.after and entry.refusal is not None)


def _of_states(episode: Episode, blueprint: Blueprint) -> Iterator[str]:
    """The recorded states; between a turn and the next of another run, calls may be under way that are told later."""
    closed = {end.turns - 1: end.fingerprint for end in episode.stages}
    before, run = episode.start, ROOT
    for turn in episode.turns:
        if before and turn.run == run:
            if turn.index in closed:
                if closed[turn.index] != before:
                    yield f"turn {turn.index} closed a part of the task in another state than that of the turn before it"
            elif turn.state and turn.state != before and _looks(turn, blueprint):
                yield f"turn {turn.index} could change nothing, and left another state than that of the turn before it"
        before, run = turn.state, turn.run


def _looks(turn: Turn, blueprint: Blueprint) -> bool:
    """Whether all that a turn executed is reading, and sets no marks."""
    doors = [blueprint.tools.get(one.tool) for one in turn.dispatches if one.sequence is not None and not one.replayed]
    return all(door is not None and door.tool.effect == "read" and not door.tool.marks for door in doors)
