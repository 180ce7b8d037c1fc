"""What a person hands over in Python, where types are promises: the first argument that breaks its promise is named."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cowork_gym.core.episode import Episode
from cowork_gym.core.errors import UserError
from cowork_gym.core.task import Task

__all__ = ["demand", "demand_played", "whole", "wholes"]


def whole(value: Any) -> bool:
    """Whether it is a whole number, and no truth value."""
    return isinstance(value, int) and not isinstance(value, bool)


def wholes(value: Any) -> bool:
    """Whether it is a sequence of whole numbers."""
    return isinstance(value, Sequence) and all(map(whole, value))


def demand(name: str, wanted: str, value: Any, holds: bool) -> None:
    """See that an argument is what it has to be.

    Raises:
        UserError: It is not; the text names it.
    """
    if not holds:
        told = ascii(value) if isinstance(value, str | int | float | None) else f"a {type(value).__name__}"
        raise UserError(f"{name} is to be {wanted}, not {told[:80]}")


def demand_played(episode: Any, task: Any, user: Any, judge: Any) -> None:
    """See that what plays an episode again is there: the arguments that `branch` and `debug` share.

    Raises:
        UserError: One is of another type.
    """
    demand("episode", "an Episode, such as read_episode gives", episode, isinstance(episode, Episode))
    demand("task", "an id, a folder, a Task or None", task, task is None or isinstance(task, str | Path | Task))
    demand("user", "a function of a Task", user, callable(user))
    demand("judge", "a Judge or None", judge, judge is None or hasattr(judge, "ask"))
