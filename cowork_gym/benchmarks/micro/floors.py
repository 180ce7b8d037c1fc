"""What those earn in the micro tasks who understand nothing, and those who demonstrate them: the numbers between which learning shows."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from statistics import fmean
from typing import TypeAlias

from cowork_gym.benchmarks.micro.demonstrations import Lack, demonstrate
from cowork_gym.core.ids import generator
from cowork_gym.core.messages import Message, ToolCall
from cowork_gym.core.task import Task
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.micro.desk import PRIORITIES, STATUSES, TEAMS, TITLES
from cowork_gym.envs.registration import load_task
from cowork_gym.envs.variation import instance
from cowork_gym.harness.agents import make_agent
from cowork_gym.harness.loop import play
from cowork_gym.harness.policies.policy import Policy
from cowork_gym.harness.policies.scripted import ScriptedPolicy

__all__ = ["PLAYERS", "mean_reward"]

_Player: TypeAlias = Callable[[Task, int], Policy]
"""From a task and a seed to who plays it."""
_ID = re.compile(r"[TCK]\d\d")
_WORDS = (*TITLES, *PRIORITIES, *STATUSES, *TEAMS)


def mean_reward(task: str, player: _Player, seeds: Iterable[int]) -> float:
    """The mean reward over seeds.

    Raises:
        UserError: There is no such task.
    """
    loaded = load_task(task)
    env, rewards = CoworkEnv(loaded), list[float]()
    try:
        for seed in seeds:
            grade = play(env, player(loaded, seed), seed=seed).grade
            assert grade is not None and grade.reward is not None, f"{task}, seed {seed}: no grade"
            rewards.append(grade.reward)
    finally:
        env.close()
    return fmean(rewards)


def _agent(spec: str, task: Task, seed: int) -> Policy:
    return make_agent(spec, instance(task, seed))


def _shown(slips: float, without: Lack | None, task: Task, seed: int) -> Policy:
    return ScriptedPolicy("demonstrator", demonstrate(task, seed, slips=slips, without=without))


def _garbled(task: Task, seed: int) -> Policy:
    """The demonstration in form alone: every id has other digits, and an answer in words is another word."""
    chance = generator(seed, task.id, "garbled")

    def other(text: str) -> str:
        return f"{text[0]}{chance.randint(10, 99)}" if _ID.fullmatch(text) else text

    def said(one: Message) -> Message:
        if one.content is not None:
            return replace(one, content=other(one.content) if _ID.fullmatch(one.content) else chance.choice(_WORDS))
        (call,) = one.tool_calls
        return replace(one, tool_calls=(ToolCall(call.name, {name: other(value) for name, value in call.decoded().items()}),))

    return ScriptedPolicy("garbled", [said(one) for one in demonstrate(task, seed)])


PLAYERS: Mapping[str, _Player] = {
    **{name: partial(_agent, name) for name in ("noop", "text-only", "read-everything", "random", "spray")},
    "form without ids": _garbled,
    "demonstrations": partial(_shown, 0.0, None),
    "slips 0.6": partial(_shown, 0.6, None),
    **{f"without {lack}": partial(_shown, 0.0, lack) for lack in Lack},
}
"""Who plays, by the name that the table gives them."""
