"""How often a task is solved: pass@k, pass^k, and what a task's trials come to when some of them are missing."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from cowork_gym.core.grade import PASS

__all__ = ["Estimator", "Rate", "Trials", "mean_rate", "pad_trials", "pass_at_k", "pass_hat_k"]

Estimator: TypeAlias = Literal["unbiased", "plug_in"]


def pass_at_k(n: int, c: int, k: int) -> float | None:
    """The probability that at least one of k trials passes: `1 - C(n-c, k) / C(n, k)` (Chen 2021).

    Args:
        n: Planned trials; a missing one counts, as a failure.
        c: Those that passed.
        k: How many are drawn, without putting them back.

    Returns:
        The unbiased estimate; None when k > n, because nothing is known of more trials than there are.

    Raises:
        ValueError: The numbers are not whole, c is not in [0, n], or k < 1.
    """
    _check(n, c, k)
    return None if k > n else 1.0 - math.comb(n - c, k) / math.comb(n, k)


def pass_hat_k(n: int, c: int, k: int, estimator: Estimator = "unbiased") -> float | None:
    """The probability that all of k trials pass: `C(c, k) / C(n, k)` (tau-bench).

    Args:
        n: Planned trials; a missing one counts, as a failure.
        c: Those that passed.
        k: How many are drawn.
        estimator: `plug_in` gives Claw-Eval's `(c/n)^k`, which is biased upwards: 0.296 for 2 of 3 at k = 3, where 0 is right.

    Returns:
        The estimate; None when k > n.

    Raises:
        ValueError: The numbers are not whole, c is not in [0, n], k < 1, or there is no such estimator.
    """
    _check(n, c, k)
    if estimator not in ("unbiased", "plug_in"):
        raise ValueError(f"estimator is {estimator!r}; choose from unbiased, plug_in")
    if k > n:
        return None
    return math.comb(c, k) / math.comb(n, k) if estimator == "unbiased" else float((c / n) ** k)


def pad_trials(scores: Iterable[float | None], planned: int) -> tuple[float, ...]:
    """The scores of a task's trials, each missing one as 0: headline numbers do not get better by losing trials.

    Args:
        scores: Of the trials that were graded, in order; None stands for one that has no grade.
        planned: How many trials there were to be.

    Raises:
        ValueError: There are more trials than planned, none is planned, or a score is no finite number.
    """
    given = list(scores)
    if planned < 1 or len(given) > planned:
        raise ValueError(f"{len(given)} trials, and {planned} planned")
    if bad := next((one for one in given if one is not None and not math.isfinite(one)), None):
        raise ValueError(f"a score is {bad}")
    return (*(0.0 if one is None else float(one) for one in given), *(0.0,) * (planned - len(given)))


@dataclass(frozen=True, slots=True)
class Trials:
    """The trials of one task."""

    scores: tuple[float | None, ...]
    """Of each planned trial; None for one that has no grade, because it was not run or was quarantined."""
    threshold: float = PASS

    @classmethod
    def of(cls, scores: Iterable[float | None], planned: int, threshold: float = PASS) -> "Trials":
        """The trials of a task from the scores that there are.

        Raises:
            ValueError: As `pad_trials`.
        """
        given = tuple(scores)
        padded = pad_trials(given, planned)
        return cls((*given, *(None,) * (len(padded) - len(given))), threshold)

    @property
    def padded(self) -> tuple[float, ...]:
        """The scores, 0 for a missing trial."""
        return pad_trials(self.scores, len(self.scores))

    @property
    def missing(self) -> int:
        """How many have no grade: to be reported beside every headline number."""
        return self.scores.count(None)

    @property
    def passed(self) -> int:
        """How many reached the threshold; a missing one never does."""
        return sum(one is not None and one >= self.threshold for one in self.scores)

    @property
    def avg_score(self) -> float:
        """The mean over the planned trials."""
        return math.fsum(self.padded) / len(self.scores)

    @property
    def avg_if_dropped(self) -> float | None:
        """The mean over the graded trials, which losing the bad ones improves; None when there is none."""
        graded = [one for one in self.scores if one is not None]
        return math.fsum(graded) / len(graded) if graded else None

    @property
    def all_pass(self) -> bool:
        """Whether every planned trial passed."""
        return self.passed == len(self.scores)

    @property
    def any_pass(self) -> bool:
        """Whether at least one did."""
        return self.passed > 0

    def pass_at(self, k: int) -> float | None:
        """pass@k over the planned trials."""
        return pass_at_k(len(self.scores), self.passed, k)

    def pass_hat(self, k: int, estimator: Estimator = "unbiased") -> float | None:
        """pass^k over the planned trials."""
        return pass_hat_k(len(self.scores), self.passed, k, estimator)


@dataclass(frozen=True, slots=True)
class Rate:
    """A mean over tasks."""

    value: float | None
    """None when no task has a value."""
    tasks: int
    """How many stand behind it."""
    left_out: int
    """How many have no value, having fewer than k planned trials."""


def mean_rate(values: Sequence[float | None]) -> Rate:
    """The mean of a metric over the tasks that have a value; the others are counted."""
    known = [one for one in values if one is not None]
    return Rate(math.fsum(known) / len(known) if known else None, len(known), len(values) - len(known))


def _check(n: int, c: int, k: int) -> None:
    for name, value in (("n", n), ("c", c), ("k", k)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"{name} is {value!r}, not a whole number")
    if not 0 <= c <= n or n < 1 or k < 1:
        raise ValueError(f"{c} of {n} trials passed, and {k} drawn: that cannot be")
