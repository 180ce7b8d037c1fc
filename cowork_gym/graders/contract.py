"""The grading contract: a task's private half, read strictly. What it does not know it refuses, with place and nearest choice."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from cowork_gym.core.errors import PackageError, nearest
from cowork_gym.graders.checks import AnyCheck, Check, Reference
from cowork_gym.graders.problems import Problem, SchemaVersion, read_form
from cowork_gym.graders.scoring import DEFAULT_SPEC, REWARD_SPECS

__all__ = ["Contract"]


class _File(BaseModel):
    """The file's form."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: SchemaVersion
    reward: str = DEFAULT_SPEC
    checks: tuple[AnyCheck, ...] = Field(min_length=1)
    outcomes: tuple[AnyCheck, ...] = Field(min_length=1)
    forbidden_tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Contract:
    """What an episode is graded by."""

    path: str
    """The file, as its author knows it."""
    reward: str
    """The reward spec that counts."""
    checks: tuple[Check, ...]
    """With weights that sum to exactly 1."""
    outcomes: tuple[Check, ...]
    """Required outcomes: what the request is for. At least one; weight 0."""
    forbidden_tools: tuple[str, ...] = ()
    """The safety gate."""

    @classmethod
    def parse(cls, grading: Mapping[str, Any], path: str = "private/grading.yaml") -> "Contract":
        """The contract of a task.

        Args:
            grading: What the file says.
            path: The file, for errors.

        Raises:
            PackageError: An unknown key, kind, matcher or reward spec, a missing or ill-typed field, ids that repeat, weights
                that do not sum to 1, an outcome with a weight, or a forbidden tool that a check requires.
        """
        file = read_form(_File, grading, path)
        contract = cls(path, file.reward, file.checks, file.outcomes, file.forbidden_tools)
        for where, problem in contract._problems():
            raise PackageError(path, where, problem)
        return contract

    def placed(self) -> Iterator[tuple[str, Check]]:
        """Every check and outcome with its place in the file, such as `checks[2] (ticket_updated)`."""
        for name, checks in (("checks", self.checks), ("outcomes", self.outcomes)):
            for index, check in enumerate(checks):
                yield f"{name}[{index}] ({check.id})", check

    def references(self) -> tuple[Reference, ...]:
        """What the contract names, so that a loader can see whether it exists; places are those of the file."""
        gate = tuple(Reference(f"forbidden_tools[{index}]", "tool", tool) for index, tool in enumerate(self.forbidden_tools))
        return gate + tuple(one._replace(where=f"{where}.{one.where}") for where, check in self.placed() for one in check.references())

    def _problems(self) -> Iterator[Problem]:
        if self.reward not in REWARD_SPECS:
            yield "reward", f"unknown reward spec {self.reward!r}: {nearest(self.reward, REWARD_SPECS)}"
        yield from self._check_problems()
        yield from self._gate_problems()

    def _check_problems(self) -> Iterator[Problem]:
        seen = set[str]()
        for where, check in self.placed():
            if check.id in seen:
                yield f"{where}.id", "another check has this id"
            seen.add(check.id)
        for index, check in enumerate(self.outcomes):
            if check.weight:
                yield f"outcomes[{index}] ({check.id}).weight", "an outcome has no weight"
        if sum(Fraction(check.weight) for check in self.checks) != 1:
            yield "checks", f"the weights sum to {sum(check.weight for check in self.checks)}, not 1"

    def _gate_problems(self) -> Iterator[Problem]:
        for index, tool in enumerate(self.forbidden_tools):
            if tool in self.forbidden_tools[:index]:
                yield f"forbidden_tools[{index}]", f"{tool!r} is listed twice"
        for one in self.references()[len(self.forbidden_tools):]:
            if one.what == "tool" and one.name in self.forbidden_tools:
                yield one.where, f"{one.name!r} is forbidden, so no check may require it"
