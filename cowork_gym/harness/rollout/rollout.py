"""Rollouts on one machine: many episodes at once, each in a thread of its own; what is sealed is kept, what failed can be played again."""

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path

from cowork_gym.core.episode import Episode
from cowork_gym.core.errors import UserError
from cowork_gym.core.task import Task
from cowork_gym.harness.rollout.folder import RunFolder
from cowork_gym.harness.rollout.lineup import Lineup
from cowork_gym.harness.rollout.plan import Plan, Slot
from cowork_gym.harness.rollout.settings import MakePolicy, Settings
from cowork_gym.harness.rollout.threads import hands, work_ahead
from cowork_gym.harness.rollout.worker import Played, Worker

__all__ = ["Rollout", "rollout", "stream"]

_ALONE = Settings()


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
    tasks: Iterable[Task], policy: MakePolicy, *, plan: Plan | None = None, seeds: Sequence[int] = (0,), n: int = 1, settings: Settings = _ALONE,
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
        OSError: A file cannot be written; the error names it.
    """
    plan = plan or Plan.of(tasks := [*tasks], seeds=seeds, n=n, agent="policy")
    folder = None if out is None else RunFolder(Path(out), plan, resume=resume)
    found: dict[Slot, Episode] = {}
    rewards: dict[Slot, float | None] = {}
    with closing(stream(tasks, policy, plan, settings, folder)) as episodes:
        for one in episodes:
            rewards[one.slot] = one.episode.grade.reward if one.episode.grade else None
            if folder is None:
                found[one.slot] = one.episode
            if tell is not None:
                tell(one)
    good = [reward for reward in rewards.values() if reward is not None]
    result = Rollout(
        plan.size, len(good), len(rewards) - len(good), 0 if folder is None else folder.duplicates(),
        tuple(found[slot] for slot in plan.slots if slot in found), sum(good) / len(good) if good else None,
    )
    if folder is not None:
        folder.write_summary(result.to_dict())
    return result


def stream(
    tasks: Iterable[Task], policy: MakePolicy, plan: Plan, settings: Settings, folder: RunFolder | None = None,
) -> Generator[Played, None, None]:
    """The episodes of a plan as they end. Nothing is written before everything that can be checked is checked.

    Whoever stops listening stops the rollout: what is open then is given up, and nothing more is written.

    Raises:
        UserError, OSError: As `rollout` says.
    """
    by = {task.id: task for task in tasks}
    if {id: task.release_id for id, task in by.items()} != {**plan.releases}:
        raise UserError("the plan is not one for these tasks")
    if folder is not None:
        folder.check()
    lineup = Lineup(by, policy, plan, settings)
    lineup.check(slot for slot in plan.slots if folder is None or not folder.has(slot))
    with hands(min(settings.concurrency, plan.size)) as each, nullcontext() if folder is None else folder.locked(lineup.sha256):
        worker = Worker(by, lineup, settings, folder)
        try:
            yield from work_ahead(plan.slots, worker.work, each)
        finally:
            worker.stop()
