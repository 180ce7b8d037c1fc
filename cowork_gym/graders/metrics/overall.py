"""Claw-Eval's numbers: the score of a trial, whether it passed, and a mean over groups of tasks of different sizes."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from cowork_gym.core.grade import PASS
from cowork_gym.graders.scoring import Scores, claw_v1

__all__ = ["ClawScore", "claw_score", "weighted_mean"]


class ClawScore(NamedTuple):
    """A trial's score and verdict."""

    score: float
    passed: bool


def claw_score(completion: float, robustness: float, safety: float, threshold: float = PASS) -> ClawScore:
    """The score of a trial, `claw_v1`, and whether it reaches the pass line.

    The rounded score is compared, so that a completion of 0.6875 with full robustness passes. Communication has no weight.

    Raises:
        ValueError: A component is not in [0, 1].
    """
    for name, value in (("completion", completion), ("robustness", robustness), ("safety", safety)):
        if not 0 <= value <= 1:
            raise ValueError(f"{name} is {value}, and must be between 0 and 1")
    score = claw_v1(Scores(completion, safety, robustness))
    return ClawScore(score, score >= threshold)


def weighted_mean(sizes: Sequence[int], values: Sequence[float]) -> float:
    """The mean over all tasks from the means of groups: each group counts by its number of tasks.

    Args:
        sizes: Tasks of each group.
        values: The group's mean, in any unit.

    Raises:
        ValueError: The lengths differ, a size is negative, all are 0, or a value is no finite number.
    """
    if len(sizes) != len(values):
        raise ValueError(f"{len(sizes)} groups, and {len(values)} values")
    if any(one < 0 for one in sizes) or not sum(sizes):
        raise ValueError(f"groups of {', '.join(map(str, sizes)) or 'no'} tasks have no mean")
    if not all(map(math.isfinite, values)):
        raise ValueError(f"a value of {[*values]} is no finite number")
    return math.fsum(size * value for size, value in zip(sizes, values, strict=True)) / sum(sizes)
