"""Making a release: tasks are compared, proven, divided, written down and sealed. One that is refused keeps all of them from being released."""

import platform
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple, TypeAlias

from cowork_gym.core.errors import UserError
from cowork_gym.core.task import Task
from cowork_gym.graders import GRADER_VERSION
from cowork_gym.synthesis.admission import admit
from cowork_gym.synthesis.gates.gate import Result
from cowork_gym.synthesis.gates.subject import Subject
from cowork_gym.synthesis.proof import Proof
from cowork_gym.synthesis.release.contamination import alike, contaminating, overlaps
from cowork_gym.synthesis.release.form import GateCount, Provenance, Refusal, Release, ReleasedTask, Use
from cowork_gym.synthesis.release.handlers import realised, requested
from cowork_gym.synthesis.release.identity import Profile, identify, shingles
from cowork_gym.synthesis.release.split import hold_out
from cowork_gym.synthesis.release.write import Source, read_source, write_release
from cowork_gym.synthesis.signature import signature

__all__ = ["Plan", "Prover", "Watch", "make_release"]

Prover: TypeAlias = Callable[[Task, Iterable[int]], Proof]
"""Asks the gates about a task, in the forms of some seeds."""
Watch: TypeAlias = Callable[[Proof], None]
"""Is shown each proof as it comes."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


@dataclass(frozen=True, slots=True)
class Plan:
    """What a release is to be.

    Raises:
        UserError: It has no name that a folder can have, no author, or no use.
    """

    name: str
    uses: tuple[Use, ...]
    """What tasks may be used for. Those that are held out may not be trained on."""
    provenance: Provenance
    fraction: float | None = None
    """The share to hold out for validation; None to divide nothing."""
    seeds: tuple[int, ...] = (0,)
    """The forms in which tasks that vary are examined."""
    against: tuple[Release, ...] = ()
    """Other releases, to be compared with."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise UserError(f"{self.name[:100]!r} is no name for a release: write letters, digits, dots, dashes, such as core-1")
        if not self.uses:
            raise UserError(f"say what the release is for: {', '.join(Use)}; nothing is authorised that is not said")
        if not any(one.strip() for one in self.provenance.authors):
            raise UserError("say who wrote the tasks; authors and teachers are recorded")


class _Examined(NamedTuple):
    """A package with what is known of it before it is proven."""

    source: Source
    profile: Profile
    realised: Mapping[str, int]


def make_release(plan: Plan, tasks: Iterable[str | Path], to: Path, prove: Prover = admit, watch: Watch | None = None) -> Release:
    """Release tasks.

    Args:
        plan: What the release is to be.
        tasks: Environment ids, short names or packages' folders.
        to: The folder in which the release's folder is made.
        prove: Asks the gates about a task.
        watch: Is shown each proof as it comes.

    Returns:
        The release.

    Raises:
        UserError: A task is not there or named twice, the release exists already, or it cannot be divided or written.
        PackageError: A package cannot be used.
        Refusal: A gate found a problem, or another release trains on what this one holds out, or the other way round.
    """
    if (to / plan.name).exists():
        raise UserError(f"{to / plan.name} exists already; a release is written once, and a correction gets a name of its own")
    members = sorted((_examine(read_source(one)) for one in tasks), key=lambda one: one.source.task.id)
    _check_members([one.source.task.id for one in members])
    profiles = [one.profile for one in members]
    held = _held_out(plan, members)
    uses = {one.id: _uses_of(plan, one.id in held) for one in profiles}
    found = overlaps(profiles, plan.against)
    if reasons := tuple(contaminating(found, uses, plan.against)):
        raise Refusal(reasons)
    proofs = [_proof_of(plan, one.source.task, prove, watch) for one in members]
    if reasons := tuple(f"{proof.task}: {told}" for proof in proofs for told in _told(proof)):
        raise Refusal(reasons)
    sides = {one.id: "" if plan.fraction is None else "validation" if one.id in held else "train" for one in profiles}
    released = tuple(_released(one, uses[one.profile.id], sides[one.profile.id], proof) for one, proof in zip(members, proofs, strict=True))
    release = Release(
        schema_version=1, name=plan.name, made_with=_made_with(), provenance=plan.provenance, uses=plan.uses, seeds=plan.seeds,
        fraction=plan.fraction, tasks=released, counts=_counts(released), gates=_gate_counts([one for proof in proofs for one in proof.results]),
        compared=tuple(one.citation for one in plan.against), overlaps=found,
    )
    return write_release(release, [one.source for one in members], proofs, to / plan.name)


def _examine(source: Source) -> _Examined:
    task, subject = source.task, Subject(source.task)
    episodes = subject.references
    identity = identify(task, signature(task, episodes[0]).digest)
    return _Examined(source, Profile(task.id, identity, shingles(task.request)), realised(episodes))


def _check_members(ids: Sequence[str]) -> None:
    if not ids:
        raise UserError("a release has at least one task")
    for id in ids:
        if ids.count(id) > 1:
            raise UserError(f"{id} is named twice")


def _held_out(plan: Plan, members: Sequence[_Examined]) -> frozenset[str]:
    if plan.fraction is None:
        return frozenset()
    categories = {one.profile.id: one.source.task.category for one in members}
    return hold_out(categories, alike([one.profile for one in members]), plan.fraction, plan.name)


def _uses_of(plan: Plan, held: bool) -> tuple[Use, ...]:
    uses = tuple(one for one in plan.uses if not (held and one is Use.TRAINING))
    if not uses:
        raise UserError("what is held out may not be trained on, so say what else it is for: evaluation or diagnosis")
    return uses


def _proof_of(plan: Plan, task: Task, prove: Prover, watch: Watch | None) -> Proof:
    proof = prove(task, plan.seeds if task.variation else (0,))
    if watch is not None:
        watch(proof)
    return proof


def _told(proof: Proof) -> Iterator[str]:
    """The first problem of each gate that found some, and how many more there are."""
    for gate in proof.failed:
        (result, first), *more = [(result, problem) for result, problem in proof.problems if result.gate == gate]
        rest = f" (and {len(more)} more)" if more else ""
        yield f"{gate}, seed {result.seed}: {first.where}: {first.found}; {first.advice}{rest}"


def _released(one: _Examined, uses: tuple[Use, ...], side: str, proof: Proof) -> ReleasedTask:
    task = one.source.task
    return ReleasedTask(
        id=task.id, version=task.version, release_id=task.release_id, title=task.title, category=task.category, difficulty=task.difficulty,
        language=task.language, services=task.services, split=side, uses=uses, identity=one.profile.identity,  # type: ignore[arg-type]
        requested=requested(one.source.blueprint), realised=one.realised, references=len(task.references), negatives=len(task.negatives),
        gates=_gate_counts(proof.results),
    )


def _gate_counts(results: Sequence[Result]) -> tuple[GateCount, ...]:
    return tuple(
        GateCount(gate, len(found), sum(one.passed for one in found), round(sum(one.seconds for one in found), 3))
        for gate in dict.fromkeys(one.gate for one in results) for found in [[one for one in results if one.gate == gate]]
    )


def _counts(tasks: Sequence[ReleasedTask]) -> dict[str, int]:
    references, negatives = sum(one.references for one in tasks), sum(one.negatives for one in tasks)
    return {
        "tasks": len(tasks), "services": len({name for one in tasks for name in one.services}),
        "requested_handlers": len({handler.tool for one in tasks for handler in one.requested}),
        "realised_handlers": len({tool for one in tasks for tool in one.realised}),
        "references": references, "negatives": negatives, "executions": references + negatives,
        "train": sum(one.split == "train" for one in tasks), "validation": sum(one.split == "validation" for one in tasks),
    }


def _made_with() -> dict[str, str]:
    return {"cowork_gym": version("cowork-gym"), "grader": GRADER_VERSION, "python": platform.python_version()}
