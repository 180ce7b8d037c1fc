"""Rates over criteria: tasks that meet all of theirs, balanced over categories, and the share of rubric items."""

import math
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["AllPass", "class_balanced_all_pass", "rubric_pass_rate"]


class AllPass(NamedTuple):
    """How many tasks meet every criterion."""

    task_pass: list[bool]
    per_category: dict[str, float]
    """The share of a category's tasks, in the order in which categories appear."""
    cb_all_pass: float
    """The mean over categories, whatever their size."""
    micro: float
    """The mean over tasks."""


def class_balanced_all_pass(
    categories: Sequence[str], criteria: Sequence[Sequence[bool]], contradictions: Sequence[bool] | None = None,
) -> AllPass:
    """Class-balanced all-pass (Navalia, appendix D): a category without tasks is in no mean.

    Args:
        categories: Of each task.
        criteria: Of each task, which of its criteria hold.
        contradictions: Whether a task's answer contradicts the reference, which fails it; none does by default.

    Raises:
        ValueError: The lengths differ, there is no task, or one has no criteria.
    """
    against = [False] * len(categories) if contradictions is None else contradictions
    if not len(categories) == len(criteria) == len(against):
        raise ValueError(f"{len(categories)} categories, {len(criteria)} lists of criteria and {len(against)} verdicts of contradiction")
    _check(criteria)
    passed = [all(held) and not wrong for held, wrong in zip(criteria, against, strict=True)]
    groups: dict[str, list[bool]] = {}
    for category, one in zip(categories, passed, strict=True):
        groups.setdefault(category, []).append(one)
    shares = {category: sum(group) / len(group) for category, group in groups.items()}
    return AllPass(passed, shares, math.fsum(shares.values()) / len(shares), sum(passed) / len(passed))


def rubric_pass_rate(criteria: Sequence[Sequence[bool]]) -> float:
    """The items that hold over all items, pooled: a task counts by its number of items.

    Args:
        criteria: Of each task, which of its items hold.

    Raises:
        ValueError: There is no task, one has no items, or an item has no verdict.
    """
    _check(criteria)
    items = [bool(one) for held in criteria for one in held]
    return sum(items) / len(items)


def _check(criteria: Sequence[Sequence[bool]]) -> None:
    sizes = [len(held) for held in criteria]
    if not sizes:
        raise ValueError("there are no tasks")
    if 0 in sizes:
        raise ValueError(f"task {sizes.index(0)} has no criteria: it could not fail")
    if bad := next(((at, one) for at, held in enumerate(criteria) for one in held if one not in (True, False)), None):
        raise ValueError(f"a criterion of task {bad[0]} is {bad[1]!r}, and must hold or not")
