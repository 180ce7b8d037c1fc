"""Which tasks are worth training on: those of which the policy passes some attempts and fails others."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from cowork_gym.trainers.data.rollouts import Rollout

__all__ = ["PassRate", "TaskKey", "TaskSelection", "form_of", "pass_rates", "select_tasks", "task_of"]

TaskKey: TypeAlias = tuple[str, ...]
"""A task and its release, and its form where forms are told apart."""


@dataclass(frozen=True, slots=True)
class PassRate:
    """How often attempts at a task passed. Attempts without an outcome are neither passed nor failed.

    Raises:
        ValueError: More passed than there were.
    """

    passed: int
    attempts: int
    """With an outcome."""

    def __post_init__(self) -> None:
        if not 0 <= self.passed <= self.attempts:
            raise ValueError(f"{self.passed} of {self.attempts} attempts passed")

    @property
    def rate(self) -> float | None:
        """The share that passed; None where no attempt has an outcome."""
        return self.passed / self.attempts if self.attempts else None


@dataclass(frozen=True, slots=True)
class TaskSelection:
    """Tasks to train on, and how many were kept and left out for which reason."""

    kept: tuple[TaskKey, ...]
    reasons: Mapping[TaskKey, str]
    """Of each task, kept or not."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Tasks by reason."""


def task_of(rollout: Rollout) -> TaskKey:
    """The task of a rollout, in one release."""
    return (rollout.task, rollout.release_id)


def form_of(rollout: Rollout) -> TaskKey:
    """The form of a task that a rollout played."""
    return (rollout.task, rollout.release_id, str(rollout.seed))


def pass_rates(rollouts: Iterable[Rollout], key: Callable[[Rollout], TaskKey] = task_of) -> dict[TaskKey, PassRate]:
    """How often each task was passed. A rollout without an outcome enters its task and no count: a fault is not a failure.

    Args:
        rollouts: Such as `RolloutReader.outcomes` gives; they need no tokens.
        key: What is counted together: `task_of`, or `form_of` for each form by itself.
    """
    passed, attempts = Counter[TaskKey](), Counter[TaskKey]()
    for one in rollouts:
        known = one.valid and one.accuracy is not None
        attempts[key(one)] += known
        passed[key(one)] += known and one.accuracy == 1
    return {task: PassRate(passed[task], count) for task, count in attempts.items()}


def select_tasks(rates: Mapping[TaskKey, PassRate], stronger: Mapping[TaskKey, PassRate] | None = None, *, attempts: int = 2) -> TaskSelection:
    """Select by pass rate: both outcomes seen, or none passed although a stronger policy has; what always passes is left out.

    Args:
        rates: Of the policy that is to be trained.
        stronger: Of a policy that is better; None when there is none.
        attempts: With fewer than so many outcomes nothing is said of a task.

    Raises:
        ValueError: `attempts` is smaller than 2: one attempt cannot show both outcomes.
    """
    if attempts < 2:
        raise ValueError(f"one attempt cannot show both outcomes: ask for 2 at least, not {attempts}")
    found = {task: _judged(rate, (stronger or {}).get(task), attempts) for task, rate in rates.items()}
    kept = tuple(task for task, (good, _) in found.items() if good)
    reasons = {task: why for task, (_, why) in found.items()}
    return TaskSelection(kept, reasons, dict(Counter(reasons.values())))


def _judged(rate: PassRate, stronger: PassRate | None, attempts: int) -> tuple[bool, str]:
    """Whether a task is kept, and why."""
    if rate.attempts < attempts:
        return False, "too few outcomes"
    if 0 < rate.passed < rate.attempts:
        return True, "both outcomes seen"
    if rate.passed:
        return False, "always passed"
    if stronger is not None and stronger.passed:
        return True, "never passed, but by a stronger policy"
    return False, "never passed, and by no stronger policy"
