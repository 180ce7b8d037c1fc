"""Navalia's shared anchor advantage: a trajectory's last segment carries the reward, and all its segments share the advantage."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

from cowork_gym.trainers.algorithms.advantages.grpo import COWORK_ENV, grpo_advantages
from cowork_gym.trainers.algorithms.advantages.normalise import GroupAdvantages, Normaliser
from cowork_gym.trainers.algorithms.advantages.rows import to_rows
from cowork_gym.trainers.algorithms.groups import Ids, Missing, Rewards, RowClass, read_classes, read_ids
from cowork_gym.trainers.algorithms.sampling import GroupSelection, select_groups

__all__ = ["AnchorAdvantages", "anchor_advantages"]

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, eq=False)
class AnchorAdvantages:
    """One advantage a row, the same for all rows of a trajectory.

    Attributes:
        advantages: [rows] in float64; 0 for rows that do not count.
        in_loss: [rows] truth values: its tokens may be trained.
        trajectory_ids: [trajectories] in the order of first appearance.
        anchors: The row that each trajectory's reward was read from.
        trajectories: One advantage a trajectory, with the statistics behind it.
        selection: Which groups dynamic sampling keeps, by the anchors' rewards.
        truncated: How many trajectories are out of the loss because a response reached the length limit.
    """

    advantages: Tensor
    in_loss: Tensor
    trajectory_ids: tuple[Hashable, ...]
    anchors: Mapping[Hashable, int]
    trajectories: GroupAdvantages
    selection: GroupSelection
    truncated: int


def anchor_advantages(
    rewards: Rewards,
    segment_index: Sequence[int] | Tensor,
    trajectory_ids: Ids,
    group_ids: Ids,
    *,
    length_truncated: Sequence[bool] | Tensor | None = None,
    normaliser: Normaliser = COWORK_ENV,
    classes: Sequence[RowClass] | None = None,
    missing: Missing = Missing.RAISE,
) -> AnchorAdvantages:
    """Group-relative advantages of anchors' rewards, shared by all segments (Navalia, section 3.3 and equation 8).

    The anchor is the row with the highest segment index, wherever it stands. Whether Navalia divides by a standard deviation is not known: the
    normaliser is that of GRPO; `CENTRED` is Dressage's form.

    Args:
        rewards: [rows]; only those of anchors are read.
        segment_index: [rows].
        trajectory_ids: [rows].
        group_ids: [rows], equal on all rows of a trajectory.
        length_truncated: [rows] a response of this row reached the generation limit: the trajectory's reward stays in the statistics and in
            dynamic sampling, all its rows leave the loss. A trajectory that ran out of turns is none of these.
        normaliser: See `grpo_advantages`; its tolerance is that of dynamic sampling too.
        classes: [rows]; all valid when None.
        missing: What to do with an anchor's reward that is None or NaN.

    Raises:
        ValueError: Lengths differ; a trajectory is in two groups, counts only in part or has two rows of one index;
            an anchor's reward is infinite or missing without leave.
    """
    rows = _read_rows(rewards, segment_index, trajectory_ids, group_ids, classes)
    given = rows.of_anchors(rows.rewards), rows.of_anchors(rows.keys)
    kinds = rows.of_anchors(rows.kinds)
    found = grpo_advantages(*given, normaliser=normaliser, classes=kinds, missing=missing)
    selection = select_groups(*given, zero_tol=normaliser.zero_tol, classes=kinds, missing=missing)
    return _shared(rows, found, selection, _cut(rows, length_truncated))


@dataclass(frozen=True, slots=True)
class _Rows:
    """What is known of each row, and where each trajectory's anchor stands."""

    ids: list[Hashable]
    keys: list[Hashable]
    kinds: list[RowClass]
    rewards: list[float | None]
    anchors: dict[Hashable, int]

    def of_anchors(self, values: Sequence[_T]) -> list[_T]:
        return [values[place] for place in self.anchors.values()]


def _read_rows(
    rewards: Rewards, segment_index: Sequence[int] | Tensor, trajectory_ids: Ids, group_ids: Ids, classes: Sequence[RowClass] | None
) -> _Rows:
    ids = read_ids(trajectory_ids, len(trajectory_ids), "trajectory_ids")
    kinds, keys = read_classes(classes, len(ids)), read_ids(group_ids, len(ids))
    values: list[float | None] = rewards.tolist() if isinstance(rewards, Tensor) else list(rewards)
    if len(values) != len(ids):
        raise ValueError(f"there are {len(values)} rewards for {len(ids)} rows")
    return _Rows(ids, keys, kinds, values, _anchors(ids, keys, kinds, [int(one) for one in segment_index]))


def _shared(rows: _Rows, found: GroupAdvantages, selection: GroupSelection, cut: set[Hashable]) -> AnchorAdvantages:
    """Every row with its trajectory's advantage; trajectories that were cut are out of the loss."""
    trajectories = tuple(rows.anchors)
    trains = [kind.trains and one not in cut for kind, one in zip(rows.kinds, rows.ids, strict=True)]
    return AnchorAdvantages(
        to_rows(found.advantages, trajectories, rows.ids, rows.kinds),
        to_rows(found.counted, trajectories, rows.ids, rows.kinds) & torch.tensor(trains, dtype=torch.bool),
        trajectories,
        rows.anchors,
        found,
        selection,
        sum(1 for one, counts in zip(trajectories, found.counted.tolist(), strict=True) if counts and one in cut),
    )


def _anchors(ids: Sequence[Hashable], keys: Sequence[Hashable], kinds: Sequence[RowClass], index: Sequence[int]) -> dict[Hashable, int]:
    """The row of the highest segment index of each trajectory."""
    if len(index) != len(ids):
        raise ValueError(f"there are {len(index)} segment indices for {len(ids)} rows")
    anchors: dict[Hashable, int] = {}
    seen: set[tuple[Hashable, int]] = set()
    for place, (one, kind) in enumerate(zip(ids, kinds, strict=True)):
        if kind is RowClass.PADDING:
            continue
        if one is None:
            raise ValueError(f"trajectory_ids[{place}] is missing")
        if (one, index[place]) in seen:
            raise ValueError(f"trajectory {one!r} has two rows of segment index {index[place]}")
        seen.add((one, index[place]))
        best = anchors.setdefault(one, place)
        if keys[best] != keys[place] or kinds[best].counts is not kind.counts:
            raise ValueError(f"row {place} disagrees with another one of trajectory {one!r} about its group or class")
        if index[place] > index[best]:
            anchors[one] = place
    return anchors


def _cut(rows: _Rows, length_truncated: Sequence[bool] | Tensor | None) -> set[Hashable]:
    """The trajectories of which a response was cut off; padding is of none."""
    if length_truncated is None:
        return set()
    if len(length_truncated) != len(rows.ids):
        raise ValueError(f"length_truncated has {len(length_truncated)} entries for {len(rows.ids)} rows")
    told = zip(rows.ids, rows.kinds, length_truncated, strict=True)
    return {one for one, kind, is_cut in told if is_cut and kind is not RowClass.PADDING}
