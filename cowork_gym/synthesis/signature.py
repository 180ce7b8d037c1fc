"""Structural signatures: what remains of a task when names, ids and texts are taken away. Two tasks with one signature are twins."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

from cowork_gym.core.canonical import canonical, digest
from cowork_gym.core.episode import Episode
from cowork_gym.core.task import Task
from cowork_gym.envs.packages import blueprint_of
from cowork_gym.envs.registration import REGISTRY
from cowork_gym.graders.checks import Check, Order, Unchanged
from cowork_gym.graders.contract import Contract
from cowork_gym.graders.evidence import Evidence
from cowork_gym.graders.guardrails import classify
from cowork_gym.synthesis.gates.subject import Subject
from cowork_gym.synthesis.identifiers import Identifiers
from cowork_gym.synthesis.provenance import USER, uses

__all__ = ["Edge", "Signature", "signature", "twins"]

_LINES = ("form", "labelled")


class Edge(NamedTuple):
    """A call that uses what another one showed first."""

    source: int
    """The call's number, or `USER`."""
    user: int


@dataclass(frozen=True, slots=True)
class Signature:
    """A task's structure: how its reference's calls depend on each other, and what is checked."""

    graph: tuple[str, ...]
    """The dependency graph in a form that does not depend on ids, nor on the order of calls that do not depend on each other."""
    checks: tuple[str, ...]
    """Kind, part, tool or table, and fields of each check, sorted."""
    steps: tuple[tuple[str, str], ...] = field(compare=False)
    """Tool and effect of each call, in order."""
    edges: tuple[Edge, ...] = field(compare=False)

    @property
    def digest(self) -> str:
        """A hash that is equal for twins."""
        return digest([self.graph, self.checks])


def signature(task: Task, episode: Episode | None = None) -> Signature:
    """The structure of a task.

    Args:
        task: The task.
        episode: The record of its first reference; None to play it.
    """
    blueprint = blueprint_of(task, REGISTRY.services())
    if episode is None:
        episode = Subject(task.base or task, task.variant).references[0]
    called = [call.name for turn in episode.turns for call in turn.said.tool_calls]
    steps = tuple((name, str(blueprint.tools[name].tool.effect) if name in blueprint.tools else "none") for name in called)
    keys = (key for table in blueprint.start_rows.values() for key in table)
    edges = {Edge(one.source, one.call) for one in uses(episode, Identifiers(keys)) if one.call is not None and one.source is not None}
    return Signature(_graph(steps, edges), _checks(task, Evidence(blueprint.start_rows, given=blueprint.given)), steps, tuple(sorted(edges)))


def twins(tasks: Iterable[Task]) -> tuple[tuple[str, str], ...]:
    """The pairs of tasks, by id, that have both their dependency graph and their checks in common."""
    known = [(one.id, signature(one)) for one in tasks]
    return tuple((first, second) for (first, one), (second, other) in combinations(known, 2) if one == other)


def _graph(steps: tuple[tuple[str, str], ...], edges: set[Edge]) -> tuple[str, ...]:
    """The colours of the calls after each has taken in those around it as often as there are calls (Weisfeiler and Leman)."""
    colours = {at: canonical([*step, Edge(USER, at) in edges]) for at, step in enumerate(steps)}
    between = [one for one in edges if one.source != USER]
    for _ in steps:
        colours = {
            at: digest([
                colour, sorted(colours[one.source] for one in between if one.user == at),
                sorted(colours[one.user] for one in between if one.source == at),
            ])
            for at, colour in colours.items()
        }
    return tuple(sorted(colours.values()))


def _checks(task: Task, evidence: Evidence) -> tuple[str, ...]:
    contract = Contract.parse(task.grading)
    parts = classify(contract, evidence)
    raw = {one["id"]: one for name in ("checks", "outcomes") for one in task.grading.get(name, ())}
    return tuple(sorted(canonical([check.kind, str(parts[check.id]), *_about(check), *_asked(raw[check.id])]) for _, check in contract.placed()))


def _about(check: Check) -> Iterator[Any]:
    """What a check is about: its tool, table or collection."""
    if isinstance(check, Order):
        yield [event.tool for event in check.events]
    elif isinstance(check, Unchanged):
        yield sorted(canonical([one.table, sorted(one.fields or ()), one.change]) for one in check.allow)
    else:
        yield next((getattr(check, name) for name in ("tool", "table", "collection") if hasattr(check, name)), "")


def _asked(raw: Mapping[str, Any]) -> Iterator[Any]:
    """The fields that a check asks about, and the form of the answer that it expects."""
    yield sorted(name for group in ("arguments", "fields", "where") for name in raw.get(group) or ())
    yield _shape(raw.get("matches"))


def _shape(matcher: Any) -> Any:
    """The names of matchers without what they expect; of labelled lines, those of each line."""
    if not isinstance(matcher, Mapping):
        return ""
    return {name: sorted(canonical(_shape(one)) for one in value.values()) if name in _LINES else "" for name, value in matcher.items()}
