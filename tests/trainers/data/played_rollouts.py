"""Episodes whose tokens an engine of the tests drew, at random or as a test asks, with the log of what it was asked."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).resolve().parents[2] / "harness"))
from token_script import Asked, TokenScript

from cowork_gym.core.episode import Episode
from cowork_gym.core.messages import Message, call, final
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import load_task
from cowork_gym.harness import Harness, compose, play
from cowork_gym.harness.loops import PlanAct, React
from cowork_gym.harness.middleware import Middleware, Prune, Slide, Summary, Window

TASKS = ("M1003", "M1100", "M1117", "M1201", "M133")
READS = [call("helpdesk_list_tickets"), call("kb_list_articles"), call("crm_list_customers")]


class Play(NamedTuple):
    """An episode and what its engine was asked."""

    episode: Episode
    log: list[Asked]


@cache
def env_of(task: str = "M1100") -> CoworkEnv:
    """Wide enough for anything that a test plays."""
    known = load_task(task)
    return CoworkEnv(replace(known, budgets=replace(known.budgets, turns=200, calls=400)))


def at_random(seed: int) -> Play:
    """A random task, played by a random script under a random harness."""
    g = Random(seed)
    env = env_of(g.choice(TASKS))
    makers: Sequence[Any] = (
        lambda: Summary(at=g.randint(50, 1500), keep=g.randint(0, 3), attempts=g.randint(1, 3), most=g.choice([20, 400, 2000])),
        lambda: window(g), lambda: Slide(g.randint(1, 6)), lambda: Prune(g.randint(1, 4), g.randint(0, 1500), g.randint(1, 3)),
    )
    chain = [g.choice(makers)() for _ in range(g.randint(0, 4))]
    harness = compose(PlanAct(g.randint(0, 5)) if g.random() < 0.4 else React(), prompt=g.choice(["", "You are careful."]), middleware=chain)
    actions = env.task.references[0].actions
    used = {one.name for each in actions for one in each.tool_calls}
    names = [one["function"]["name"] for one in env.action_space.schemas if not one["function"]["parameters"].get("required")]
    reads = sorted(name for name in names if "_list_" in name and name not in used)
    lines = [*(call(g.choice(reads)) for _ in range(g.choice([0, 3, 12, 25]) if reads else 0)), *actions]
    policy = TokenScript(lines, g, spoiled=g.choice([0.0, 0.3, 0.9]), garbled=g.choice([0.0, 0.0, 0.1]))
    return Play(play(env, policy, harness=harness, seed=0), policy.log)


def window(g: Random) -> Window:
    """A FIFO window of a random size."""
    stride = g.randint(1, 4)
    return Window(stride * g.randint(2, 4), stride)


def played(lines: Sequence[Message], *, harness: Harness | None = None, seed: int = 0, chance: int = 0, task: str = "M1100", **how: Any) -> Play:
    """Lines under a harness. Child runs take the lines that come while they are asked."""
    policy = TokenScript(lines, Random(chance), **how)
    return Play(play(env_of(task), policy, harness=harness or compose(), seed=seed, sampling=chance), policy.log)


def reading(turns: int, *middleware: Middleware, chance: int = 0) -> Play:
    """So many turns, the final answer included, that read and change nothing."""
    lines = [call("helpdesk_list_tickets")] * (turns - 1)
    return played([*lines, final("It is done.")], harness=compose(middleware=middleware), chance=chance)
