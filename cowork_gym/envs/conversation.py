"""Who answers a message that calls no tool: the user of a task, by the rules of its package or by someone given in their place."""

from collections.abc import Callable
from typing import TypeAlias

from cowork_gym.core.task import Task
from cowork_gym.envs.dialogue import Counterpart, RuleUser, parse_dialogue

__all__ = ["User", "ruled"]

User: TypeAlias = Callable[[Task], Counterpart | None]
"""Gives the user of a task, in the form of an episode's seed; None when nobody answers."""


def ruled(task: Task) -> Counterpart | None:
    """The user whom the task's package describes, if it describes one.

    Raises:
        PackageError: The description cannot be used.
    """
    return RuleUser(parse_dialogue(task.dialogue, "private/dialogue.yaml")) if task.dialogue else None
