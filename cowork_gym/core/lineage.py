"""Whether runs, segments and generations agree with each other and with the turns: asked before sealing and by whoever reads a record."""

import re
from collections.abc import Iterator, Sequence

from cowork_gym.core.episode import Episode, Turn
from cowork_gym.core.trajectory import ROOT, Generation, Prefix, Purpose, Rewrite, Run, Segment

__all__ = ["contradiction_of_runs"]

_SHA256 = re.compile("[0-9a-f]{64}")


def contradiction_of_runs(episode: Episode) -> str | None:
    """The first contradiction in what an episode tells of its runs, in one sentence that names the place; None when there is none.

    An episode without runs has little that could contradict. Turns that a branched episode took over need neither a run nor a generation.
    """
    return next(_contradictions(episode), None)


def _contradictions(episode: Episode) -> Iterator[str]:
    for at, run in enumerate(episode.runs):
        yield from _of_parents(run, at, episode.runs)
        yield from _of_segments(run)
    yield from _of_turns(episode)
    for run in episode.runs:
        for number, segment in enumerate(run.segments):
            where = f"run {run.id}, segment {number}"
            yield from _of_generations(segment, where, run.id, episode.turns)
            yield from _of_tokens(segment, where)
        yield from _of_order(run)
        yield from _of_rewrites(run)
    if episode.runs:
        led = {one.turn for run in episode.runs for one in run.generations}
        first = episode.origin.turn if episode.origin else 0
        yield from (f"turn {turn.index} comes from no generation of run {turn.run}" for turn in episode.turns[first:] if turn.index not in led)


def _of_turns(episode: Episode) -> Iterator[str]:
    origin, first = episode.origin, 0
    if origin is not None:
        first = origin.turn
        if not 0 <= first <= len(episode.turns):
            yield f"the episode took over {first} turns, and has {len(episode.turns)}"
        if not _SHA256.fullmatch(origin.seal):
            yield "the seal of the episode that this one was branched from is no sha256"
    for turn in episode.turns:
        if turn.state and not _SHA256.fullmatch(turn.state):
            yield f"the state after turn {turn.index} is no sha256"
        if turn.run < ROOT or (episode.runs and turn.index >= first and turn.run >= len(episode.runs)):
            yield f"turn {turn.index} is of run {turn.run}, which there is not"


def _of_parents(run: Run, at: int, runs: Sequence[Run]) -> Iterator[str]:
    if run.id != at:
        yield f"run {run.id} stands where run {at} belongs"
    if run.id == ROOT:
        if (run.parent, run.fork) != (None, None):
            yield f"run {ROOT} is the root and has a parent"
        return
    if run.parent is None or not 0 <= run.parent < run.id:
        yield f"run {run.id} has no parent that began before it"
    elif not any(one.kept and one.index == run.fork for one in runs[run.parent].generations):
        yield f"run {run.id} was asked for by generation {run.fork} of run {run.parent}, which was not kept or is not there"


def _of_segments(run: Run) -> Iterator[str]:
    for number, segment in enumerate(run.segments):
        if not segment.generations:
            yield f"run {run.id}, segment {number} has no generation"
        if (segment.rewrite is None) is not (number == 0):
            yield f"run {run.id}, segment {number} {'follows without a rewrite' if number else 'is the first and has a rewrite'}"


def _of_generations(segment: Segment, where: str, run: int, turns: Sequence[Turn]) -> Iterator[str]:
    for one in segment.generations:
        named = f"{where}, generation {one.index}"
        if (one.turn is not None) is not (one.kept and one.purpose is Purpose.ACT):
            yield f"{named} {'leads to no turn' if one.turn is None else 'leads to a turn, which only an act that was kept does'}"
        elif one.turn is not None and not 0 <= one.turn < len(turns):
            yield f"{named} leads to turn {one.turn}, which there is not"
        elif one.turn is not None and turns[one.turn].run != run:
            yield f"{named} leads to turn {one.turn}, which is of run {turns[one.turn].run}"


def _of_tokens(segment: Segment, where: str) -> Iterator[str]:
    known = None
    for one in segment.generations:
        named = f"{where}, generation {one.index}"
        if not one.kept:
            if one.tokens is not None and any(one.tokens.mask):
                yield f"{named} was discarded, and some of its tokens may be trained"
            continue
        if known is None:
            known = one.tokens is not None
        elif known is not (one.tokens is not None):
            yield f"{named} {'has no tokens' if known else 'has tokens'}, unlike the first of its segment"


def _of_order(run: Run) -> Iterator[str]:
    last = -1
    for number, (at, one) in enumerate((at, one) for at, segment in enumerate(run.segments) for one in segment.generations):
        named = f"run {run.id}, segment {at}, generation {one.index}"
        if one.index != number:
            yield f"{named} stands where generation {number} belongs"
        if one.turn is not None:
            if one.turn <= last:
                yield f"{named} leads to turn {one.turn}, which a generation before it led to, or which is older than that"
            last = one.turn


def _of_rewrites(run: Run) -> Iterator[str]:
    for number, (old, new) in enumerate(zip(run.segments, run.segments[1:], strict=False), 1):
        rewrite, where = new.rewrite, f"run {run.id}, segment {number}"
        if rewrite is None:
            continue
        if rewrite.before != Prefix.of(old.messages):
            yield f"{where}: the rewrite began with another history than the segment before it ended with"
        if rewrite.after != Prefix.of(new.generations[0].given[: rewrite.after.messages]):
            yield f"{where}: the rewrite left another history than generation {new.generations[0].index} was given"
        yield from _of_summary(rewrite, where, run.generations, new.generations[0].index)


def _of_summary(rewrite: Rewrite, where: str, generations: Sequence[Generation], first: int) -> Iterator[str]:
    summary = rewrite.summary
    if summary is None:
        return
    if not 0 <= summary.message < rewrite.after.messages:
        yield f"{where}: the summary stands at message {summary.message}, which there is not"
    if summary.generation is not None and not (0 <= summary.generation < first and generations[summary.generation].kept):
        yield f"{where}: the summary is by generation {summary.generation}, which was discarded or came later"
