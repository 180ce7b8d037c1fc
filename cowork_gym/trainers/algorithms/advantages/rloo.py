"""RLOO: a trajectory's reward against the mean of the others of its group."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from cowork_gym.trainers.algorithms.advantages.normalise import AdvantageCounts, Singleton, count
from cowork_gym.trainers.algorithms.groups import ZERO_TOL, Groups, Ids, Missing, Rewards, RowClass, read_rewards, require_tolerance

__all__ = ["RlooAdvantages", "rloo_advantages"]


@dataclass(frozen=True, slots=True, eq=False)
class RlooAdvantages:
    """One advantage a trajectory, with what it was held against.

    Attributes:
        advantages: [trajectories] in float64, 0 for one that does not count.
        baselines: [trajectories] the mean of the others; NaN for one that does not count or has no others.
        counted: [trajectories] truth values.
        keys: [groups] ids in the order of first appearance.
        counts: Who entered the statistics.
    """

    advantages: Tensor
    baselines: Tensor
    counted: Tensor
    keys: tuple[Hashable, ...]
    counts: AdvantageCounts


def rloo_advantages(
    rewards: Rewards,
    group_ids: Ids,
    *,
    zero_tol: float = ZERO_TOL,
    singleton: Singleton = Singleton.ZERO,
    classes: Sequence[RowClass] | None = None,
    missing: Missing = Missing.RAISE,
) -> RlooAdvantages:
    """R_i - mean of the others, which is n / (n - 1) * (R_i - mean) (Ahmadian 2024, arXiv:2402.14740).

    Args:
        rewards: [trajectories].
        group_ids: [trajectories].
        zero_tol: Groups whose rewards lie no further apart get exact zeros.
        singleton: A group of one gets 0 (SkyRL, verl's vectorised form) or its reward (verl's loop).
        classes: [trajectories]; all valid when None.
        missing: What to do with a reward that is None or NaN.

    Raises:
        ValueError: There are no rewards; lengths differ; the tolerance is negative or not finite; a reward is infinite, no number, or missing
            without leave.
    """
    require_tolerance(zero_tol)
    read = read_rewards(rewards, classes, missing)
    groups = Groups(group_ids, read.counted)
    size = groups.size[groups.index]
    compared = groups.counted & (size > 1)
    baselines = torch.where(compared, (groups.sum(read.values)[groups.index] - read.values) / (size - 1).clamp(min=1), torch.nan)
    zero = (groups.size > 1) & (groups.spread(read.values) <= zero_tol)
    advantages = torch.where(compared & ~zero[groups.index], read.values - baselines, 0.0)
    if Singleton(singleton) is Singleton.REWARD:
        advantages = torch.where(groups.counted & (size == 1), read.values, advantages)
    return RlooAdvantages(advantages, baselines, groups.counted, groups.keys, count(read, groups, zero))
