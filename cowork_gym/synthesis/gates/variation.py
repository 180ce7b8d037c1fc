"""The gate `variation`: seeds change what the right way is, and the same seed always gives the same form."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from cowork_gym.core.canonical import digest
from cowork_gym.core.episode import Episode
from cowork_gym.core.grade import Grade
from cowork_gym.core.task import Task
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.variation import instance
from cowork_gym.harness import play
from cowork_gym.harness.policies.scripted import ScriptedPolicy
from cowork_gym.synthesis.gates.gate import Gate, Problem
from cowork_gym.synthesis.gates.subject import Subject

__all__ = ["VARIATION"]

_SEEDS = range(1, 21)
_TWICE = _SEEDS[:3]
"""Seeds whose forms are made twice."""
_MOST = 2
"""Of the seeds, how many may be won by what wins the author's form."""
_REALIZED = ("ids", "amounts", "choose", "swap", "maker")
"""What a variation declares when records, numbers or the selection differ, and not only how things look."""
_FILE = "private/variation.yaml"


def _examine(subject: Subject) -> tuple[tuple[Problem, ...], tuple[str, ...]]:
    task = subject.base
    if not task.variation:
        return (), ("every seed has the same form",)
    forms = {seed: _digest(instance(task, seed)) for seed in _SEEDS}
    problems = [*_unstable(task, forms), *_equal(task, forms)]
    evidence = [f"{len(set(forms.values()))} different forms for the seeds {_SEEDS[0]} to {_SEEDS[-1]}"]
    realized = [name for name in _REALIZED if task.variation.get(name)]
    if realized:
        grades = {seed: _played(task, seed).grade for seed in _SEEDS}
        won = [seed for seed, grade in grades.items() if grade and grade.passed]
        evidence.append(f"varies {', '.join(realized)}; the author's reference as it stands passes on {len(won)} of {len(_SEEDS)} seeds")
        problems += [*_ungraded(grades), *_too_often(won, task.references[0].name)]
    return tuple(problems), tuple(evidence)


def _ungraded(grades: Mapping[int, Grade | None]) -> Iterator[Problem]:
    for seed, grade in grades.items():
        if grade is None or grade.fault is not None:
            told = grade.fault.message if grade and grade.fault else "it was not graded"
            yield Problem(f"seed {seed}", f"the author's reference as it stands has no grade: {told}", "mend what failed")


def _too_often(won: Sequence[int], reference: str) -> Iterator[Problem]:
    if len(won) > _MOST:
        found = f"reference {reference} as it stands passes on the seeds {', '.join(map(str, won))}; at most {_MOST} may be"
        yield Problem(_FILE, found, "let seeds change what the reference's arguments or the answer depend on")


def _unstable(task: Task, forms: Mapping[int, str]) -> Iterator[Problem]:
    for seed in _TWICE:
        if _digest(instance(replace(task), seed)) != forms[seed]:  # a task of its own, so that nothing is remembered
            yield Problem(_FILE, f"seed {seed} gives another form each time", "take chance from the seeded generator alone")


def _equal(task: Task, forms: Mapping[int, str]) -> Iterator[Problem]:
    alike = [seed for seed, form in forms.items() if form == _digest(task)]
    if len(alike) > _MOST:
        found = f"the seeds {', '.join(map(str, alike))} give the author's form"
        yield Problem(_FILE, found, "declare something that differs, or remove the file")


def _played(task: Task, seed: int) -> Episode:
    env = CoworkEnv(task)
    try:
        return play(env, ScriptedPolicy("reference as it stands", task.references[0].actions), seed=seed)
    finally:
        env.close()


def _digest(task: Task) -> str:
    """A hash over everything that a form may differ in."""
    return digest({one.name: _plain(getattr(task, one.name)) for one in fields(task) if one.name not in ("base", "variant", "variation")})


def _plain(value: Any) -> Any:
    return value if isinstance(value, Mapping | list | str | int | None) else repr(value)


VARIATION = Gate("variation", "Another seed needs another way, and each seed has one form.", _examine, once=True)
