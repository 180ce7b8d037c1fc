"""Policies with children, and M1100 played by several of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cowork_gym.core.episode import Episode
from cowork_gym.core.messages import Message, call, final
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import load_task
from cowork_gym.harness import compose, play
from cowork_gym.harness.inner import Delegate
from cowork_gym.harness.policies.policy import Action, Policy, Usage

TASK = load_task("M1100")
*WORK, ANSWER = TASK.references[0].actions
"""The eight calls of the reference, one a message, and its final answer."""
READ, WRITTEN = WORK[:4], WORK[4:]
REPORT = final("The card is in TCK-5802.")


class Lines(Policy):
    """Says its lines in order, raises those that are exceptions, and keeps what it read. Each child that it spawns has lines of its own."""

    name, writes = "lines", True

    def __init__(self, *lines: Action | BaseException, children: Sequence["Lines"] = (), tokens: int = 0) -> None:
        self.lines, self.children, self.usage = lines, [*children], Usage(0, tokens)
        self.histories: list[tuple[Message, ...]] = []
        self.tools: list[str] = []
        self.seed = -1
        self.spawned = 0

    def reset(self, tools: Sequence[Mapping[str, Any]], seed: int) -> None:
        self.tools, self.seed, self.spawned, self.histories = [one["function"]["name"] for one in tools], seed, 0, []

    def act(self, history: Sequence[Message]) -> Action:
        self.histories.append(tuple(history))
        said = self.lines[len(self.histories) - 1]
        if isinstance(said, BaseException):
            raise said
        return said

    def spawn(self) -> "Lines":
        self.spawned += 1
        return self.children[(self.spawned - 1) % len(self.children)] if self.children else Lines(REPORT)


def delegate(task: str = "Write the card.") -> Message:
    return call("delegate", task=task)


def played(policy: Policy, *, tool: Delegate | None = None, env: CoworkEnv | None = None, **parts: Any) -> Episode:
    return play(env or CoworkEnv(TASK), policy, harness=compose(tools=[tool or Delegate()], **parts), seed=0)


def with_budgets(**budgets: Any) -> CoworkEnv:
    return CoworkEnv(replace(TASK, budgets=replace(TASK.budgets, **budgets)))
