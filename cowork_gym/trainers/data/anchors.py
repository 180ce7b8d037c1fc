"""Anchors: which steps of a group began at the same point. The world's state tells a part of that, what was read tells the rest.

Reads do not change the world, so that an agent that has found out nothing and one that has found out everything stand at the same fingerprint.
GiGPO (arXiv:2505.10978) compares steps that saw the same observation; here a step's anchor is the state before it, by default together with a
hash of the information that its run was shown until then.
"""

import hashlib
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import NamedTuple

from cowork_gym.core.canonical import canonical, utf8
from cowork_gym.core.episode import Episode, Turn
from cowork_gym.core.errors import ToolError
from cowork_gym.core.messages import Message, ToolCall
from cowork_gym.core.trajectory import ROOT, Run
from cowork_gym.trainers.data.rollouts import Rollout, Step

__all__ = ["AnchorForm", "Clusters", "Moment", "anchor_of", "clusters", "moments"]

_LOG = logging.getLogger(__name__)
_WHOLE = 2**256


class AnchorForm(StrEnum):
    """What two steps must share to be compared."""

    COMBINED = "combined"
    """State and information."""
    WORLD = "world"
    """The state alone."""


class Moment(NamedTuple):
    """Where a run stood when its policy was asked."""

    taken: int
    """Turns that the run had taken, those before a branch included."""
    anchor: str
    """Fingerprint of the world; empty where no record tells it."""
    information: str
    """Hash of what the run had been shown."""


@dataclass(frozen=True, slots=True)
class Clusters:
    """How the steps of some rollouts share anchors."""

    keys: tuple[tuple[str | None, ...], ...]
    """For each rollout the key of each step, segment after segment; None where the anchor is missing. Keys never cross groups."""
    sizes: Mapping[int, int] = field(default_factory=dict)
    """How many clusters there are of each size."""
    missing: int = 0
    """Steps without an anchor, which are compared with nothing."""


def moments(episode: Episode, run: Run) -> Iterator[Moment]:
    """Where a run stood at each of its generations, in order.

    Of what it was shown, order and repetition do not count: the same results, read in another order, are the same information. A result counts
    with its tool and arguments; what the policy wrote itself does not count, and neither do notes and summaries that stand for older messages.
    """
    seen, past = _Seen(), _past(episode, run)
    seen.add(_opening(episode, run))
    for turn in past:
        seen.add(_shown(turn))
    taken, anchor = len(past), _state_at_start(episode, run)
    for one in run.generations:
        yield Moment(taken, anchor, seen.hash)
        if one.turn is not None:
            turn = episode.turns[one.turn]
            taken, anchor = taken + 1, turn.state
            seen.add(_shown(turn))


def anchor_of(step: Step, form: AnchorForm = AnchorForm.COMBINED) -> str | None:
    """What a step is compared by within its group, as text; None where its anchor is missing. A plan is never compared with an action."""
    if not step.anchor:
        return None
    return f"{step.purpose}:{step.anchor}:{step.information}" if form is AnchorForm.COMBINED else f"{step.purpose}:{step.anchor}"


def clusters(rollouts: Iterable[Rollout], form: AnchorForm = AnchorForm.COMBINED) -> Clusters:
    """The anchors of all steps of valid rollouts, and how large their clusters are, which is logged too: with long histories, few are shared.

    Steps of segments that are dropped take no part, and a rollout that is not valid has none.
    """
    keys, met, missing = [], Counter[str](), 0
    for rollout in rollouts:
        own = [anchor_of(step, form) for segment in rollout.live for step in segment.steps]
        full = [None if one is None else f"{rollout.group}:{one}" for one in own]
        met.update(one for one in full if one is not None)
        missing += full.count(None)
        keys.append(tuple(full))
    sizes = dict(sorted(Counter(met.values()).items()))
    _LOG.info("anchors (%s): %d steps without one, clusters by size: %s", form, missing, sizes)
    return Clusters(tuple(keys), sizes, missing)


class _Seen:
    """A set of messages with a hash that costs no more as it grows: the sum of the messages' own hashes."""

    def __init__(self) -> None:
        self._known: set[int] = set()
        self._sum = 0

    def add(self, items: Iterable[Sequence[object]]) -> None:
        for item in items:
            number = int.from_bytes(hashlib.sha256(utf8(canonical(item))).digest())
            if number not in self._known:
                self._known.add(number)
                self._sum = (self._sum + number) % _WHOLE

    @property
    def hash(self) -> str:
        return f"{self._sum:064x}"


def _past(episode: Episode, run: Run) -> Sequence[Turn]:
    """The turns that a run took over from the episode that this one was branched from."""
    first = episode.origin.turn if episode.origin and run.id == ROOT else 0
    return [one for one in episode.turns[:first] if one.run == ROOT]


def _opening(episode: Episode, run: Run) -> Iterator[Sequence[object]]:
    """What a run was shown before its first turn: its system prompt, and the request or what it was asked to do."""
    given = run.generations[0].given if run.generations else ()
    shown = (*(one for one in given if one.role == "system"), *episode.opening) if run.id == ROOT else given
    return (_said(one) for one in shown if one.role != "assistant")


def _shown(turn: Turn) -> Iterator[Sequence[object]]:
    """What came back in a turn; a result together with the call that it answers."""
    calls = {one.id: one for one in turn.said.tool_calls}
    for one in turn.observation:
        call = calls.get(one.tool_call_id) if one.role == "tool" else None
        yield _said(one) if call is None else ("tool", call.name, _arguments(call), one.content)


def _said(one: Message) -> Sequence[object]:
    return (one.role, one.name, one.content)


def _arguments(call: ToolCall) -> object:
    try:
        return call.decoded()
    except ToolError:  # no JSON object: its text is all there is
        return call.arguments


def _state_at_start(episode: Episode, run: Run) -> str:
    """The state when a run's policy was asked for the first time.

    A child begins in the middle of its parent's turn. What that turn executed before has no fingerprint of its own, so that a child which begins
    behind it has no anchor for its first turn.
    """
    if run.parent is None or run.fork is None:
        first = episode.origin.turn if episode.origin else 0
        return episode.turns[first - 1].state if first else episode.start
    parent = episode.runs[run.parent]
    turn = parent.generations[run.fork].turn
    dispatches = episode.turns[turn].dispatches if turn is not None else ()
    begun = next((at for at, one in enumerate(dispatches) if one.id == run.call), None)
    if begun is None or any(one.sequence is not None and not one.replayed for one in dispatches[:begun]):
        return ""
    calls = {one.id for one in dispatches[:begun]}
    siblings = {one.id for one in episode.runs if (one.parent, one.fork) == (run.parent, run.fork) and one.call in calls}
    last = max((one.index for one in episode.turns if one.run in siblings), default=None)
    if last is not None:
        return episode.turns[last].state
    return next(islice(moments(episode, parent), run.fork, None)).anchor
