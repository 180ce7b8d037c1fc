"""Dynamic sampling: which groups of rollouts can teach something, decided on the raw metric and never on a shaped reward."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from torch import Tensor

from cowork_gym.trainers.algorithms.groups import ZERO_TOL, Groups, Ids, Missing, Rewards, RowClass, read_rewards, require_tolerance

__all__ = ["GroupSelection", "GroupVerdict", "select_groups"]


class GroupVerdict(StrEnum):
    """What becomes of a group."""

    KEPT = "kept"
    """Its rollouts differ."""
    ZERO_VARIANCE = "zero_variance"
    """Its rollouts are equal within the tolerance: all solved, or all failed."""
    SINGLETON = "singleton"
    """Only one of its rollouts counts."""
    EMPTY = "empty"
    """None of its rollouts counts."""


@dataclass(frozen=True, slots=True, eq=False)
class GroupSelection:
    """The groups that are kept, and why the others are not.

    Attributes:
        kept: [trajectories] truth values: its group is kept.
        verdicts: By group, in the order of first appearance. What has no group id, such as padding, is in none.
        invalid: Trajectories whose infrastructure failed.
        missing: Trajectories left out because their metric was missing.
    """

    kept: Tensor
    verdicts: Mapping[Hashable, GroupVerdict]
    invalid: int
    missing: int

    @property
    def counts(self) -> Mapping[GroupVerdict, int]:
        """How many groups there are of each verdict."""
        found = Counter(self.verdicts.values())
        return {one: found[one] for one in GroupVerdict}


def select_groups(
    metric: Rewards,
    group_ids: Ids,
    *,
    zero_tol: float = ZERO_TOL,
    classes: Sequence[RowClass] | None = None,
    missing: Missing = Missing.RAISE,
) -> GroupSelection:
    """Keep a group iff its largest metric exceeds its smallest by more than the tolerance.

    For metrics of 0 and 1 this is DAPO's 0 < correct < G (arXiv:2503.14476, equation 11). The metric is raw: a length penalty would make a
    group of failures look as if it could teach something.

    Args:
        metric: [trajectories] accuracies, or unshaped rewards.
        group_ids: [trajectories].
        zero_tol: Metrics that lie no further apart are equal.
        classes: [trajectories]; all valid when None. Loss-masked ones are looked at, invalid ones are not.
        missing: What to do with a metric that is None or NaN.

    Raises:
        ValueError: There are no metrics; lengths differ; the tolerance is negative; one is infinite, no number, or missing without leave.
    """
    require_tolerance(zero_tol)
    read = read_rewards(metric, classes, missing, "metric")
    groups = Groups(group_ids, read.counted)
    spreads = groups.spread(read.values)
    found = [_verdict(int(size), spread > zero_tol) for size, spread in zip(groups.size.tolist(), spreads.tolist(), strict=True)]
    keep = groups.size.new_tensor([one is GroupVerdict.KEPT for one in found]).bool()
    verdicts = {key: one for key, one in zip(groups.keys, found, strict=True) if key is not None}
    return GroupSelection(keep[groups.index], verdicts, read.invalid, read.missing)


def _verdict(size: int, differs: bool) -> GroupVerdict:
    if size == 0:
        return GroupVerdict.EMPTY
    if size == 1:
        return GroupVerdict.SINGLETON
    return GroupVerdict.KEPT if differs else GroupVerdict.ZERO_VARIANCE
