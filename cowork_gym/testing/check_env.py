"""The conformance suite of an environment: Gymnasium's own checks, then what co-work environments promise beyond them."""

import warnings
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

import gymnasium
from gymnasium.utils.env_checker import check_env as check_gymnasium_env

from cowork_gym.core.canonical import decode
from cowork_gym.core.errors import ErrorKind
from cowork_gym.core.messages import call, final
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.testing.demand import demand

__all__ = ["check_env"]

_STRANGE: Sequence[Any] = (
    None, 7, "", "not JSON", "[]", b"bytes", {"role": "user", "content": "hello"}, {"tool_calls": "x"}, {"tool_calls": [{}]},
    {"name": "no_such_tool", "arguments": {}}, {"name": "no_such_tool", "arguments": "{"}, {"role": "assistant", "content": "\ud800"},
    {"name": "no_such_tool", "arguments": {"text": "🙂 \0 证书"}}, {"name": "no_such_tool", "arguments": {"number": float("nan")}},
)


def check_env(env: str | gymnasium.Env[Any, Any], *, seed: int = 0) -> None:
    """See that an environment keeps what every co-work environment promises.

    Args:
        env: An environment id, or an environment. It is reset and played; one made from an id is closed again.
        seed: Of the worlds and actions.

    Raises:
        AssertionError: A promise is broken, or Gymnasium's checker has an objection or a warning.
        UserError: There is no such environment.
    """
    bare = gymnasium.make(env).unwrapped if isinstance(env, str) else env.unwrapped
    if not isinstance(bare, CoworkEnv):
        raise AssertionError(f"{bare} is no co-work environment")
    try:
        _check_gymnasium(bare)
        for one in range(seed, seed + 3):
            demand(_play(bare, one) == _play(bare, one), "the same seed and actions came to another ledger, fingerprint or grade")
        _check_seeds(bare, seed)
        for action in _STRANGE:
            _check_strange(bare, action, seed)
        _check_budget(bare, seed)
        _check_end(bare, seed)
    finally:
        if isinstance(env, str):
            bare.close()


def _check_gymnasium(env: CoworkEnv) -> None:
    with warnings.catch_warnings(), redirect_stdout(StringIO()):  # it tries the render mode that prints
        warnings.simplefilter("error")
        try:
            check_gymnasium_env(env, skip_render_check=env.spec is None)  # without a spec it cannot make other render modes
        except Exception as error:
            raise AssertionError(f"Gymnasium's checker objects: {error}") from error


def _play(env: CoworkEnv, seed: int) -> tuple[Any, ...]:
    """A sampled episode, as everything that must come out the same again."""
    env.action_space.seed(seed)
    observation, info = env.reset(seed=seed)
    seen: list[Any] = [observation, info["tools"]]
    while env.progress.ending is None:
        action = env.action_space.sample()
        demand(action in env.action_space, f"the action space sampled what it does not contain: {action}")
        observation, reward, *_ = env.step(action)
        demand(observation in env.observation_space, f"after {action} the observation is not in its space: {observation}")
        demand(0 <= reward <= 1, f"after {action} the reward is {reward}")
        seen.append(observation)
    demand(env.progress.fault is None, f"a sampled episode ended in a fault: {env.progress.fault}")
    return seen, env.world.ledger.hash, env.world.fingerprint(), env.progress.grade


def _check_seeds(env: CoworkEnv, seed: int) -> None:
    rows = []
    for _ in range(2):
        env.reset(seed=seed)
        seeds = [env.seed]
        for _ in range(2):
            env.reset()
            seeds.append(env.seed)
        rows.append(seeds)
    demand(rows[0] == rows[1] and len({*rows[0]}) == 3, f"resets without a seed must differ and follow from the last seed given, not {rows}")


def _check_strange(env: CoworkEnv, action: Any, seed: int) -> None:
    """What is no action is answered with a typed error and changes nothing."""
    env.reset(seed=seed)
    before = env.world.fingerprint()
    try:
        observation, reward, terminated, *_ = env.step(action)
    except Exception as error:
        raise AssertionError(f"the action {action!r} raised {type(error).__name__}: {error}") from error
    demand(observation in env.observation_space, f"after {action!r} the observation is not in its space")
    told = len(observation) == 1 and "error" in decode(observation[0].content or "null")
    demand(told and reward == 0 and not terminated, f"the action {action!r} was not answered with a typed error: {observation}")
    demand(env.world.fingerprint() == before and not env.world.ledger, f"the action {action!r} changed the world or the ledger")


def _check_budget(env: CoworkEnv, seed: int) -> None:
    env.reset(seed=seed)
    turns, truncated = 0, False
    while not truncated and turns <= env.task.budgets.turns:
        *_, truncated, info = env.step(None)
        turns += 1
    demand(truncated and turns == env.task.budgets.turns and "grade" in info, f"a budget of {env.task.budgets.turns} turns ended after {turns}")


def _check_end(env: CoworkEnv, seed: int) -> None:
    env.reset(seed=seed)
    for _ in range(len(env.task.stages) + 1):  # each part is closed by a message without calls
        _, reward, terminated, truncated, info = env.step(final(""))
    demand(terminated and not truncated and reward == 0, f"empty answers alone must terminate the episode and earn 0, not {reward}")
    demand("grade" in info and info["grade"].reward is not None, "the end of an episode has no grade")
    before, turns, entries = env.world.fingerprint(), env.progress.turns, len(env.world.ledger)
    observation, _, terminated, _, _ = env.step(call(env.task.tools[0]))
    told = len(observation) == 1 and decode(observation[0].content or "null").get("type") == ErrorKind.EPISODE_OVER
    untouched = env.world.fingerprint() == before and len(env.world.ledger) == entries and env.progress.turns == turns
    demand(told and terminated and untouched, "a call after the end must be answered with a typed error and change nothing")
