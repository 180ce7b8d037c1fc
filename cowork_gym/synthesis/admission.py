"""Admission: every gate is asked about a task, in each of its forms, and what they find is the proof."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from cowork_gym.core.errors import MissingExtra, PackageError, UserError, told
from cowork_gym.core.task import Task
from cowork_gym.envs.registration import load_task
from cowork_gym.graders import GRADER_VERSION
from cowork_gym.synthesis.gates.gate import Gate, Problem, Result
from cowork_gym.synthesis.gates.package import PACKAGE, unusable
from cowork_gym.synthesis.gates.registry import GATES
from cowork_gym.synthesis.gates.subject import Subject
from cowork_gym.synthesis.gates.variation import VARIATION
from cowork_gym.synthesis.proof import Proof

__all__ = ["Watch", "admit"]

Watch: TypeAlias = Callable[[Result], None]
"""Is shown each result as it comes."""


def admit(task: str | Path | Task, seeds: Iterable[int] = (0,), gates: Sequence[Gate] = GATES, watch: Watch | None = None) -> Proof:
    """Ask the gates about a task.

    A package that cannot be loaded fails the gate `package` with the reader's words. A gate that raises has failed, and tells the
    exception.

    Args:
        task: An environment id, the folder of a package, or a loaded task in its author's form.
        seeds: The forms to examine. What is the same for all seeds is asked about the author's form alone, whichever they are.
        gates: Which gates, in order.
        watch: Is shown each result as it comes.

    Returns:
        The proof.

    Raises:
        UserError: There is no such task.
        MissingExtra: The HTTP door is not installed, through which references are played too.
    """
    results = list[Result]()

    def add(result: Result) -> None:
        results.append(result)
        if watch is not None:
            watch(result)

    try:
        loaded = task if isinstance(task, Task) else load_task(task)
    except PackageError as error:
        add(Result(PACKAGE.name, 0, (unusable(error),)))
        return Proof(str(task), "", GRADER_VERSION, tuple(results))
    wanted = frozenset(seeds)
    for seed in sorted(wanted | {0} if any(gate.once for gate in gates) else wanted):
        for result in _examine(Subject(loaded.base or loaded, seed), [gate for gate in gates if (seed == 0 if gate.once else seed in wanted)]):
            add(result)
    return Proof(loaded.id, loaded.release_id, GRADER_VERSION, tuple(results))


def _examine(subject: Subject, gates: Sequence[Gate]) -> Iterator[Result]:
    """What each gate finds in one form; nothing can be asked about a form that cannot be made."""
    try:
        _ = subject.task
    except Exception as error:
        yield Result(VARIATION.name, subject.seed, (_raised(error, "the variation, so that every seed gives a form"),))
        return
    for gate in gates:
        yield _ask(gate, subject)


def _ask(gate: Gate, subject: Subject) -> Result:
    started = time.perf_counter()
    try:
        problems, evidence = gate.examine(subject)
    except MissingExtra:  # the person's to mend, not the author's
        raise
    except Exception as error:
        problems, evidence = (_raised(error, "what this names"),), ()
    return Result(gate.name, subject.seed, problems, evidence, time.perf_counter() - started)


def _raised(error: Exception, what: str) -> Problem:
    """A gate that could not be asked is one that was not passed."""
    return Problem("the gate itself", str(error) if isinstance(error, UserError) else told(error), f"mend {what}")
