"""What agents without understanding may earn: nothing for doing nothing, little for reading, and never a pass."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from cowork_gym.core.grade import PASS, Grade
from cowork_gym.core.task import Task
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.harness import Policy, make_agent, play
from cowork_gym.harness.policies.spray import SprayPolicy

TASKS = ("M1003", "M1100", "M133")


class CarefulSpray(SprayPolicy):
    """A spray that keeps its hands off the forbidden tools, so that the safety gate does not hide what it would earn."""

    def __init__(self, task: Task) -> None:
        super().__init__(task.budgets)
        self._forbidden = frozenset(task.grading.get("forbidden_tools", ()))

    def reset(self, tools: Sequence[Mapping[str, Any]], seed: int) -> None:
        super().reset([one for one in tools if one["function"]["name"] not in self._forbidden], seed)


AGENTS: dict[str, Callable[[Task], Policy]] = {
    "random": lambda task: make_agent("random", task), "spray": lambda task: make_agent("spray", task), "careful spray": CarefulSpray,
}


def _grades(name: str, agent: Callable[[Task], Policy], seeds: int) -> list[Grade]:
    env = CoworkEnv(name)
    grades = [play(env, agent(env.task), seed=seed).grade for seed in range(seeds)]
    assert all(one.fault is None for one in grades)
    return grades


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("agent", ["noop", "text-only"])
def test_doing_nothing_earns_exactly_nothing(name: str, agent: str) -> None:
    (grade,) = _grades(name, lambda task: make_agent(agent, task), 1)
    assert (grade.spec, grade.reward, grade.completion) == ("cowork-v1", 0.0, 0.0)


@pytest.mark.parametrize(("name", "published"), [("M1003", 0.72), ("M1100", 0.76), ("M133", 1.0)])
def test_reading_everything_earns_at_most_two_fifths(name: str, published: float) -> None:
    (grade,) = _grades(name, lambda task: make_agent("read-everything", task), 1)
    assert 0 < grade.reward <= 0.4
    assert grade.rewards["claw-v1"] == pytest.approx(published)
    assert all(one.passed for one in grade.checks if one.part == "guardrail")


@pytest.mark.parametrize("name", TASKS)
def test_the_reference_earns_everything(name: str) -> None:
    (grade,) = _grades(name, lambda task: make_agent("reference", task), 1)
    assert grade.rewards == {"claw-v1": 1.0, "cowork-v1": 1.0}


@pytest.mark.parametrize("seeds", [20, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("agent", AGENTS)
def test_trying_things_never_passes(name: str, agent: str, seeds: int) -> None:
    rewards = [one.reward for one in _grades(name, AGENTS[agent], seeds)]
    print(f"{agent} on {name}, {seeds} seeds: at most {max(rewards):.3f}, {sum(rewards) / seeds:.3f} on average")
    assert max(rewards) <= 0.4 < PASS
