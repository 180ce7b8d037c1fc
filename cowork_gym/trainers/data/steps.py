"""One token sequence of a recorded segment, the steps in it, and how it is cut into samples where a FIFO window says so."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby

from cowork_gym.core.episode import Episode
from cowork_gym.core.trajectory import ROOT
from cowork_gym.core.trajectory import Segment as RecordedSegment
from cowork_gym.trainers.data.anchors import Moment
from cowork_gym.trainers.data.rollouts import Boundary, Step

__all__ = ["Drawn", "Packaging", "packed", "sequence", "stride_of"]


class Packaging(StrEnum):
    """How the turns of a FIFO window become samples. Every turn has the same context either way (Navalia, section 3.2)."""

    LITERAL = "literal"
    """Each sample has at most as many new turns as the window's stride; what stands before them is prompt."""
    MERGED_FIRST = "merged_first"
    """As the record has it: the first sample has as many turns as the window."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A token sequence and what of it was sampled."""

    prompt: tuple[int, ...] = ()
    ids: tuple[int, ...] = ()
    mask: tuple[bool, ...] = ()
    logprobs: tuple[float, ...] = ()
    versions: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    boundary: Boundary = Boundary.END


def sequence(segment: RecordedSegment, known: Sequence[Moment], boundary: Boundary) -> Drawn | None:
    """The tokens of a recorded segment; None where one of its kept generations has none, or nothing was kept.

    Args:
        segment: With its tokens.
        known: Where the run stood at each of its generations.
        boundary: Why the segment ends.
    """
    prompt: tuple[int, ...] = ()
    ids, mask, logprobs, versions, steps = list[int](), list[bool](), list[float](), list[str](), list[Step]()
    for number, one in enumerate(segment.kept):
        if one.tokens is None:
            return None
        if number == 0:
            prompt = one.tokens.context
        else:
            read = len(one.tokens.context)
            ids += one.tokens.context
            mask += [False] * read
            logprobs += [0.0] * read
            versions += [""] * read
        start, moment = len(ids), known[one.index]
        ids += one.tokens.ids
        mask += one.tokens.mask
        logprobs += one.tokens.logprobs
        versions += [one.version] * len(one.tokens.ids)
        steps.append(Step(start, len(ids), one.turn, one.purpose, moment.anchor, moment.information, one.index))
    if not steps:
        return None
    return Drawn(prompt, tuple(ids), tuple(mask), tuple(logprobs), tuple(versions), tuple(steps), boundary)


def stride_of(episode: Episode, run: int) -> int | None:
    """The stride of the FIFO window that a run was played under; None where there was none."""
    manifest = episode.composition.manifest if episode.composition else {}
    chain = manifest.get("middleware", ())
    if run != ROOT:
        chain = next((one["middleware"] for one in manifest.get("tools", ()) if one.get("middleware") is not None), chain)
    return min((one["stride"] for one in chain if one.get("name") == "window"), default=None)


def packed(whole: Drawn, known: Sequence[Moment], stride: int | None) -> Iterator[Drawn]:
    """A sequence as samples: cut before each turn whose number in its run is a multiple of the stride, or not at all.

    A plan or a summary goes with the turns that it stands among. Each sampled token is in the response of exactly one sample.

    Args:
        whole: The sequence.
        known: Where the run stood at each of its generations.
        stride: Of the window; None leaves the sequence whole.
    """
    if stride is None:
        yield whole
        return
    parts = [tuple(part) for _, part in groupby(whole.steps, key=lambda step: known[step.generation].taken // stride)]
    for number, part in enumerate(parts, 1):
        yield _part(whole, part, whole.boundary if number == len(parts) else Boundary.STRIDE)


def _part(whole: Drawn, steps: Sequence[Step], boundary: Boundary) -> Drawn:
    """The sample of some steps that stand together."""
    start, end = steps[0].start, steps[-1].end
    own = slice(start, end)
    moved = tuple(replace(one, start=one.start - start, end=one.end - start) for one in steps)
    prompt = (*whole.prompt, *whole.ids[:start])
    return Drawn(prompt, whole.ids[own], whole.mask[own], whole.logprobs[own], whole.versions[own], moved, boundary)
