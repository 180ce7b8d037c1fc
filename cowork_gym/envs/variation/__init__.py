"""Seeded variation (placeholder until its author writes this file)."""

from cowork_gym.core.task import Task

__all__ = ["check_variation", "instance"]


def instance(task: Task, seed: int) -> Task:
    """The task."""
    return task


def check_variation(task: Task) -> None:
    """Nothing yet."""
