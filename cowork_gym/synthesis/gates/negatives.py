"""The gate of the negatives: each stays under its bound, near it, apart from the references, and tells why; every ban is broken by one."""

from collections.abc import Iterator, Sequence

from cowork_gym.core.canonical import canonical
from cowork_gym.core.episode import Episode
from cowork_gym.core.grade import PASS
from cowork_gym.core.task import Execution
from cowork_gym.synthesis.gates.gate import Gate, Problem
from cowork_gym.synthesis.gates.subject import Subject
from cowork_gym.synthesis.rewards import reward_of, ungraded

__all__ = ["NEGATIVES", "SLACK"]

SLACK = 0.15
"""How far a bound may stand above what the negative earns."""


def _examine(subject: Subject) -> tuple[tuple[Problem, ...], tuple[str, ...]]:
    problems, told, task = list[Problem](), list[str](), subject.task
    for at, (execution, episode) in enumerate(zip(task.negatives, subject.negatives, strict=True)):
        problems += _judge(execution, episode, tight=subject.seed == 0)
        problems += _apart(execution, (*task.references, *task.negatives[:at]))
        told.append(f"{execution.name}: {reward_of(episode)}, at most {execution.max_reward}")
    called = {call.name for one in task.negatives for action in one.actions for call in action.tool_calls}
    for tool in subject.contract.forbidden_tools:
        if tool in subject.task.tools and tool not in called:
            advice = "add a negative that does the work and calls it too, with max_reward 0: else nobody would see the ban go"
            problems.append(Problem(f"forbidden tool {tool}", "no negative calls it", advice))
    return tuple(problems), tuple(told)


def _judge(execution: Execution, episode: Episode, *, tight: bool) -> Iterator[Problem]:
    """What is wrong with what a negative earned. Other forms may earn less than the author's, not more."""
    where, bound, grade = f"negative {execution.name}", execution.max_reward, episode.grade
    if grade is None or grade.reward is None:
        yield ungraded(where, episode)
        return
    if bound is None:
        yield Problem(where, "it has no bound", "say in max_reward what it may earn at most")
    elif grade.reward > bound:
        kept = ", ".join(one.id for one in grade.checks if one.passed and one.weight)
        found = f"it earns {grade.reward}, expected at most {bound}: it still has {kept or 'everything'}"
        yield Problem(where, found, "tighten the checks that it passes")
    elif tight and round(bound - grade.reward, 4) > SLACK:
        yield Problem(where, f"it earns {grade.reward}, its bound is {bound}", f"set max_reward to {grade.reward}: a slack bound hides a lax check")
    if grade.reward >= PASS and not execution.why.strip():
        yield Problem(where, f"it passes with {grade.reward} and does not say why", "say in `why` what it does wrong, or tighten the checks")


def _apart(execution: Execution, others: Sequence[Execution]) -> Iterator[Problem]:
    """Whether the execution is that of another name."""
    own = _written(execution)
    for other in others:
        if _written(other) == own:
            yield Problem(f"negative {execution.name}", f"it does the same as {other.name}", "change what it does, or take it out")


def _written(execution: Execution) -> str:
    return canonical([[one.content, [[call.name, call.decoded()] for call in one.tool_calls]] for one in execution.actions])


NEGATIVES = Gate(
    "negatives", "Each negative earns what its bound says and no more, and is an execution of its own; every forbidden tool is called by one.",
    _examine,
)
