"""What a rollout is to play: a slot for each task, form and trial, and the manifest that a run directory keeps of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from cowork_gym.core.canonical import digest
from cowork_gym.core.errors import UserError
from cowork_gym.core.task import Task

__all__ = ["Plan", "Slot"]

PLAN_VERSION = 1
"""Of the manifest's form."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One episode that is to be played."""

    task: str
    """The task, by its id."""
    seed: int
    """Of the world."""
    trial: int
    """Which attempt at this form it is, from 0."""

    @property
    def name(self) -> str:
        """The name of its file, without what stands behind the point."""
        safe = "".join(c if (c.isascii() and c.isalnum()) or c in "-_" else "_" for c in self.task)
        return f"{safe[:100]}-s{self.seed}-t{self.trial}"

    @property
    def sampling(self) -> int:
        """The policy's seed: another one for each trial, and from one trial to the next nothing that a world's seed could meet."""
        return self.seed if self.trial == 0 else int(digest([self.task, self.seed, self.trial])[:12], 16)


@dataclass(frozen=True, slots=True)
class Plan:
    """All slots of a rollout, and what they are played with."""

    releases: Mapping[str, str]
    """The release of each task, by its id."""
    seeds: tuple[int, ...]
    n: int
    """Trials of each form."""
    agent: str
    harness: str = "react"
    reward: str | None = None

    @classmethod
    def of(cls, tasks: Iterable[Task], *, seeds: Sequence[int], n: int, agent: str, harness: str = "react", reward: str | None = None) -> "Plan":
        """The plan for tasks.

        Raises:
            UserError: There is no task, no seed or no trial, or one of them comes twice.
        """
        releases: dict[str, str] = {}
        for task in tasks:
            if task.id in releases:
                raise UserError(f"the task {task.id} comes twice")
            releases[task.id] = task.release_id
        if not releases or not seeds or n < 1:
            raise UserError("a rollout needs a task, a seed and a trial")
        if len({*seeds}) < len(seeds):
            raise UserError("a seed comes twice")
        return cls(releases, tuple(seeds), n, agent, harness, reward)

    @property
    def slots(self) -> list[Slot]:
        """In the order in which they are begun."""
        return [Slot(task, seed, trial) for task in self.releases for seed in self.seeds for trial in range(self.n)]

    def manifest(self) -> dict[str, Any]:
        """The plan as plain JSON values."""
        return {"schema_version": PLAN_VERSION, **asdict(self), "seeds": [*self.seeds], "releases": {**self.releases}}
