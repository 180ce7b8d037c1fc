"""The agent loops. A loop drives one run to its end; what happens around each call of the policy is the middleware's."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Protocol

from cowork_gym.core.errors import UserError
from cowork_gym.core.messages import InvalidAction, Message
from cowork_gym.core.trajectory import Purpose
from cowork_gym.harness.policies.policy import Policy
from cowork_gym.harness.run import LiveRun

__all__ = ["LOOPS", "Loop", "PlanAct", "React"]

_PLAN = "Before you act, write a short plan: what you have to find out, what you will change, and what you must leave alone. Call no tool yet."
_START = "Now carry it out."


class Loop(Protocol):
    """The order in which a policy is asked."""

    name: ClassVar[str]

    def manifest(self) -> Mapping[str, Any]:
        """Name and settings: what is hashed into episodes."""
        ...

    def lacks(self, policy: Policy, tools: Sequence[str]) -> str | None:
        """What it needs and does not get; None when nothing is missing."""
        ...

    def play(self, run: LiveRun) -> None:
        """Drive a run until it is no longer open."""
        ...


@dataclass(frozen=True, slots=True)
class React:
    """Act, see what came of it, act again, until the final answer."""

    name: ClassVar[str] = "react"

    def manifest(self) -> Mapping[str, Any]:
        """Name and settings."""
        return {"name": self.name}

    def lacks(self, policy: Policy, tools: Sequence[str]) -> str | None:
        """Nothing is needed."""
        return None

    def play(self, run: LiveRun) -> None:
        """Drive a run until it is no longer open."""
        while run.turn():
            pass


@dataclass(frozen=True, slots=True)
class PlanAct:
    """Write a plan first, and anew after every so many turns; then act as `React` does. Plans are the policy's own words.

    Raises:
        UserError: The number of turns is negative.
    """

    every: int = 0
    """Turns after which the plan is written anew; 0 for never."""
    instruction: str = _PLAN
    start: str = _START
    name: ClassVar[str] = "plan-act"

    def __post_init__(self) -> None:
        if self.every < 0:
            raise UserError(f"plan-act: every is 0 for never, or a number of turns, not {self.every}")

    def manifest(self) -> Mapping[str, Any]:
        """Name and settings."""
        return {"name": self.name, **asdict(self)}

    def lacks(self, policy: Policy, tools: Sequence[str]) -> str | None:
        """A policy that can write."""
        return None if policy.writes else f"a policy that can write a plan, which {policy.name} cannot"

    def play(self, run: LiveRun) -> None:
        """Drive a run until it is no longer open."""
        if not run.spent.turns and Message("user", self.instruction) not in run.view.messages:  # a prefix that it goes on from may have the plan
            self._plan(run)
        while run.turn():
            if self.every and run.spent.turns % self.every == 0:
                self._plan(run)

    def _plan(self, run: LiveRun) -> None:
        """Ask for a plan. One that is none is discarded, and the run goes on without."""
        instruction = Message("user", self.instruction)
        plan = run.write(Purpose.PLAN, instruction)
        if plan is None:
            return
        if isinstance(plan, InvalidAction) or plan.tool_calls or not (plan.content or "").strip():
            run.discard(plan.reason if isinstance(plan, InvalidAction) else "no plan")
        else:
            run.keep(instruction, then=Message("user", self.start))


LOOPS: Mapping[str, type[React] | type[PlanAct]] = {one.name: one for one in (React, PlanAct)}
"""The loops by name."""
