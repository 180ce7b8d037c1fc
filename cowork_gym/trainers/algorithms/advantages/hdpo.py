"""HDPO: accuracy and efficiency as two advantages; efficiency is compared only among rollouts that are equally accurate."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import torch
from torch import Tensor

from cowork_gym.trainers.algorithms.advantages.grpo import COWORK_ENV
from cowork_gym.trainers.algorithms.advantages.normalise import Denominator, GroupAdvantages, Normaliser
from cowork_gym.trainers.algorithms.groups import ZERO_TOL, Groups, Ids, Missing, Read, Rewards, RowClass, read_amounts, read_rewards

__all__ = [
    "EfficiencyAdvantages",
    "HdpoAdvantages",
    "Strata",
    "efficiency_advantages",
    "hdpo_advantages",
    "original_efficiency_advantages",
    "sum_of_losses",
]


class Strata(StrEnum):
    """Among whom efficiency is compared."""

    EQUAL_ACCURACY = "equal_accuracy"
    """Inside every accuracy stratum of a group, also among failures (Occamy)."""
    SUCCESS_ONLY = "success_only"
    """Among the successes of a group only; the others get 0 (the original HDPO)."""


@dataclass(frozen=True, slots=True, eq=False)
class EfficiencyAdvantages:
    """One efficiency advantage a trajectory.

    Attributes:
        advantages: [trajectories] in float64, 0 for one that does not count or has nobody to be compared with.
        stratum_size: [trajectories] with how many, itself included, each is compared; 0 for one that does not count or is not compared at all.
        counted: [trajectories] truth values.
        singletons: How many have nobody to be compared with.
        invalid: Trajectories whose infrastructure failed.
        missing: Trajectories left out because their accuracy was missing.
    """

    advantages: Tensor
    stratum_size: Tensor
    counted: Tensor
    singletons: int
    invalid: int
    missing: int


@dataclass(frozen=True, slots=True, eq=False)
class HdpoAdvantages:
    """Two advantages a trajectory. They are clipped separately, and the two losses are summed.

    Attributes:
        accuracy: Group-relative accuracy.
        efficiency: Efficiency among the equally accurate.
        w_acc: The weight of the accuracy loss.
        w_eff: The weight of the efficiency loss.
    """

    accuracy: GroupAdvantages
    efficiency: EfficiencyAdvantages
    w_acc: float
    w_eff: float

    @property
    def combined(self) -> Tensor:
        """[trajectories] the weighted sum at the level of advantages: equal to the sum of losses only inside the clip band."""
        return self.w_acc * self.accuracy.advantages + self.w_eff * self.efficiency.advantages

    def loss(self, surrogate: Callable[[Tensor], Tensor]) -> Tensor:
        """The weighted sum of two separately clipped losses.

        Args:
            surrogate: From advantages [trajectories] to a loss, of any shape; it clips by itself.
        """
        return sum_of_losses(surrogate, self.accuracy.advantages, self.efficiency.advantages, self.w_acc, self.w_eff)


@dataclass(frozen=True, slots=True)
class _Comparison:
    """How efficiency is compared: the options of `efficiency_advantages`, the last one being that of a standard deviation."""

    strata: Strata
    tolerance: float
    bins: Sequence[float] | None
    success: float
    deviation: Normaliser | None

    def __post_init__(self) -> None:
        Strata(self.strata)
        if not 0 <= self.tolerance < float("inf"):
            raise ValueError(f"tolerance is a finite number from 0, and this is {self.tolerance}")
        if not abs(self.success) < float("inf"):
            raise ValueError(f"success is a finite number, and this is {self.success}")

    def advantages(self, accuracy: Read, steps: Sequence[float] | Tensor, group_ids: Ids) -> EfficiencyAdvantages:
        taken, groups = read_amounts(steps, accuracy.counted, "steps"), Groups(group_ids, accuracy.counted)
        compared, levels = accuracy.counted, _levels(accuracy.values, self.bins)
        if Strata(self.strata) is Strata.SUCCESS_ONLY:
            compared = compared & (accuracy.values >= self.success - self.tolerance)
        advantages, sizes = torch.zeros_like(accuracy.values), torch.zeros_like(accuracy.values)
        for number in range(len(groups.keys)):
            members = (compared & (groups.index == number)).nonzero()[:, 0]
            peers = self._peers(levels[members])
            rewards = _among(peers, taken[members])
            advantages[members] = rewards if self.deviation is None else _standardised(peers, rewards, self.deviation.ddof, self.deviation.zero_tol)
            sizes[members] = peers.sum(1)
        return _efficiency(advantages, sizes, accuracy)

    def _peers(self, levels: Tensor) -> Tensor:
        """[members, members] 1 where two are compared, 0 elsewhere."""
        if Strata(self.strata) is Strata.SUCCESS_ONLY:
            return torch.ones((len(levels), len(levels)), dtype=torch.float64)
        gaps = (levels.unsqueeze(1) - levels).abs()
        return (gaps <= (self.tolerance if self.bins is None else 0)).to(torch.float64)


def efficiency_advantages(
    accuracy: Rewards,
    steps: Sequence[float] | Tensor,
    group_ids: Ids,
    *,
    strata: Strata = Strata.EQUAL_ACCURACY,
    tolerance: float = 1e-6,
    bins: Sequence[float] | None = None,
    success: float = 1.0,
    std_normalise: bool = False,
    ddof: int = 1,
    zero_tol: float = ZERO_TOL,
    classes: Sequence[RowClass] | None = None,
    missing: Missing = Missing.RAISE,
) -> EfficiencyAdvantages:
    """(mean steps - steps) / mean steps among the equally accurate of a group (Occamy-1.0, section 5.2): its reward is the advantage.

    Args:
        accuracy: [trajectories] terminal rewards.
        steps: [trajectories] interaction steps, from 0.
        group_ids: [trajectories].
        strata: Among whom it is compared.
        tolerance: Accuracies are equal that differ by no more. Where it is larger than gaps between scores, strata overlap; use bins then.
        bins: Ascending edges; accuracies between the same two edges (from the lower one on) are equal instead.
        success: A success has at least this accuracy, within the tolerance.
        std_normalise: Divide by the stratum's standard deviation. Two members then always get the same advantages whatever their gap.
        ddof: Of that standard deviation.
        zero_tol: Efficiencies that lie no further apart have zero variance.
        classes: [trajectories]; all valid when None.
        missing: What to do with an accuracy that is None or NaN.

    Raises:
        ValueError: Lengths differ; steps or an option are out of range; bins do not ascend; an accuracy is infinite or missing without leave.
    """
    read = read_rewards(accuracy, classes, missing, "accuracy")
    deviation = Normaliser(ddof=ddof, zero_tol=zero_tol)
    return _Comparison(strata, tolerance, bins, success, deviation if std_normalise else None).advantages(read, steps, group_ids)


def original_efficiency_advantages(
    correct: Sequence[bool | int] | Tensor,
    tool_calls: Sequence[float] | Tensor,
    group_ids: Ids,
    *,
    eps: float = 0.0,
    ddof: int = 1,
    zero_tol: float = ZERO_TOL,
    classes: Sequence[RowClass] | None = None,
) -> EfficiencyAdvantages:
    """1 / (tool calls + 1), z-scored among the correct rollouts of a group; 0 for the others, and where fewer than two are correct.

    Yan 2026, arXiv:2604.08545, after public summaries.

    Args:
        correct: [trajectories].
        tool_calls: [trajectories], from 0.
        group_ids: [trajectories].
        eps: Added to the standard deviation.
        ddof: Of the standard deviation.
        zero_tol: Values that lie no further apart have zero variance.
        classes: [trajectories]; all valid when None.

    Raises:
        ValueError: Lengths differ; one that counts is neither correct nor not; a number of calls is negative or not finite.
    """
    read = read_rewards(correct, classes, name="correct")
    if not bool(((read.values == 0) | (read.values == 1)).all()):
        raise ValueError("correct holds only 0 and 1")
    groups = Groups(group_ids, read.counted & (read.values == 1))
    normaliser = Normaliser(Denominator.STD_PLUS_EPS, eps=eps, ddof=ddof, zero_tol=zero_tol)
    advantages = normaliser.normalise(1 / (read_amounts(tool_calls, read.counted, "tool_calls") + 1), groups)[0]
    sizes = torch.where(groups.counted, groups.size[groups.index], 0.0)
    return _efficiency(advantages, sizes, read)


def hdpo_advantages(
    accuracy: Rewards,
    steps: Sequence[float] | Tensor,
    group_ids: Ids,
    *,
    w_acc: float = 1.0,
    w_eff: float = 0.1,
    normaliser: Normaliser = COWORK_ENV,
    strata: Strata = Strata.EQUAL_ACCURACY,
    tolerance: float = 1e-6,
    bins: Sequence[float] | None = None,
    success: float = 1.0,
    std_normalise: bool = False,
    classes: Sequence[RowClass] | None = None,
    missing: Missing = Missing.RAISE,
) -> HdpoAdvantages:
    """Accuracy normalised as in GRPO beside Occamy's efficiency.

    `normaliser` is that of accuracy; its ddof and tolerance hold for a standard deviation of efficiency too. `w_acc` and `w_eff` are the
    weights of the two losses. The other arguments are those of `efficiency_advantages`.

    Raises:
        ValueError: A weight is not finite; and see `efficiency_advantages`.
    """
    if not all(abs(one) < float("inf") for one in (w_acc, w_eff)):
        raise ValueError(f"weights are finite, and these are {w_acc} and {w_eff}")
    read = read_rewards(accuracy, classes, missing, "accuracy")
    comparison = _Comparison(strata, tolerance, bins, success, normaliser if std_normalise else None)
    efficiency = comparison.advantages(read, steps, group_ids)
    return HdpoAdvantages(normaliser.advantages(read, Groups(group_ids, read.counted)), efficiency, w_acc, w_eff)


def sum_of_losses(surrogate: Callable[[Tensor], Tensor], accuracy: Tensor, efficiency: Tensor, w_acc: float = 1.0, w_eff: float = 0.1) -> Tensor:
    """w_acc * L(accuracy) + w_eff * L(efficiency): each is clipped for itself.

    Args:
        surrogate: From advantages to a loss, of any shape; it clips by itself.
        accuracy: Advantages of whatever shape the surrogate takes.
        efficiency: Advantages of the same shape.
        w_acc: The weight of the accuracy loss.
        w_eff: The weight of the efficiency loss.
    """
    return w_acc * surrogate(accuracy) + w_eff * surrogate(efficiency)


def _efficiency(advantages: Tensor, sizes: Tensor, read: Read) -> EfficiencyAdvantages:
    return EfficiencyAdvantages(advantages, sizes, read.counted, int((sizes == 1).sum()), read.invalid, read.missing)


def _levels(accuracy: Tensor, bins: Sequence[float] | None) -> Tensor:
    """What is held against each other: the accuracies, or the numbers of their bins."""
    if bins is None:
        return accuracy
    edges = torch.tensor(list(bins), dtype=torch.float64)
    if not len(edges) or not bool((edges[1:] > edges[:-1]).all()):
        raise ValueError("bins are given by ascending edges")
    return torch.bucketize(accuracy, edges, right=True).to(torch.float64)


def _among(peers: Tensor, steps: Tensor) -> Tensor:
    """(mean - own) / mean over the peers, a matrix of 0 and 1; 0 where the mean is 0 or there is nobody else."""
    mean = peers @ steps / peers.sum(1)
    return torch.where((mean > 0) & (peers.sum(1) > 1), (mean - steps) / torch.where(mean > 0, mean, 1.0), 0.0)


def _standardised(peers: Tensor, values: Tensor, ddof: int, zero_tol: float) -> Tensor:
    """Values over the standard deviation of their peers; 0 where these do not vary."""
    size = peers.sum(1)
    away = values - (peers @ values / size).unsqueeze(1)
    std = ((peers * away.square()).sum(1) / (size - ddof).clamp(min=1)).sqrt()
    spread = torch.where(peers > 0, values, -torch.inf).amax(1) - torch.where(peers > 0, values, torch.inf).amin(1) if len(values) else values
    return torch.where((spread > zero_tol) & (std > 0), values / torch.where(std > 0, std, 1.0), 0.0)
