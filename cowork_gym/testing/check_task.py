"""The conformance suite of a task package: its references, its negatives and doing nothing are played and graded."""

from dataclasses import dataclass
from pathlib import Path

from cowork_gym.core.grade import Grade
from cowork_gym.core.messages import final
from cowork_gym.core.task import Execution, Task
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import load_task
from cowork_gym.harness import play
from cowork_gym.harness.policies.scripted import ScriptedPolicy

__all__ = ["Finding", "Report", "check_task", "grade_execution"]

_NOTHING = Execution("nothing", (final(""),), max_reward=0.0, why="Doing nothing earns nothing.")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    name: str
    """Such as `reference step_by_step`."""
    passed: bool
    detail: str
    """What was found, and when it fell short what was expected."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a check of a task package came to."""

    task: str
    release_id: str
    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether everything was as expected."""
        return all(one.passed for one in self.findings)


def check_task(task: str | Path | Task) -> Report:
    """Play what a task package says about itself.

    Each reference must earn 1.0 under every reward spec, each negative no more than its bound under the spec that the task names,
    and an empty answer exactly 0.

    Args:
        task: An environment id, the folder of a package, or a loaded task.

    Returns:
        A report with one finding for each execution.

    Raises:
        UserError: There is no such task.
        PackageError: The package cannot be used; one line names file, field and nearest valid choice.
    """
    task = task if isinstance(task, Task) else load_task(task)
    references = [_judge_reference(one, grade_execution(task, one)) for one in task.references]
    negatives = [_judge_negative(one, grade_execution(task, one)) for one in (*task.negatives, _NOTHING)]
    return Report(task.id, task.release_id, (*references, *negatives))


def grade_execution(task: Task, execution: Execution, seed: int = 0) -> Grade:
    """Play an execution in a world of its own and grade it. One that gives no answer ends with an empty one."""
    env = CoworkEnv(task)
    try:
        grade = play(env, ScriptedPolicy(execution.name, execution.actions), seed=seed).grade
        assert grade is not None  # what has ended is graded
        return grade
    finally:
        env.close()


def _judge_reference(execution: Execution, found: Grade) -> Finding:
    short = {spec: reward for spec, reward in found.rewards.items() if reward != 1}
    if found.fault is None and not short:
        return Finding(f"reference {execution.name}", True, f"1 under {' and '.join(found.rewards)}")
    earned = ", ".join(f"{reward:g} under {spec}" for spec, reward in short.items())
    return Finding(f"reference {execution.name}", False, f"{earned or 'no grade'}, expected 1: {_why(found)}")


def _judge_negative(execution: Execution, found: Grade) -> Finding:
    name = "nothing" if execution is _NOTHING else f"negative {execution.name}"
    bound = execution.max_reward or 0.0
    if found.reward is None:
        return Finding(name, False, f"no grade: {_why(found)}")
    passed = found.reward <= bound
    return Finding(name, passed, f"{found.reward:g} under {found.spec}, {'at most' if passed else 'expected at most'} {bound:g}: {execution.why}")


def _why(found: Grade) -> str:
    """What kept an execution from earning more."""
    if found.fault is not None:
        return f"{found.fault.where}: {found.fault.message}"
    failed = [f"{one.id}: {one.reason}" for one in found.checks if not one.passed]
    return " ".join(failed) or f"robustness is {found.robustness:g}"
