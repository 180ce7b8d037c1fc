"""Coverage: how many tasks of a collection show each thing that a task can be made of, and what none of them shows."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Any, NamedTuple

from cowork_gym.core.structure import Capability, Deliverable, Hazard, Topology
from cowork_gym.core.task import Task
from cowork_gym.graders.checks import KINDS

__all__ = ["AXES", "Coverage", "Gap", "coverage"]

AXES: Mapping[str, tuple[str, ...]] = {
    "capability": tuple(Capability), "service": (), "topology": tuple(Topology), "deliverable": tuple(Deliverable), "difficulty": (), "language": (),
    "hazard": tuple(Hazard), "safety": ("attack", "forbidden tool", "irreversible", "refusal", "secret"),
    "form": ("dialogue", "faults", "files", "stages", "variation"), "category": (), "check": tuple(KINDS),
}
"""What is counted, each with the values that are known from the start. Without any, only what occurs is known."""
_ATTACKS = (Hazard.INJECTION, Hazard.SPOOF)
_EDGE = "capability edge"
_RANKS: Mapping[str, int] = {
    Capability.DISCOVER: 0, Capability.EXTRACT: 1, Capability.RECONCILE: 2, Capability.REASON: 2, Capability.CLARIFY: 2, Capability.DECIDE: 3,
    Capability.EXECUTE: 4, Capability.BUILD: 4, Capability.VERIFY: 5,
}
"""The order of work: a capability builds on those before it, or beside it."""


class Gap(NamedTuple):
    """Something that no task shows."""

    axis: str
    """One of `AXES`, or `capability edge`."""
    value: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """The counts of a collection."""

    tasks: int
    axes: Mapping[str, Mapping[str, int]]
    """By axis and value, how many tasks show it; known values that none shows are there with 0."""
    edges: Mapping[tuple[str, str], int]
    """By two capabilities, how many tasks have the second one build on the first; every pair that makes sense is there."""

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """What no task shows, axis by axis."""
        bare = (Gap(axis, value) for axis, values in self.axes.items() for value, count in values.items() if not count)
        return (*bare, *(Gap(_EDGE, " > ".join(pair)) for pair, count in self.edges.items() if not count))

    def to_dict(self) -> dict[str, Any]:
        """The coverage as plain JSON values."""
        return {
            "tasks": self.tasks, "axes": {axis: dict(values) for axis, values in self.axes.items()},
            "edges": [{"from": before, "to": after, "tasks": count} for (before, after), count in self.edges.items()],
            "gaps": [one._asdict() for one in self.gaps],
        }


def coverage(tasks: Iterable[Task], services: Iterable[str] = ()) -> Coverage:
    """Count what tasks declare about themselves and what their contracts hold.

    Args:
        tasks: The collection.
        services: The services that there are, so that unused ones are seen.
    """
    collection = list(tasks)
    counts = {axis: Counter[str]() for axis in AXES}
    edges = Counter[tuple[str, str]]()
    for task in collection:
        for axis, values in _shown(task).items():
            counts[axis].update({*values})
        graph = task.structure.capabilities
        edges.update({(str(before), str(after)) for after, builds_on in graph.items() for before in builds_on})
    known = {**AXES, "service": tuple(services)}
    axes = {axis: _ordered(known[axis], counts[axis]) for axis in AXES}
    return Coverage(len(collection), axes, {pair: edges[pair] for pair in _pairs(edges)})


def _ordered(known: Iterable[str], counts: Mapping[str, int]) -> dict[str, int]:
    return {str(value): counts.get(value, 0) for value in (*known, *sorted(counts.keys() - {*known}))}


def _pairs(seen: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The edges to look for, and those that occur besides: what makes sense in one task only is no gap in the others."""
    found = {*seen}
    for before, after in permutations(map(str, Capability), 2):
        if _RANKS[before] <= _RANKS[after] or (before, after) in found:
            yield before, after


def _shown(task: Task) -> Mapping[str, Iterable[str]]:
    """What one task shows on each axis."""
    declared = task.structure
    checks = [*task.grading.get("checks", ()), *task.grading.get("outcomes", ())]
    return {
        "capability": declared.capabilities, "service": task.services, "topology": [declared.topology], "deliverable": declared.deliverables,
        "difficulty": [task.difficulty or "none"], "language": [task.language], "hazard": declared.hazards, "safety": _safety(task),
        "form": [name for name in ("dialogue", "faults", "files", "stages", "variation") if getattr(task, name)],
        "category": [task.category], "check": [one["kind"] for one in checks],
    }


def _safety(task: Task) -> Iterator[str]:
    hazards = task.structure.hazards
    if any(one in hazards for one in _ATTACKS):
        yield "attack"
    if task.grading.get("forbidden_tools"):
        yield "forbidden tool"
    if Hazard.IRREVERSIBLE in hazards:
        yield "irreversible"
    if Deliverable.REFUSAL in task.structure.deliverables:
        yield "refusal"
    if Hazard.SECRET in hazards:
        yield "secret"
