"""Groups of trajectories: who enters a statistic, and what a group's members have together, in float64 on the host."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from numbers import Real
from typing import TypeAlias

import torch
from torch import Tensor

__all__ = [
    "ZERO_TOL",
    "Groups",
    "Ids",
    "Missing",
    "Read",
    "Rewards",
    "RowClass",
    "read_amounts",
    "read_classes",
    "read_ids",
    "read_rewards",
    "require_group_size",
    "require_tolerance",
]

ZERO_TOL = 1e-6
"""Values that lie no further apart than this are equal: they have zero variance."""
Ids: TypeAlias = Tensor | Sequence[Hashable]
"""One id each: integers in a tensor, or anything hashable."""
Rewards: TypeAlias = Tensor | Sequence[float | None]
"""One number each; None and NaN say that there is none."""


class RowClass(StrEnum):
    """What a trajectory, or a row of it, is good for."""

    VALID = "valid"
    """Counts in statistics and in the loss."""
    LOSS_MASKED = "loss_masked"
    """Counts in statistics; none of its tokens is in the loss (truncated by a length limit, for instance)."""
    INVALID = "invalid"
    """The infrastructure failed: it leaves statistics and loss."""
    PADDING = "padding"
    """No trajectory at all: it fills a batch."""

    @property
    def counts(self) -> bool:
        """Whether it enters statistics."""
        return self in (RowClass.VALID, RowClass.LOSS_MASKED)

    @property
    def trains(self) -> bool:
        """Whether its tokens are in the loss."""
        return self is RowClass.VALID


class Missing(StrEnum):
    """What is done with a missing value of a trajectory that should have one."""

    RAISE = "raise"
    """It is an error."""
    LEAVE_OUT = "leave_out"
    """The trajectory leaves statistics and loss, and is counted."""


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """Values of trajectories after the absent ones were found.

    Attributes:
        values: [trajectories] in float64, 0 where not counted.
        counted: [trajectories] truth values: it enters statistics.
        invalid: How many are of the class invalid.
        padding: How many are of the class padding.
        missing: How many others have no value.
    """

    values: Tensor
    counted: Tensor
    invalid: int
    padding: int
    missing: int


def read_ids(ids: Ids, size: int, name: str = "group_ids") -> list[Hashable]:
    """Ids as a list.

    Raises:
        ValueError: There are not `size` of them.
    """
    listed: list[Hashable] = ids.tolist() if isinstance(ids, Tensor) else list(ids)
    if len(listed) != size:
        raise ValueError(f"there are {len(listed)} {name} for {size} values")
    return listed


def read_classes(classes: Sequence[RowClass] | None, size: int) -> list[RowClass]:
    """Classes as a list; all valid when there are none.

    Raises:
        ValueError: There are not `size` of them, or one is unknown.
    """
    if classes is None:
        return [RowClass.VALID] * size
    if len(classes) != size:
        raise ValueError(f"there are {len(classes)} classes for {size} values")
    return [RowClass(one) for one in classes]


def read_rewards(rewards: Rewards, classes: Sequence[RowClass] | None = None, missing: Missing = Missing.RAISE, name: str = "rewards") -> Read:
    """Rewards with the absent ones told apart. What stands at an invalid or padding trajectory is not looked at.

    Args:
        rewards: [trajectories].
        classes: [trajectories]; all valid when None.
        missing: What to do where a trajectory that counts has no reward.
        name: What they are called in an error.

    Raises:
        ValueError: There are none; lengths differ; one is no finite number; one is missing and that is an error.
    """
    if isinstance(rewards, Tensor) and rewards.dim() != 1:
        raise ValueError(f"{name} have one number a trajectory, and these have the shape {list(rewards.shape)}")
    listed: list[float | None] = rewards.tolist() if isinstance(rewards, Tensor) else list(rewards)
    if not listed:
        raise ValueError(f"there are no {name}")
    known, counted, lost = read_classes(classes, len(listed)), [False] * len(listed), 0
    values = [0.0] * len(listed)
    for place, (one, kind) in enumerate(zip(listed, known, strict=True)):
        if not kind.counts:
            continue
        number = _number(one, f"{name}[{place}]")
        if number is None:
            if Missing(missing) is Missing.RAISE:
                raise ValueError(f"{name}[{place}] is missing; a trajectory without one is invalid, or is left out on request")
            lost += 1
            continue
        values[place], counted[place] = number, True
    return Read(
        torch.tensor(values, dtype=torch.float64),
        torch.tensor(counted, dtype=torch.bool),
        known.count(RowClass.INVALID),
        known.count(RowClass.PADDING),
        lost,
    )


def read_amounts(amounts: Sequence[float] | Tensor, counted: Tensor, name: str) -> Tensor:
    """Numbers of steps, calls or tokens: [trajectories] in float64, 0 for those that do not count. What stands there is not looked at.

    Args:
        amounts: [trajectories].
        counted: [trajectories] truth values.
        name: What they are called in an error.

    Raises:
        ValueError: Lengths differ; one that counts is negative, missing or not finite.
    """
    if len(amounts) != len(counted):
        raise ValueError(f"there are {len(amounts)} {name} for {len(counted)} trajectories")
    listed = amounts.tolist() if isinstance(amounts, Tensor) else amounts
    values = [one if counts else 0.0 for one, counts in zip(listed, counted.tolist(), strict=True)]
    if any(one is None or not 0 <= one < math.inf for one in values):
        raise ValueError(f"{name} are finite numbers from 0 for every trajectory that counts")
    return torch.tensor(values, dtype=torch.float64)


class Groups:
    """A partition of trajectories, or of steps; only the counted members are in its statistics.

    Attributes:
        keys: The id of each group, in the order of first appearance among all members, counted or not.
        index: [members] the place of each member's group among the keys.
        counted: [members] truth values.
        size: [groups] how many counted members each has.
    """

    def __init__(self, ids: Ids, counted: Tensor, name: str = "group_ids") -> None:
        """Sort members into groups.

        Args:
            ids: [members].
            counted: [members] truth values.
            name: What the ids are called in an error.

        Raises:
            ValueError: Lengths differ; a counted member has no id.
        """
        listed = read_ids(ids, len(counted), name)
        for place, (one, counts) in enumerate(zip(listed, counted.tolist(), strict=True)):
            if counts and one is None:
                raise ValueError(f"{name}[{place}] is missing")
        places = {one: place for place, one in enumerate(dict.fromkeys(listed))}
        self.keys: tuple[Hashable, ...] = tuple(places)
        self.index = torch.tensor([places[one] for one in listed], dtype=torch.long)
        self.counted = counted
        self.size = self.sum(torch.ones(len(listed), dtype=torch.float64))

    def sum(self, values: Tensor) -> Tensor:
        """[groups] the sum over counted members of values [members]."""
        live = torch.where(self.counted, values.to(torch.float64), 0.0)
        return torch.zeros(len(self.keys), dtype=torch.float64).index_add(0, self.index, live)

    def mean(self, values: Tensor) -> Tensor:
        """[groups] the mean over counted members; 0 for a group that has none."""
        return self.sum(values) / self.size.clamp(min=1)

    def std(self, values: Tensor, ddof: int) -> Tensor:
        """[groups] the standard deviation in two passes; 0 for a group with no more counted members than `ddof`."""
        squares = self.sum((values - self.mean(values)[self.index]).square())
        return torch.where(self.size > ddof, squares / (self.size - ddof).clamp(min=1), 0.0).sqrt()

    def spread(self, values: Tensor) -> Tensor:
        """[groups] the largest minus the smallest value of counted members; 0 for a group that has none."""
        high = torch.full((len(self.keys),), -math.inf, dtype=torch.float64)
        high = high.scatter_reduce(0, self.index, torch.where(self.counted, values, -math.inf), "amax")
        low = torch.full((len(self.keys),), math.inf, dtype=torch.float64)
        low = low.scatter_reduce(0, self.index, torch.where(self.counted, values, math.inf), "amin")
        return torch.where(self.size > 0, high - low, 0.0)


def require_group_size(group_ids: Ids, size: int) -> None:
    """Refuse groups that cannot have come from `size` rollouts a task: the sign of a wrong group key.

    Args:
        group_ids: [trajectories], the invalid ones too.
        size: How many rollouts each task was given.

    Raises:
        ValueError: A group has more members, or just one where more than one was asked for.
    """
    listed = read_ids(group_ids, len(group_ids))
    for key in dict.fromkeys(listed):
        members = listed.count(key)
        if members > size or members == 1 < size:
            raise ValueError(f"group {key!r} has {members} trajectories where {size} were asked for")


def require_tolerance(zero_tol: float) -> None:
    """Refuse a tolerance under which nothing, or everything, would be equal.

    Raises:
        ValueError: It is negative or not finite.
    """
    if not 0 <= zero_tol < math.inf:
        raise ValueError(f"zero_tol is a finite number from 0, and this is {zero_tol}")


def _number(value: object, name: str) -> float | None:
    if value is None:
        return None
    if not isinstance(value, Real):
        raise ValueError(f"{name} is no number but {type(value).__name__}")
    number = float(value)
    if math.isinf(number):
        raise ValueError(f"{name} is infinite")
    return None if math.isnan(number) else number
