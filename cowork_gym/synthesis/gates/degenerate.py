"""The gate of the agents that understand nothing: doing nothing earns nothing, reading or asking little, and trying everything never passes."""

from collections.abc import Mapping
from typing import NamedTuple

from cowork_gym.core.episode import Episode
from cowork_gym.core.grade import PASS
from cowork_gym.core.ledger import Effect
from cowork_gym.harness.policies.policy import Policy
from cowork_gym.harness.policies.read_everything import ReadEverythingPolicy
from cowork_gym.harness.policies.spray import SprayPolicy
from cowork_gym.synthesis.agents import Parrot, Within, asker, claimer
from cowork_gym.synthesis.gates.gate import Gate, Problem
from cowork_gym.synthesis.gates.subject import Subject
from cowork_gym.synthesis.rewards import ungraded

__all__ = ["DEGENERATE", "play_agents"]

_SPEC = "cowork-v1"
_LITTLE = 0.4
_STEP = 0.0001
"""The last digit of a reward: who earns no more than a step under the threshold does not pass."""


class _Bound(NamedTuple):
    most: float
    advice: str


_NOTHING = _Bound(0.0, "ask for something that only work brings about, and count no answer without it")
_READING = _Bound(_LITTLE, "make what has to be done or concluded an outcome: reading is no result")
_TRYING = _Bound(PASS - _STEP, "bound what may change (unchanged, max), and ask for values that stand only in the right place")
_BOUNDS: Mapping[str, _Bound] = {
    "noop": _NOTHING, "text-only": _NOTHING, "claimer": _NOTHING, "read-everything": _READING, "asker": _READING,
    "parrot": _TRYING, "random": _TRYING, "spray": _TRYING, "careful-spray": _TRYING,
}


def play_agents(subject: Subject) -> Mapping[str, Episode]:
    """The episodes of all agents that understand nothing, by name."""
    task, tools = subject.task, subject.blueprint.tools
    episodes = {name: subject.play_agent(name) for name in ("noop", "text-only", "read-everything", "random", "spray")}
    careful = tools.keys() - subject.contract.forbidden_tools
    readers = {name for name, door in tools.items() if door.tool.effect is Effect.READ}
    policies: list[Policy] = [Within("careful-spray", SprayPolicy(task.budgets), careful), Parrot(ReadEverythingPolicy(readers, task.budgets))]
    policies += [asker(task)] if task.dialogue else []
    policies += [claimer(task)] if task.stages else []
    return episodes | {policy.name: subject.play_policy(policy) for policy in policies}


def _examine(subject: Subject) -> tuple[tuple[Problem, ...], tuple[str, ...]]:
    problems, told = list[Problem](), list[str]()
    for name, episode in play_agents(subject).items():
        bound, grade = _BOUNDS[name], episode.grade
        reward = grade.rewards.get(_SPEC) if grade else None
        told.append(f"{name}: {reward}")
        if grade is None or reward is None:
            problems.append(ungraded(f"agent {name}", episode))
        elif reward > bound.most:
            passed = ", ".join(one.id for one in grade.checks if one.passed and one.weight)
            problems.append(Problem(f"agent {name}", f"it earns {reward} under {_SPEC}, expected at most {bound.most:g}: {passed}", bound.advice))
    return tuple(problems), tuple(told)


DEGENERATE = Gate("degenerate", "Agents that understand nothing earn nothing, little, or at least no pass.", _examine)
