"""Rollouts on one machine: many episodes at once, each in a thread of its own; what is sealed is kept, what failed can be played again."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeAlias

from cowork_gym.core.episode import Episode
from cowork_gym.core.errors import UserError
from cowork_gym.core.task import Task
from cowork_gym.envs.conversation import User, ruled
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.session import Grading
from cowork_gym.envs.variation import instance
from cowork_gym.harness.compose import PLAIN, Harness
from cowork_gym.harness.loop import play
from cowork_gym.harness.policies.policy import Policy
from cowork_gym.harness.rollout.folder import RunFolder
from cowork_gym.harness.rollout.plan import Plan, Slot

__all__ = ["Played", "Rollout", "Settings", "rollout", "stream"]

MakePolicy: TypeAlias = Callable[[Task], Policy]
"""Gives a policy of its own for each episode, from the task in the form of its seed."""
HarnessSource: TypeAlias = Callable[[str, int], Harness]
"""Gives the harness of a task's trial."""


class Played(NamedTuple):
    """One episode of a rollout."""

    slot: Slot
    episode: Episode
    kept: bool
    """Whether it was there before and was not played now."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How the episodes of a rollout are played."""

    concurrency: int = 1
    """The most that are open at once."""
    harness: HarnessSource = lambda task, trial: PLAIN
    user: User = ruled
    grading: Grading = Grading()  # noqa: RUF009 - a frozen value
    door: str = "direct"


@dataclass(frozen=True, slots=True)
class Rollout:
    """What came of a rollout."""

    planned: int
    sealed: int
    quarantined: int
    duplicates: int
    episodes: tuple[Episode, ...] = ()
    """All of them, in the order of the plan; empty when a directory has them."""
    reward: float | None = None
    """The mean over those that have one."""

    def to_dict(self) -> dict[str, float | None]:
        """The numbers as plain JSON values."""
        return {name: getattr(self, name) for name in ("planned", "sealed", "quarantined", "duplicates", "reward")}


def rollout(
    tasks: Iterable[Task], policy: MakePolicy, *, plan: Plan | None = None, seeds: Sequence[int] = (0,), n: int = 1, settings: Settings = Settings(),
    out: str | Path | None = None, resume: bool = False, tell: Callable[[Played], None] | None = None,
) -> Rollout:
    """Play every task `n` times in every form.

    Args:
        tasks: In the form that their authors wrote.
        policy: Gives a policy for each episode. Policies may share an engine, which then batches what they ask at the same time.
        plan: In place of `seeds` and `n`, where agent and harness are to be named for a directory's manifest.
        seeds: The forms.
        n: Trials of each form.
        settings: How they are played.
        out: A directory for the episodes; None keeps them in memory.
        resume: Whether a rollout that was begun there is gone on with: what is sealed stays, what is missing or quarantined is played.
        tell: Is shown each episode as it ends, those that stay included.

    Raises:
        UserError: The plan cannot be carried out, or the directory not be used.
    """
    tasks = [*tasks]
    plan = plan or Plan.of(tasks, seeds=seeds, n=n, agent="policy")
    folder = None if out is None else RunFolder(Path(out), plan, resume=resume)
    found: dict[Slot, Episode] = {}
    rewards: dict[Slot, float | None] = {}
    for one in stream(tasks, policy, plan, settings, folder):
        rewards[one.slot] = one.episode.grade.reward if one.episode.grade else None
        if folder is None:
            found[one.slot] = one.episode
        if tell is not None:
            tell(one)
    good = [reward for reward in rewards.values() if reward is not None]
    result = Rollout(
        len(plan.slots), len(good), len(rewards) - len(good), 0 if folder is None else folder.duplicates(),
        tuple(found[slot] for slot in plan.slots if slot in found), sum(good) / len(good) if good else None,
    )
    if folder is not None:
        folder.write_summary(result.to_dict())
    return result


def stream(tasks: Iterable[Task], policy: MakePolicy, plan: Plan, settings: Settings, folder: RunFolder | None = None) -> Iterator[Played]:
    """The episodes of a plan as they end. Whoever stops listening stops the rollout: what is open then is played to its end and kept."""
    by = {task.id: task for task in tasks}
    stopped = threading.Event()

    def work(slot: Slot) -> Played | None:
        if stopped.is_set():
            return None
        if folder is not None and (kept := folder.sealed(slot)) is not None:
            return Played(slot, kept, True)
        episode = _play(by[slot.task], slot, policy, settings)
        if folder is not None:
            folder.keep(slot, episode)
        return Played(slot, episode, False)

    if folder is None:
        yield from _ahead(plan.slots, work, settings.concurrency, stopped)
    else:
        with folder.locked():
            yield from _ahead(plan.slots, work, settings.concurrency, stopped)


def _ahead(slots: Iterable[Slot], work: Callable[[Slot], Played | None], concurrency: int, stopped: threading.Event) -> Iterator[Played]:
    """What the work on each slot gives, so many at once and no more ahead."""
    if concurrency < 1:
        raise UserError(f"a rollout plays at least one episode at a time, not {concurrency}")
    queue = iter(slots)
    with ThreadPoolExecutor(concurrency, thread_name_prefix="rollout") as pool:
        open_: set[Future[Played | None]] = {pool.submit(work, slot) for slot in islice(queue, concurrency)}
        try:
            while open_:
                done, open_ = wait(open_, return_when=FIRST_COMPLETED)
                open_ |= {pool.submit(work, slot) for slot in islice(queue, len(done))}
                yield from (one for future in done if (one := future.result()) is not None)
        finally:
            stopped.set()


def _play(task: Task, slot: Slot, policy: MakePolicy, settings: Settings) -> Episode:
    """The episode of a slot, sealed and graded."""
    env = CoworkEnv(task, door=settings.door, user=settings.user)
    env.grading = settings.grading
    try:
        made = policy(instance(task, slot.seed))
        return play(env, made, harness=settings.harness(slot.task, slot.trial), seed=slot.seed, sampling=slot.sampling)
    finally:
        env.close()
