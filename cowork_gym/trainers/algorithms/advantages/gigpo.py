"""GiGPO: an episode's advantage in its group plus a step's advantage among steps taken in the same state."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import torch
from torch import Tensor

from cowork_gym.trainers.algorithms.advantages.normalise import AdvantageCounts, Denominator, Normaliser, count
from cowork_gym.trainers.algorithms.groups import ZERO_TOL, Groups, Ids, Missing, Read, Rewards, RowClass, read_classes, read_ids, read_rewards

__all__ = ["GigpoAdvantages", "StepNorm", "discounted_returns", "gigpo_advantages"]


class StepNorm(StrEnum):
    """By what centred values are divided, in groups and in clusters alike."""

    MEAN = "mean_norm"
    """Nothing (F = 1)."""
    MEAN_STD = "mean_std"
    """The standard deviation plus eps."""


@dataclass(frozen=True, slots=True, eq=False)
class _Steps:
    """Steps as they enter statistics: without those of trajectories that miss a reward; what is padding belongs to nobody."""

    ids: list[Hashable]
    keys: list[Hashable]
    anchors: list[Hashable]
    read: Read
    anchored: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class GigpoAdvantages:
    """One advantage a step.

    Attributes:
        advantages: [steps] in float64: episode + omega * step; 0 for steps of trajectories that do not count.
        episode: [steps] the advantage of the step's trajectory, which statistics count once; 0 for one that is alone in its group.
        step: [steps] the advantage among steps of one group with equal anchors; 0 for a step that is alone there or has no anchor.
            A state that a trajectory visits twice is there twice.
        returns: [steps] discounted returns from each step on.
        counted: [steps] truth values.
        cluster_sizes: How many clusters have each size.
        missing_anchors: Counted steps without an anchor: they have no step advantage.
        counts: Trajectories in the episode statistics.
    """

    advantages: Tensor
    episode: Tensor
    step: Tensor
    returns: Tensor
    counted: Tensor
    cluster_sizes: Mapping[int, int]
    missing_anchors: int
    counts: AdvantageCounts


def discounted_returns(rewards: Rewards, trajectory_ids: Ids, gamma: float) -> Tensor:
    """G_t = r_t + gamma * G of the trajectory's next step.

    Args:
        rewards: [steps]; steps of a trajectory are in their order, trajectories may be interleaved.
        trajectory_ids: [steps].
        gamma: The discount a step.

    Returns:
        [steps] in float64.

    Raises:
        ValueError: There are no rewards; lengths differ; gamma is not in [0, 1]; a reward is missing or infinite.
    """
    if not 0 <= gamma <= 1:
        raise ValueError(f"gamma is from 0 to 1, and this is {gamma}")
    values = read_rewards(rewards).values.tolist()
    ids = read_ids(trajectory_ids, len(values), "trajectory_ids")
    following: dict[Hashable, float] = {}
    returns = [0.0] * len(ids)
    for place, reward in zip(reversed(range(len(ids))), reversed(values), strict=True):
        returns[place] = following[ids[place]] = reward + gamma * following.get(ids[place], 0.0)
    return torch.tensor(returns, dtype=torch.float64)


def gigpo_advantages(
    rewards: Rewards,
    trajectory_ids: Ids,
    group_ids: Ids,
    anchors: Ids,
    *,
    gamma: float = 0.95,
    omega: float = 1.0,
    norm: StepNorm = StepNorm.MEAN,
    ddof: int = 1,
    eps: float = 1e-6,
    zero_tol: float = ZERO_TOL,
    classes: Sequence[RowClass] | None = None,
    missing: Missing = Missing.RAISE,
    missing_anchor: Missing = Missing.RAISE,
) -> GigpoAdvantages:
    """A^E + omega * A^S (Feng 2025, arXiv:2505.10978, equations 3 and 6 to 8).

    Args:
        rewards: [steps]; steps of a trajectory are in their order.
        trajectory_ids: [steps].
        group_ids: [steps], equal on all steps of a trajectory.
        anchors: [steps] exact keys, see `anchor_keys`; None where there is none.
        gamma: The discount a step.
        omega: The weight of the step's advantage.
        norm: By what centred values are divided.
        ddof: Of the standard deviation.
        eps: Added to it.
        zero_tol: Values that lie no further apart have zero variance.
        classes: [steps], equal on all steps of a trajectory as far as statistics go; all valid when None.
        missing: What to do with a reward that is None or NaN; left out is its whole trajectory.
        missing_anchor: What to do with a counted step without an anchor; left out is its step advantage.

    Raises:
        ValueError: Lengths differ; a trajectory is in two groups or counts only in part; gamma or omega is no such number;
            a reward is infinite; a reward or an anchor is missing without leave.
    """
    steps = _read_steps(rewards, trajectory_ids, group_ids, anchors, classes, missing, Missing(missing_anchor))
    denominator = Denominator.NONE if StepNorm(norm) is StepNorm.MEAN else Denominator.STD_PLUS_EPS
    return _joint(steps, Normaliser(denominator, eps=eps, ddof=ddof, zero_tol=zero_tol), gamma, omega)


def _read_steps(
    rewards: Rewards,
    trajectory_ids: Ids,
    group_ids: Ids,
    anchors: Ids,
    classes: Sequence[RowClass] | None,
    missing: Missing,
    missing_anchor: Missing,
) -> _Steps:
    read = read_rewards(rewards, classes, missing)
    kinds = read_classes(classes, len(read.values))
    ids, keys, states = (
        [None if kind is RowClass.PADDING else one for one, kind in zip(read_ids(given, len(kinds), name), kinds, strict=True)]
        for given, name in ((trajectory_ids, "trajectory_ids"), (group_ids, "group_ids"), (anchors, "anchors"))
    )
    kept = _whole_trajectories(ids, keys, read, kinds)
    anchored = torch.tensor([one is not None for one in states], dtype=torch.bool)
    lost = kept.counted & ~anchored
    if bool(lost.any()) and missing_anchor is Missing.RAISE:
        raise ValueError(f"anchors[{int(lost.nonzero()[0])}] is missing; a step without one is left out on request")
    return _Steps(ids, keys, states, kept, anchored)


def _joint(steps: _Steps, normaliser: Normaliser, gamma: float, omega: float) -> GigpoAdvantages:
    if not 0 <= omega < float("inf"):
        raise ValueError(f"omega is a finite number from 0, and this is {omega}")
    counted = steps.read.counted
    episode, counts = _episodes(steps.ids, steps.keys, steps.read, normaliser)
    returns = discounted_returns(steps.read.values, steps.ids, gamma)
    clusters = Groups(list(zip(steps.keys, steps.anchors, strict=True)), counted & steps.anchored, "anchors")
    step = normaliser.normalise(returns, clusters)[0]
    sizes = Counter(int(one) for one in clusters.size.tolist() if one)
    lost = int((counted & ~steps.anchored).sum())
    return GigpoAdvantages(episode + omega * step, episode, step, returns, counted, dict(sorted(sizes.items())), lost, counts)


def _whole_trajectories(ids: Sequence[Hashable], keys: Sequence[Hashable], read: Read, classes: Sequence[RowClass]) -> Read:
    """Rewards of steps without those of trajectories that miss one; counts are of trajectories."""
    first: dict[Hashable, tuple[Hashable, RowClass]] = {}
    incomplete: set[Hashable] = set()
    for place, (one, key, kind, counts) in enumerate(zip(ids, keys, classes, read.counted.tolist(), strict=True)):
        if kind is RowClass.PADDING:
            continue
        if one is None:
            raise ValueError(f"trajectory_ids[{place}] is missing")
        group, before = first.setdefault(one, (key, kind))
        if group != key or before.counts is not kind.counts:
            raise ValueError(f"step {place} disagrees with an earlier one of trajectory {one!r} about its group or class")
        if kind.counts and not counts:
            incomplete.add(one)
    counted = read.counted & ~torch.tensor([one in incomplete for one in ids], dtype=torch.bool)
    invalid = sum(1 for _, kind in first.values() if kind is RowClass.INVALID)
    return Read(torch.where(counted, read.values, 0.0), counted, invalid, read.padding, len(incomplete))


def _episodes(ids: Sequence[Hashable], keys: Sequence[Hashable], read: Read, normaliser: Normaliser) -> tuple[Tensor, AdvantageCounts]:
    """Each step's episode advantage, from statistics that count a trajectory once; and who is in them."""
    trajectories = Groups(ids, read.counted, "trajectory_ids")
    group_of = dict(zip(ids, keys, strict=True))
    groups = Groups([group_of[one] for one in trajectories.keys], trajectories.size > 0)
    advantages, _, zero = normaliser.normalise(trajectories.sum(read.values), groups)
    return torch.where(read.counted, advantages[trajectories.index], 0.0), count(read, groups, zero)
