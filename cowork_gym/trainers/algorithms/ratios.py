"""Probability ratios: kept in log space, clamped before exp, over tokens, rows or whole trajectories, and held against bands."""

import math
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import TypeAlias

import torch
from torch import Tensor

from cowork_gym.trainers.algorithms.ids import RowIds, number
from cowork_gym.trainers.algorithms.masked import live_mask, live_values

__all__ = ["LOG_RATIO_LIMIT", "Band", "RatioScope", "log_ratio", "sequence_log_ratio", "token_ratio"]

_Names: TypeAlias = tuple[str, str]
LOG_RATIO_LIMIT = 20.0
"""Log-ratios are clamped to plus or minus this before exp, as in verl and SkyRL."""
_SLACK = 64
"""Machine epsilons by which a log-ratio may miss a bound that it means: the rounding of a difference of log-probabilities down to about -30."""


class RatioScope(StrEnum):
    """Over what a sequence ratio is taken when a trajectory has several segments."""

    SEGMENT = "segment"
    """Each row for itself."""
    TRAJECTORY = "trajectory"
    """All rows of a trajectory together."""


@dataclass(frozen=True, slots=True)
class Band:
    """An interval of ratios around 1, compared in log space with the bounds as they are stated in decimal.

    Attributes:
        low: Its lower bound, from 0.
        high: Its upper bound, above `low`.
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        """Refuse what is no interval.

        Raises:
            ValueError: Not 0 <= low < high.
        """
        if not 0 <= self.low < self.high:
            raise ValueError(f"a band has 0 <= low < high, and this is {self.low} to {self.high}")

    @classmethod
    def from_epsilons(cls, eps_low: float, eps_high: float) -> "Band":
        """The band from 1 - eps_low to 1 + eps_high, calculated in decimal: 1 - 0.8 is 0.2 and not the number next to it.

        Raises:
            ValueError: An epsilon is negative, or eps_low above 1.
        """
        if eps_low < 0 or eps_high < 0:
            raise ValueError(f"epsilons are not negative, and these are {eps_low} and {eps_high}")
        return cls(float(1 - Decimal(repr(float(eps_low)))), float(1 + Decimal(repr(float(eps_high)))))

    @property
    def log_bounds(self) -> tuple[float, float]:
        """The logarithms of both bounds."""
        return math.log(self.low) if self.low else -math.inf, math.log(self.high)

    def inside(self, log_ratio: Tensor) -> Tensor:
        """Where a log-ratio lies strictly between the bounds; one at a bound is outside."""
        low, high = self.log_bounds
        slack = _SLACK * torch.finfo(log_ratio.dtype).eps
        return (log_ratio > low + slack) & (log_ratio < high - slack)

    def within(self, log_ratio: Tensor) -> Tensor:
        """Where a log-ratio lies between the bounds; one at a bound is within."""
        low, high = self.log_bounds
        slack = _SLACK * torch.finfo(log_ratio.dtype).eps
        return (log_ratio >= low - slack) & (log_ratio <= high + slack)

    def ratio(self, log_ratio: Tensor) -> Tensor:
        """The ratios, those outside moved to the nearest bound before exp, so that nothing overflows."""
        low, high = self.log_bounds
        return log_ratio.clamp(low, high).exp()


def log_ratio(logp: Tensor, old_logp: Tensor, mask: Tensor, names: _Names = ("logp", "old_logp")) -> Tensor:
    """Unclamped logp - old_logp, 0 in dead positions.

    Args:
        logp: [rows, tokens] log-probabilities of the policy in the numerator; gradients flow.
        old_logp: [rows, tokens] those in the denominator; detached.
        mask: [rows, tokens].
        names: What the first two are called in an error.

    Raises:
        ValueError: Shapes differ, or a live log-probability is not finite.
    """
    mask = live_mask(mask, logp)
    return live_values(names[0], logp, mask) - live_values(names[1], old_logp.detach(), mask)


def token_ratio(logp: Tensor, old_logp: Tensor, mask: Tensor, names: _Names = ("logp", "old_logp")) -> Tensor:
    """exp(logp - old_logp) a token, its logarithm clamped to +-20; 1 in dead positions. Arguments and errors as of `log_ratio`."""
    return log_ratio(logp, old_logp, mask, names).clamp(-LOG_RATIO_LIMIT, LOG_RATIO_LIMIT).exp()


def sequence_log_ratio(
    logp: Tensor, old_logp: Tensor, mask: Tensor, *, mean: bool, trajectory_ids: RowIds | None = None, names: _Names = ("logp", "old_logp")
) -> Tensor:
    """The sum or the mean over live tokens of logp - old_logp, for each row.

    Args:
        logp: [rows, tokens]; gradients flow.
        old_logp: [rows, tokens]; detached.
        mask: [rows, tokens].
        mean: Divide by the count of live tokens: the logarithm of the geometric mean of the ratios. Otherwise that of their product.
        trajectory_ids: [rows]; rows of one id are one sequence and get the same value. None: each row is one.
        names: What the first two are called in an error.

    Returns:
        [rows], unclamped; 0 for a sequence without live tokens.

    Raises:
        ValueError: Shapes differ, or a live log-probability is not finite.
    """
    mask = live_mask(mask, logp)
    sums, counts = log_ratio(logp, old_logp, mask, names).sum(1), mask.sum(1)
    if trajectory_ids is not None:
        index, size = number(trajectory_ids, sums)
        sums = sums.new_zeros(size).index_add(0, index, sums)[index]
        counts = counts.new_zeros(size).index_add(0, index, counts)[index]
    return sums / counts.clamp(min=1) if mean else sums
