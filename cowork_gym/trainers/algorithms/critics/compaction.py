"""CompactionRL: advantages of a trajectory whose history was rewritten, so that it is several segments that share one terminal reward."""

from enum import StrEnum
from typing import NamedTuple

import torch
from torch import Tensor

from cowork_gym.trainers.algorithms.critics.gae import Gae, packed_gae, terminal_rewards
from cowork_gym.trainers.algorithms.critics.lengths import length_adaptive_lambda
from cowork_gym.trainers.algorithms.critics.packing import Packing
from cowork_gym.trainers.algorithms.ids import RowIds, number
from cowork_gym.trainers.algorithms.masked import live_mask, live_values

__all__ = ["CompactionAdvantages", "Reading", "SegmentPlaces", "compaction_advantages", "compaction_returns", "segment_places"]


class Reading(StrEnum):
    """What becomes of value estimation where a segment ends."""

    SEGMENT_LOCAL = "segment_local"
    """V = 0 after every segment, the reward at the end of every one, and earlier ones scaled by (gamma lambda)^(live tokens of later ones)."""
    CONCATENATED = "concatenated"
    """The first state after a rewrite follows the last one before it; the reward comes once, at the end."""


class SegmentPlaces(NamedTuple):
    """Where rows stand in their trajectories."""

    trajectory: Tensor
    """[rows] numbers of trajectories."""
    trajectories: int
    """How many there are."""
    optimised: Tensor
    """[rows] live tokens of the row."""
    before: Tensor
    """[rows] live tokens of the trajectory's earlier segments."""
    later: Tensor
    """[rows] live tokens of its later segments."""
    length: Tensor
    """[rows] live tokens of the whole trajectory."""


class CompactionAdvantages(NamedTuple):
    """Advantages, with what they were made of."""

    advantages: Tensor
    """[rows, tokens]; 0 in dead positions."""
    local: Tensor
    """[rows, tokens] before the cross-segment factor; the same as `advantages` in the concatenated reading."""
    factor: Tensor
    """[rows]: (gamma * lambda)^later; 1 in the concatenated reading."""
    lam: Tensor
    """[rows], equal within a trajectory."""
    places: SegmentPlaces
    """Where rows stand."""


def segment_places(mask: Tensor, trajectory_ids: RowIds, segment_index: Tensor) -> SegmentPlaces:
    """Counts live tokens before, in and after each segment of its trajectory.

    Args:
        mask: [rows, tokens], in any order of rows.
        trajectory_ids: [rows].
        segment_index: [rows] integers; only their order within a trajectory matters, so segments without live tokens may be left out.

    Raises:
        ValueError: Shapes differ, or a trajectory has two segments with live tokens and one index.
    """
    mask = live_mask(mask, mask)
    trajectory, size = number(trajectory_ids, mask)
    if segment_index.shape != trajectory.shape:
        raise ValueError(f"{len(segment_index)} segment indices do not fit {len(mask)} rows")
    segment_index = segment_index.to(mask.device)
    order = segment_index.argsort(stable=True)
    order = order[trajectory[order].argsort(stable=True)]
    optimised = mask.sum(1)
    live = order[optimised[order] > 0]
    if bool(((trajectory[live][1:] == trajectory[live][:-1]) & (segment_index[live][1:] == segment_index[live][:-1])).any()):
        raise ValueError("a trajectory has two segments of one index")
    totals = optimised.new_zeros(size).index_add(0, trajectory, optimised)
    running = optimised[order].cumsum(0) - optimised[order]
    before = torch.empty_like(optimised)
    before[order] = running - (totals.cumsum(0) - totals)[trajectory[order]]
    length = totals[trajectory]
    return SegmentPlaces(trajectory, size, optimised, before, length - before - optimised, length)


def compaction_advantages(
    rewards: Tensor,
    values: Tensor,
    mask: Tensor,
    trajectory_ids: RowIds,
    segment_index: Tensor,
    *,
    gamma: float = 1.0,
    alpha: float = 1.5,
    lam: float | None = None,
    reading: Reading = Reading.SEGMENT_LOCAL,
) -> CompactionAdvantages:
    """Advantages of policy tokens (Occamy C.2 after CompactionRL, arXiv:2607.05378): A = (gamma lambda)^(N later) * local masked GAE.

    With a critic that is zero everywhere both readings agree, and a split into segments changes nothing.

    Args:
        rewards: [rows] the trajectory's one terminal reward, on each of its rows.
        values: [rows, tokens]; detached, never read in dead positions.
        mask: [rows, tokens]: summaries that the policy wrote are live; those of the harness and replayed prefixes are not.
        trajectory_ids: [rows].
        segment_index: [rows].
        gamma: The discount.
        alpha: Of the length-adaptive lambda, whose length is that of the whole trajectory.
        lam: A fixed lambda instead.
        reading: What becomes of values where a segment ends.

    Raises:
        ValueError: Shapes differ; a live value or reward is not finite; segments of one trajectory have different rewards or one index; a
            parameter is outside of its range.
    """
    mask, places = live_mask(mask, values), segment_places(mask, trajectory_ids, segment_index)
    lam_of_row = length_adaptive_lambda(places.length, alpha) if lam is None else torch.full_like(places.length, lam, dtype=torch.float64)
    local = _gae(rewards, values, mask, places, gamma, lam_of_row, reading).advantages
    factor = (gamma * lam_of_row) ** places.later if Reading(reading) is Reading.SEGMENT_LOCAL else torch.ones_like(lam_of_row)
    return CompactionAdvantages((local * factor.unsqueeze(1)).to(local), local, factor, lam_of_row, places)


def compaction_returns(
    rewards: Tensor,
    values: Tensor,
    mask: Tensor,
    trajectory_ids: RowIds,
    segment_index: Tensor,
    *,
    gamma: float = 1.0,
    lam: float = 1.0,
    reading: Reading = Reading.SEGMENT_LOCAL,
) -> Tensor:
    """The critic's targets, [rows, tokens], 0 in dead positions: at gamma and lambda 1 the terminal reward at every optimised token.

    They carry no cross-segment factor: in the local reading each segment's value is that of a reward at its end. Arguments and errors as of
    `compaction_advantages`.
    """
    mask, places = live_mask(mask, values), segment_places(mask, trajectory_ids, segment_index)
    return _gae(rewards, values, mask, places, gamma, torch.full_like(places.length, lam, dtype=torch.float64), reading).returns


def _gae(rewards: Tensor, values: Tensor, mask: Tensor, places: SegmentPlaces, gamma: float, lam: Tensor, reading: Reading) -> Gae:
    _check_rewards(rewards, mask, places)
    at_ends = terminal_rewards(torch.where(mask.any(1), rewards, 0.0), mask)  # a segment without live tokens shares the reward and learns nothing
    if Reading(reading) is Reading.SEGMENT_LOCAL:
        return packed_gae(at_ends, values, Packing.of_rows(mask), gamma, lam)
    at_ends = at_ends * (places.later == 0).unsqueeze(1)
    lam_of_trajectory = lam.new_zeros(places.trajectories).index_copy(0, places.trajectory, lam)
    return packed_gae(at_ends, values, Packing.of_owners(mask, places.trajectory, places.before, places.trajectories), gamma, lam_of_trajectory)


def _check_rewards(rewards: Tensor, mask: Tensor, places: SegmentPlaces) -> None:
    live = mask.any(1)
    rewards, owner = live_values("rewards", rewards, live)[live], places.trajectory[live]
    of_trajectory = rewards.new_zeros(places.trajectories)
    of_trajectory[owner] = rewards
    different = of_trajectory[owner] != rewards
    if bool(different.any()):
        raise ValueError(f"the segments of trajectory number {int(owner[different][0])} have different rewards")
