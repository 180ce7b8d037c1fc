"""Between trajectories and the rows that they are trained in: one trajectory of k segments counts once and is trained in k rows."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from cowork_gym.trainers.algorithms.groups import Ids, Rewards, RowClass, read_classes, read_ids
from cowork_gym.trainers.algorithms.masked import live_mask

__all__ = ["Trajectories", "collect_trajectories", "mask_rows", "to_rows", "to_tokens"]


@dataclass(frozen=True, slots=True)
class Trajectories:
    """What rows say of their trajectories, once each.

    Attributes:
        ids: [trajectories] in the order of first appearance.
        rewards: [trajectories].
        group_ids: [trajectories].
        classes: [trajectories].
    """

    ids: tuple[Hashable, ...]
    rewards: tuple[float | None, ...]
    group_ids: tuple[Hashable, ...]
    classes: tuple[RowClass, ...]


def collect_trajectories(trajectory_ids: Ids, rewards: Rewards, group_ids: Ids, classes: Sequence[RowClass] | None = None) -> Trajectories:
    """The trajectories of rows that each carry their trajectory's reward. Rows of padding are passed over.

    Args:
        trajectory_ids: [rows].
        rewards: [rows], equal on all rows of a trajectory.
        group_ids: [rows], likewise.
        classes: [rows]; all valid when None. A trajectory is loss-masked when all its counting rows are.

    Raises:
        ValueError: Lengths differ; rows of one trajectory disagree; a row has no trajectory.
    """
    ids = read_ids(trajectory_ids, len(trajectory_ids), "trajectory_ids")
    values: list[float | None] = rewards.tolist() if isinstance(rewards, Tensor) else list(rewards)
    if len(values) != len(ids):
        raise ValueError(f"there are {len(values)} rewards for {len(ids)} rows")
    groups, kinds = read_ids(group_ids, len(ids)), read_classes(classes, len(ids))
    found: dict[Hashable, tuple[float | None, Hashable, RowClass]] = {}
    for place, (one, value, group, kind) in enumerate(zip(ids, values, groups, kinds, strict=True)):
        if kind is RowClass.PADDING:
            continue
        if one is None:
            raise ValueError(f"trajectory_ids[{place}] is missing")
        value = None if value != value else value  # NaN is not equal to itself
        first = found.setdefault(one, (value, group, kind))
        if first[:2] != (value, group) or first[2].counts is not kind.counts:
            raise ValueError(f"row {place} disagrees with an earlier one of trajectory {one!r} about its reward, group or class")
        if kind is RowClass.VALID and first[2] is RowClass.LOSS_MASKED:
            found[one] = (value, group, kind)
    return Trajectories(
        tuple(found),
        tuple(value for value, _, _ in found.values()),
        tuple(group for _, group, _ in found.values()),
        tuple(kind for _, _, kind in found.values()),
    )


def to_rows(advantages: Tensor, trajectory_ids: Ids, row_trajectory_ids: Ids, classes: Sequence[RowClass] | None = None) -> Tensor:
    """Each row's advantage: that of its trajectory.

    Args:
        advantages: [trajectories]; truth values (a result's `counted`) may be spread in the same way.
        trajectory_ids: [trajectories], all different.
        row_trajectory_ids: [rows].
        classes: [rows]; rows of padding get 0 and need no trajectory.

    Returns:
        [rows] of the dtype of `advantages`.

    Raises:
        ValueError: Lengths differ; a trajectory id stands twice; a row's trajectory is unknown.
    """
    ids = read_ids(trajectory_ids, len(advantages), "trajectory_ids")
    places = {one: place for place, one in enumerate(ids)}
    if len(places) != len(ids):
        raise ValueError("a trajectory id stands twice")
    rows = read_ids(row_trajectory_ids, len(row_trajectory_ids), "row_trajectory_ids")
    spread = advantages.new_zeros(len(rows))
    for place, (one, kind) in enumerate(zip(rows, read_classes(classes, len(rows)), strict=True)):
        if kind is RowClass.PADDING:
            continue
        if one not in places:
            raise ValueError(f"row {place} is of trajectory {one!r}, which has no advantage")
        spread[place] = advantages[places[one]]
    return spread


def to_tokens(row_advantages: Tensor, mask: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """Each token's advantage: that of its row where live, 0 elsewhere.

    Args:
        row_advantages: [rows].
        mask: [rows, tokens], 1 = token in the loss.
        dtype: Of the result.

    Returns:
        [rows, tokens] on the device of the mask.

    Raises:
        ValueError: The numbers of rows differ, or the mask is not of 0 and 1.
    """
    if mask.dim() != 2 or row_advantages.shape != mask.shape[:1]:
        raise ValueError(f"{list(row_advantages.shape)} advantages do not fit a mask of shape {list(mask.shape)}")
    spread = row_advantages.to(device=mask.device, dtype=dtype).unsqueeze(1).expand(mask.shape)
    return torch.where(live_mask(mask, spread), spread, torch.zeros((), dtype=dtype, device=mask.device))


def mask_rows(mask: Tensor, classes: Sequence[RowClass] | None = None, counted: Tensor | None = None) -> Tensor:
    """A loss mask without the rows that do not train.

    Args:
        mask: [rows, tokens].
        classes: [rows]; all valid when None.
        counted: [rows] truth values: the trajectory entered the statistics. Without them a left-out trajectory would stay in denominators.

    Returns:
        [rows, tokens] truth values.

    Raises:
        ValueError: There are not as many classes or truth values as rows, or the mask is not of 0 and 1.
    """
    trains = torch.tensor([one.trains for one in read_classes(classes, len(mask))], dtype=torch.bool, device=mask.device)
    if counted is not None:
        if counted.shape != trains.shape:
            raise ValueError(f"{list(counted.shape)} truth values do not fit a mask of shape {list(mask.shape)}")
        trains = trains & counted.to(device=mask.device, dtype=torch.bool)
    return live_mask(mask, mask) & trains.unsqueeze(1)
