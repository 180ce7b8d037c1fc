"""From values of a group to group-relative advantages: what is subtracted, and by what is divided."""

from collections.abc import Hashable
from dataclasses import dataclass
from enum import StrEnum

import torch
from torch import Tensor

from cowork_gym.trainers.algorithms.groups import ZERO_TOL, Groups, Read

__all__ = ["CENTRED", "AdvantageCounts", "Denominator", "GroupAdvantages", "Normaliser", "Singleton", "count"]


class Denominator(StrEnum):
    """By what a group's centred values are divided."""

    MAX_STD_FLOOR = "max(std,floor)"
    """CoworkEnv's floor in the reading that is our default."""
    STD_PLUS_FLOOR = "std+floor"
    """CoworkEnv's floor in the additive reading."""
    STD_PLUS_EPS = "std+eps"
    """GRPO as published and as in verl, slime and TRL."""
    NONE = "none"
    """Nothing: Dr.GRPO, GiGPO's mean norm, Dressage."""


class Singleton(StrEnum):
    """The advantage of a group's only counted member."""

    ZERO = "zero"
    """It has nothing to be compared with."""
    REWARD = "reward"
    """verl's behaviour: its value over a std of 1. An update of one sign, and biased."""


@dataclass(frozen=True, slots=True)
class AdvantageCounts:
    """Who entered the statistics and who did not.

    Attributes:
        counted: Trajectories in the statistics.
        invalid: Trajectories whose infrastructure failed.
        padding: Rows that are no trajectory.
        missing: Trajectories left out because a value was missing.
        groups: Groups with a counted trajectory. They are valid, whatever their variance.
        empty_groups: Groups without one. What has no group id, such as padding, is in none.
        singletons: Groups with just one.
        zero_variance: Groups of several whose values are equal within the tolerance.
    """

    counted: int
    invalid: int
    padding: int
    missing: int
    groups: int
    empty_groups: int
    singletons: int
    zero_variance: int


@dataclass(frozen=True, slots=True, eq=False)
class GroupAdvantages:
    """One advantage a trajectory, with the statistics behind it.

    Attributes:
        advantages: [trajectories] in float64, 0 for one that does not count.
        counted: [trajectories] truth values: it entered the statistics.
        keys: [groups] ids in the order of first appearance.
        mean: [groups].
        std: [groups]; 0 for groups of no more members than ddof.
        denominator: [groups] by what the centred values were divided.
        valid: [groups] truth values: it has a counted trajectory.
        zero_variance: [groups] truth values; a singleton is none.
        counts: Who entered the statistics.
    """

    advantages: Tensor
    counted: Tensor
    keys: tuple[Hashable, ...]
    mean: Tensor
    std: Tensor
    denominator: Tensor
    valid: Tensor
    zero_variance: Tensor
    counts: AdvantageCounts


@dataclass(frozen=True, slots=True)
class Normaliser:
    """How a group's values become advantages. The defaults are CoworkEnv's GRPO: max(std, 0.05).

    Attributes:
        denominator: By what is divided.
        floor: Of the two floor rules.
        eps: Of std+eps.
        ddof: 1 is the sample standard deviation (verl, slime, SkyRL, TRL), 0 the population's (Dressage).
        zero_tol: Variance is zero when max - min is at most this; never decided from std == 0, which rounding spoils.
        singleton: What becomes of a group of one.
    """

    denominator: Denominator = Denominator.MAX_STD_FLOOR
    floor: float = 0.05
    eps: float = 1e-6
    ddof: int = 1
    zero_tol: float = ZERO_TOL
    singleton: Singleton = Singleton.ZERO

    def __post_init__(self) -> None:
        """Refuse what is no normaliser.

        Raises:
            ValueError: A number is negative or not finite, ddof is neither 0 nor 1, or a name is unknown.
        """
        Denominator(self.denominator), Singleton(self.singleton)
        if self.ddof not in (0, 1):
            raise ValueError(f"ddof is 0 or 1, and this is {self.ddof}")
        for name, value in (("floor", self.floor), ("eps", self.eps), ("zero_tol", self.zero_tol)):
            if not 0 <= value < float("inf"):
                raise ValueError(f"{name} is a finite number from 0, and this is {value}")

    def divisor(self, std: Tensor) -> Tensor:
        """By what values with these standard deviations are divided."""
        match Denominator(self.denominator):
            case Denominator.MAX_STD_FLOOR:
                return std.clamp(min=self.floor)
            case Denominator.STD_PLUS_FLOOR:
                return std + self.floor
            case Denominator.STD_PLUS_EPS:
                return std + self.eps
            case Denominator.NONE:
                return torch.ones_like(std)

    def normalise(self, values: Tensor, groups: Groups) -> tuple[Tensor, Tensor, Tensor]:
        """Centre and divide inside each group.

        Args:
            values: [members] in float64, finite where counted.
            groups: Who belongs together.

        Returns:
            [members] advantages, 0 where not counted; [groups] denominators; [groups] which have zero variance.
        """
        divisor = self.divisor(groups.std(values, self.ddof))
        # a spread above the tolerance can still have a std that underflows to 0
        zero = (groups.size > 1) & ((groups.spread(values) <= self.zero_tol) | (divisor == 0))
        centred = (values - groups.mean(values)[groups.index]) / torch.where(divisor == 0, 1.0, divisor)[groups.index]
        flat = zero | (groups.size < 2)
        advantages = torch.where(groups.counted & ~flat[groups.index], centred, 0.0)
        if Singleton(self.singleton) is Singleton.REWARD:
            kept = values / self.divisor(torch.ones((), dtype=torch.float64))
            advantages = torch.where(groups.counted & (groups.size == 1)[groups.index], kept, advantages)
        return advantages, divisor, zero

    def advantages(self, read: Read, groups: Groups) -> GroupAdvantages:
        """`normalise` with everything that is to be told about it."""
        advantages, divisor, zero = self.normalise(read.values, groups)
        return GroupAdvantages(
            advantages,
            groups.counted,
            groups.keys,
            groups.mean(read.values),
            groups.std(read.values, self.ddof),
            divisor,
            groups.size > 0,
            zero,
            count(read, groups, zero),
        )


CENTRED = Normaliser(Denominator.NONE)
"""The mean is subtracted and nothing else is done."""


def count(read: Read, groups: Groups, zero_variance: Tensor) -> AdvantageCounts:
    """Who entered the statistics, with [groups] truth values of zero variance."""
    return AdvantageCounts(
        counted=int(groups.counted.sum()),
        invalid=read.invalid,
        padding=read.padding,
        missing=read.missing,
        groups=int((groups.size > 0).sum()),
        empty_groups=sum(1 for key, size in zip(groups.keys, groups.size.tolist(), strict=True) if not size and key is not None),
        singletons=int((groups.size == 1).sum()),
        zero_variance=int(zero_variance.sum()),
    )
