"""What a gate is: a named question about a task package, with a result, its evidence, and what to change when it fails."""

from collections.abc import Callable
from dataclasses import dataclass

from cowork_gym.synthesis.gates.subject import Subject

__all__ = ["Gate", "Problem", "Result"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that keeps a task from being admitted."""

    where: str
    """The execution, check, tool or file."""
    found: str
    """What was found, and what was expected."""
    advice: str
    """What to change."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a gate found in one form of a task."""

    gate: str
    seed: int
    problems: tuple[Problem, ...]
    evidence: tuple[str, ...] = ()
    """What was looked at, with numbers: `reference step_by_step: 1.0 direct, 1.0 asgi`."""
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether there is no problem."""
        return not self.problems


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate."""

    name: str
    """Such as `reference`."""
    asks: str
    """What it proves, in one sentence."""
    examine: Callable[[Subject], tuple[tuple[Problem, ...], tuple[str, ...]]]
    """Problems, and evidence."""
    once: bool = False
    """Whether it is asked of the author's form alone, since it is the same for all seeds."""
