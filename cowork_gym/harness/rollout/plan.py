"""What a rollout is to play: a slot for each task, form and trial, and the manifest that a run directory keeps of it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from cowork_gym.core.canonical import decode, digest, encode
from cowork_gym.core.errors import UserError
from cowork_gym.core.task import Task
from cowork_gym.graders.matchers import show
from cowork_gym.harness.rollout.settings import whole

__all__ = ["Plan", "Slot"]

_MOST, _MOST_SLOTS = 100_000, 1_000_000
"""Forms of a task and trials of a form, and all episodes: each has a name in memory from the beginning on."""
PLAN_VERSION = 2
"""Of the manifest's form. The first one had neither `settings` nor `harness_sha256`."""


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
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What else an episode depends on, by the names that a person knows, as JSON values."""
    player: str | None = None
    """The name that the policy has in every episode; None where that is not known before."""

    @classmethod
    def of(
        cls, tasks: Iterable[Task], *, seeds: Iterable[int], n: int, agent: str, harness: str = "react", reward: str | None = None,
        settings: Mapping[str, Any] | None = None, player: str | None = None,
    ) -> "Plan":
        """The plan for tasks.

        Raises:
            UserError: There is no task, no seed or no trial, there are too many, one of them comes twice, or an argument is of another type; the
                text names it.
        """
        releases: dict[str, str] = {}
        for task in tasks:
            if not isinstance(task, Task):
                raise UserError(f"tasks are what load_task gives, not {show(task)}")
            if task.id in releases:
                raise UserError(f"the task {task.id} comes twice")
            releases[task.id] = task.release_id
        if isinstance(seeds, str) or not isinstance(seeds, Iterable):
            raise UserError(f"seeds are several numbers, not {show(seeds)}")
        trials, forms = whole("n", n, 1, _MOST), tuple(whole("a seed in seeds", one, 0) for one in islice(seeds, _MOST + 1))
        if not releases or not forms:
            raise UserError("a rollout needs a task and a seed")
        if len({*forms}) < len(forms):
            raise UserError("a seed comes twice")
        if len(forms) > _MOST:
            raise UserError(f"a rollout has at most {_MOST:,} seeds")
        plan = cls(releases, forms, trials, agent, harness, reward, {} if settings is None else settings, player)
        if plan.size > _MOST_SLOTS:
            raise UserError(f"a rollout has at most {_MOST_SLOTS:,} episodes: {len(releases)} x {len(forms)} x {trials} are {plan.size:,}")
        return plan

    @property
    def size(self) -> int:
        """How many slots there are."""
        return len(self.releases) * len(self.seeds) * self.n

    @property
    def slots(self) -> list[Slot]:
        """In the order in which they are begun."""
        return [Slot(task, seed, trial) for task in self.releases for seed in self.seeds for trial in range(self.n)]

    def manifest(self, harness_sha256: str | None) -> dict[str, Any]:
        """The plan as plain JSON values.

        Args:
            harness_sha256: Stands for what is in the harnesses; None where one of them cannot be had.
        """
        return {
            "schema_version": PLAN_VERSION, "releases": {**self.releases}, "seeds": [*self.seeds], "n": self.n, "agent": self.agent,
            "harness": self.harness, "reward": self.reward, "settings": {**self.settings}, "harness_sha256": harness_sha256,
        }

    def difference(self, kept: Any, harness_sha256: str | None) -> str | None:
        """How a kept manifest differs from this plan's: the first field, and both values in brief. None when it is the same rollout.

        What an older form of the manifest does not have is not compared, and neither are harnesses that one of the two could not have.
        """
        mine: dict[str, Any] = decode(encode(self.manifest(harness_sha256)))
        if not isinstance(kept, dict) or kept.get("schema_version") not in range(1, PLAN_VERSION + 1):
            return f"another form: {_brief(kept)}"
        older = kept["schema_version"] < PLAN_VERSION
        for name in [*mine, *(one for one in kept if one not in mine)]:
            if name == "schema_version" or (older and name not in kept):
                continue
            was, now = kept.get(name), mine.get(name)
            if name == "harness_sha256" and None in (was, now):
                continue
            for what, one, other in _differing(name, was, now):
                return f"other {what}: {_brief(one)}, not {_brief(other)}"
        return None


def _differing(name: str, was: Any, now: Any) -> Iterator[tuple[str, Any, Any]]:
    """What differs under a name; of mappings, each item."""
    if isinstance(was, dict) and isinstance(now, dict):
        for key in {**was, **now}:
            if was.get(key) != now.get(key):
                yield (key if name == "settings" else f"{name}.{key}"), was.get(key), now.get(key)
    elif was != now:
        yield name, was, now


def _brief(value: Any) -> str:
    text = encode(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
