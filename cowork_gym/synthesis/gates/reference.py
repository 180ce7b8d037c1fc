"""The gate `reference`: the task can be solved through its public tools, whichever door the calls take."""

from collections.abc import Iterator
from typing import Any

from cowork_gym.core.episode import Episode
from cowork_gym.core.grade import Grade
from cowork_gym.synthesis.gates.gate import Gate, Problem
from cowork_gym.synthesis.gates.subject import Subject

__all__ = ["REFERENCE"]

_DOORS = ("direct", "asgi")


def _examine(subject: Subject) -> tuple[tuple[Problem, ...], tuple[str, ...]]:
    problems, evidence = list[Problem](), list[str]()
    for at, reference in enumerate(subject.task.references):
        played = {door: subject.references_through(door)[at] for door in _DOORS}
        found = [*_short(reference.name, played["direct"], "direct"), *_short(reference.name, played["asgi"], "asgi")]
        problems += found or _apart(reference.name, played["direct"], played["asgi"])
        earned = ", ".join(f"{_told(episode.grade)} {door}" for door, episode in played.items())
        evidence.append(f"reference {reference.name}: {earned}")
    return tuple(problems), tuple(evidence)


def _short(name: str, episode: Episode, door: str) -> Iterator[Problem]:
    grade, where = episode.grade, f"reference {name}, {door}"
    if grade is None or grade.fault is not None:
        fault = grade.fault if grade else None
        found = f"no grade: {fault.where}: {fault.message}" if fault else "no grade"
        yield Problem(where, found, "mend what failed; a reference ends with a grade")
        return
    for spec, reward in grade.rewards.items():
        if reward != 1:
            failed = " ".join(f"{one.id}: {one.reason}" for one in grade.checks if not one.passed)
            found = f"earns {reward:g} under {spec}, expected 1: {failed or f'robustness is {grade.robustness:g}'}"
            yield Problem(where, found, "mend the reference, or the check that a right execution cannot meet")


def _apart(name: str, direct: Episode, asgi: Episode) -> list[Problem]:
    """Where the two doors lead to different episodes."""
    parts: dict[str, tuple[Any, Any]] = {
        "ledger": (direct.ledger.hash, asgi.ledger.hash), "final state": (direct.end, asgi.end), "verdicts": (_verdicts(direct), _verdicts(asgi)),
    }
    different = [what for what, (one, other) in parts.items() if one != other]
    advice = "a handler must not depend on how it is called: mend the service"
    return [Problem(f"reference {name}", f"through asgi it has another {' and '.join(different)} than direct", advice)] if different else []


def _verdicts(episode: Episode) -> list[tuple[str, bool]]:
    return [(one.id, one.passed) for one in episode.grade.checks] if episode.grade else []


def _told(grade: Grade | None) -> str:
    return "none" if grade is None or grade.reward is None else f"{grade.reward:g}"


REFERENCE = Gate("reference", "Each reference earns exactly 1.0 under every reward spec, direct and through asgi, with the same ledger.", _examine)
