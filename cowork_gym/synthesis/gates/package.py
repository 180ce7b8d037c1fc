"""The gate `package`: a task says enough about itself, and what it says is true."""

from collections.abc import Iterable, Iterator

from cowork_gym.core.errors import PackageError
from cowork_gym.core.messages import Message
from cowork_gym.core.task import Task
from cowork_gym.core.wording import counted
from cowork_gym.synthesis.gates.gate import Gate, Problem
from cowork_gym.synthesis.gates.subject import Subject

__all__ = ["PACKAGE", "unusable"]

_LEAST_NEGATIVES = 2
_CLAIMS = {"D1.5": (3, range(8, 13)), "D2.5": (4, range(12, 21))}
"""What a difficulty means: the least number of services, and how many calls the first reference makes."""


def unusable(error: PackageError) -> Problem:
    """The problem of a package that cannot be loaded at all."""
    return Problem(error.path, str(error), "mend this file first; no other gate can be asked before the package loads")


def _examine(subject: Subject) -> tuple[tuple[Problem, ...], tuple[str, ...]]:
    task = subject.task
    problems = (*_executions(task), *_structure(task), *_services(subject), *_difficulty(task))
    steps = ", ".join(f"{one.name} {_calls(one.actions)}" for one in task.references)
    return problems, (
        f"{counted(len(task.references), 'reference')} ({steps} calls), {counted(len(task.negatives), 'negative')}",
        f"{counted(len(task.services), 'service')}, {counted(len(task.tools), 'tool')}; "
        f"{task.difficulty or 'no difficulty claimed'}, {task.structure.topology}",
    )


def _executions(task: Task) -> Iterator[Problem]:
    if not any(_calls(one.actions) for one in task.references):
        yield Problem("private/reference.yaml", "no reference that calls a tool", "write a reference that does the work through the permitted tools")
    if len(task.negatives) < _LEAST_NEGATIVES:
        found = f"{len(task.negatives)} negative{'s' * (len(task.negatives) != 1)}, at least {_LEAST_NEGATIVES} needed"
        yield Problem("private/negatives.yaml", found, "add what a careless agent would do: take the look-alike, skip a step")


def _structure(task: Task) -> Iterator[Problem]:
    declared = task.structure
    if not declared.capabilities:
        yield Problem("task.yaml: capabilities", "no capability graph", "declare it: {discover: [], extract: [discover], execute: [extract]}")
    for field, values in (("deliverables", declared.deliverables), ("hazards", declared.hazards)):
        if not values:
            yield Problem(f"task.yaml: structure.{field}", "none declared", f"name the {field} of the task; coverage is counted by them")


def _services(subject: Subject) -> Iterator[Problem]:
    owners = {door.service.name for door in subject.blueprint.tools.values()}
    for service in subject.task.services:
        if service not in owners:
            yield Problem("task.yaml: services", f"no permitted tool is of {service!r}", "permit one of its tools, or take the service out")


def _difficulty(task: Task) -> Iterator[Problem]:
    if task.difficulty not in _CLAIMS or not task.references:
        return
    services, steps = _CLAIMS[task.difficulty]
    where, advice = "task.yaml: difficulty", f"claim another difficulty than {task.difficulty}, or make the task what it claims"
    if len(task.services) < services:
        yield Problem(where, f"{task.difficulty} needs {services} services or more, the task has {len(task.services)}", advice)
    if (calls := _calls(task.references[0].actions)) not in steps:
        needed = f"{task.difficulty} needs a first reference of {steps.start} to {steps.stop - 1} calls"
        yield Problem(where, f"{needed}, {task.references[0].name} makes {calls}", advice)


def _calls(actions: Iterable[Message]) -> int:
    return sum(len(one.tool_calls) for one in actions)


PACKAGE = Gate("package", "The package loads, and what it says of its structure and difficulty holds.", _examine, once=True)
