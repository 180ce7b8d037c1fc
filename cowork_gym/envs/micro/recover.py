"""Recover: a look-up or an update whose calls fail once or twice before they work."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from random import Random
from typing import Literal

from cowork_gym.core.messages import ToolCall
from cowork_gym.core.task import PlannedFault, Task
from cowork_gym.envs.micro.desk import draw_desk
from cowork_gym.envs.micro.lookup import asked as question
from cowork_gym.envs.micro.update import asked as wish
from cowork_gym.envs.micro.work import Slip, written

__all__ = ["GIVEN_UP", "form"]

GIVEN_UP = "unknown"
"""What one answers who does not try again."""


def form(task: Task, generator: Random) -> Task:
    """A form of the task."""
    desk = draw_desk(generator)
    work = question(desk, generator, ["ticket"]) if generator.random() < 0.5 else wish(desk, generator)
    faults = _faults(work.calls, generator)
    last = max(at for at, one in enumerate(work.calls) if one.name == faults[0].tool)
    gives_up = Slip("gives_up", "The failed call is not made again.", work.calls[: last + 1], GIVEN_UP, 0.12 if last else 0.0)
    slips = tuple(replace(one, calls=tuple(_again(one.calls, faults))) for one in work.slips)
    return written(task, desk, replace(work, calls=tuple(_again(work.calls, faults)), slips=(gives_up, *slips)), faults=faults)


def _faults(calls: Iterable[ToolCall], generator: Random) -> list[PlannedFault]:
    """The first one or two calls of a tool fail."""
    tool, times = generator.choice([one.name for one in calls]), generator.randint(1, 2)
    kind: Literal["transient", "rate_limit"] = generator.choice(("transient", "rate_limit"))
    return [PlannedFault(tool, number, kind) for number in range(1, times + 1)]


def _again(calls: Iterable[ToolCall], faults: list[PlannedFault]) -> Iterator[ToolCall]:
    """The calls, each that fails made again until it works."""
    left = len(faults)
    for one in calls:
        yield one
        while left and one.name == faults[0].tool:
            left -= 1
            yield one
