"""How the episodes of a rollout are played: what all of them share."""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from cowork_gym.core.errors import UserError
from cowork_gym.core.task import Task
from cowork_gym.envs.conversation import User, ruled
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.session import Grading
from cowork_gym.graders.matchers import show
from cowork_gym.harness.compose import PLAIN, Harness
from cowork_gym.harness.policies.policy import Policy

__all__ = ["HarnessSource", "MakePolicy", "Settings", "whole"]

MakePolicy: TypeAlias = Callable[[Task], Policy]
"""Gives a policy of its own for each episode, from the task in the form of its seed."""
HarnessSource: TypeAlias = Callable[[str, int], Harness]
"""Gives the harness of a task's trial, the same one whenever it is asked."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How the episodes of a rollout are played.

    Raises:
        UserError: `concurrency` is no whole number from 1.
    """

    concurrency: int = 1
    """The most that are open at once."""
    harness: HarnessSource = lambda task, trial: PLAIN
    user: User = ruled
    grading: Grading = Grading()  # noqa: RUF009 - a frozen value
    door: str = "direct"

    def __post_init__(self) -> None:
        whole("concurrency", self.concurrency, 1)

    def open(self, task: Task) -> CoworkEnv:
        """An environment to play one episode in.

        Raises:
            UserError: The door, the user or the reward spec is unknown.
        """
        env = CoworkEnv(task, door=self.door, user=self.user, reward=self.grading.reward)
        env.grading = self.grading
        return env


def whole(name: str, value: Any, least: int, most: int | None = None) -> int:
    """A whole number, those of NumPy included, as a plain one. It has at most 63 bits where `most` says nothing else.

    Raises:
        UserError: It is none, or out of range; the text names it.
    """
    try:
        number = least - 1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise UserError(f"{name} is a whole number from {least}, not {show(value)}")
    if number > (2**63 - 1 if most is None else most):
        raise UserError(f"{name} is a whole number from {least} to {'2^63 - 1' if most is None else f'{most:,}'}, not {show(value)}")
    return number
