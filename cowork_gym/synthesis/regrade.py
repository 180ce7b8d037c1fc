"""Grades of contracts that differ a little from a task's own, from verdicts that were given already: nothing is asked twice."""

from collections.abc import Iterable
from typing import NamedTuple

from cowork_gym.core.grade import PASS, CheckResult, Grade, Part
from cowork_gym.graders.scoring import REWARD_SPECS, Scores

__all__ = ["Mark", "mark_of", "regrade"]


class Mark(NamedTuple):
    """What tells two grades apart."""

    reward: float
    passed: bool
    outcome: float


def mark_of(grade: Grade) -> Mark | None:
    """A grade's mark, put together anew from its verdicts; None where a fault has left none."""
    return None if grade.robustness is None else regrade(grade.checks, grade.robustness, grade.spec)


def regrade(checks: Iterable[CheckResult], robustness: float, spec: str) -> Mark | None:
    """The mark that these verdicts come to, by the formulas of `cowork_gym.graders`.

    Args:
        checks: A verdict for each check, outcome and forbidden tool, each in the part that it has in the task.
        robustness: Of the episode.
        spec: The reward spec.

    Returns:
        The mark; None when no objective is left, so that there is nothing to complete.
    """
    won = total = 0.0
    kept = safe = True
    for one in checks:
        if one.part is Part.OBJECTIVE:
            won, total = won + one.weight * one.passed, total + one.weight
        elif one.part is Part.FORBIDDEN:
            safe &= one.passed
        else:
            kept &= one.passed
    if not total:
        return None
    scores = Scores(round(won / total, 9), float(safe), robustness, 1.0 if kept else 0.5)
    reward = REWARD_SPECS[spec](scores)
    return Mark(reward, reward >= PASS, scores.outcome)
