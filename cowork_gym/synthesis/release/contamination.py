"""Contamination: what a release has in common with others, and when that stands against it."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from cowork_gym.synthesis.release.form import Overlap, Release, Use
from cowork_gym.synthesis.release.identity import Profile, in_common
from cowork_gym.synthesis.release.read import request_of

__all__ = ["alike", "contaminating", "overlaps", "profile_of"]

_KIN = frozenset({"request", "near-request", "world", "grader"})
"""Parts that tell much of a task. Many tasks have the same tools; tasks of one structure are told apart by their content."""


def overlaps(profiles: Iterable[Profile], others: Sequence[Release]) -> tuple[Overlap, ...]:
    """What tasks have in common with those of other releases."""
    known = [(release.citation, profile_of(release, one.id)) for release in others for one in release.tasks]
    return tuple(
        Overlap(one.id, citation, other.id, part, likeness)  # type: ignore[arg-type]
        for one in profiles for citation, other in known for part, likeness in in_common(one, other)
    )


def contaminating(found: Iterable[Overlap], uses: Mapping[str, Collection[Use]], others: Iterable[Release]) -> Iterator[str]:
    """What stands against a release, each task in one line: what one of two releases trains on, the other one holds out.

    Args:
        found: The overlaps.
        uses: What each task is to be used for, by its id.
        others: The other releases.
    """
    known = {(release.citation, one.id): one.uses for release in others for one in release.tasks}
    against = dict[str, dict[tuple[str, str], list[str]]]()
    for one in found:
        ours, theirs = uses[one.task], known[one.release, one.other]
        if one.part in _KIN and ((_trains(ours) and _holds_out(theirs)) or (_holds_out(ours) and _trains(theirs))):
            against.setdefault(one.task, {}).setdefault((one.release, one.other), []).append(_part(one))
    for task, shared in against.items():
        told = "; ".join(
            f"its {_listed(parts)} in common with {other} of {release}, which is for {_listed(known[release, other])}"
            for (release, other), parts in shared.items()
        )
        yield f"{task} has {told}; leave it out, or release it without {'training' if _trains(uses[task]) else 'evaluation'}"


def _part(one: Overlap) -> str:
    return f"request ({one.likeness:.0%} of its wording)" if one.part == "near-request" else one.part


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def alike(profiles: Sequence[Profile]) -> tuple[tuple[str, str], ...]:
    """The pairs within a release that must not be divided: structural twins, and tasks that share more than their tools."""
    parts = _KIN | {"structure"}
    return tuple((one.id, other.id) for one, other in combinations(profiles, 2) if any(part in parts for part, _ in in_common(one, other)))


def profile_of(release: Release, id: str) -> Profile:
    """A released task as far as it is compared."""
    task = next(one for one in release.tasks if one.id == id)
    return Profile(id, task.identity, request_of(release, id))


def _trains(uses: Collection[Use]) -> bool:
    return Use.TRAINING in uses


def _holds_out(uses: Collection[Use]) -> bool:
    return Use.EVALUATION in uses and Use.TRAINING not in uses
