"""The play: one policy in one environment, from the request to the sealed episode. `agents` makes policies, `policies` has them."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from cowork_gym.core.episode import Episode, Turn
from cowork_gym.core.errors import Blame, Fault, UserError, told
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.progress import Checkpoint
from cowork_gym.harness.policies.policy import Policy

__all__ = ["Watch", "play"]

Watch: TypeAlias = Callable[[Turn], None]
"""Is shown each turn as it happens."""
_LOG = logging.getLogger(__name__)


def play(env: CoworkEnv, policy: Policy, *, seed: int | None = None, start: Checkpoint | None = None, watch: Watch | None = None) -> Episode:
    """Play one episode, or the rest of one.

    A policy that fails is not one that plays badly: a `Fault` that it raises, or any other exception (then the blame is the
    harness's, and the log has the traceback), quarantines the episode.

    Args:
        env: The environment, unwrapped.
        policy: Who plays.
        seed: Of the world and of the policy; None lets the environment choose. A world that goes on from `start` keeps its own.
        start: The moment to go on from, its turns being the policy's past; None begins anew.
        watch: Is shown each turn as it happens.

    Returns:
        The episode with its grade. The environment stays open, at the episode's end.

    Raises:
        UserError: The policy says that the person at the keyboard has to mend something first, or `start` is of another task.
    """
    if start is None:
        env.reset(seed=seed)
    else:
        env.restore(start)
    env.agent = policy.name
    history = [*env.episode().messages]
    try:
        with _blame(policy):
            policy.reset(env.action_space.schemas, env.seed if seed is None else seed)
        while env.progress.ending is None:
            with _blame(policy):
                action = policy.act(tuple(history))
            env.spend(policy.usage.completion_tokens)
            env.step(action)
            turn = env.progress.turns[-1]
            history += [turn.said, *turn.observation]
            if watch is not None:
                watch(turn)
    except Fault as fault:
        env.quarantine(fault.record)
    return env.episode()


@contextmanager
def _blame(policy: Policy) -> Iterator[None]:
    """Whatever a policy raises as a fault."""
    try:
        yield
    except (Fault, UserError):
        raise
    except Exception as error:
        _LOG.exception("the policy %s failed", policy.name)
        raise Fault(Blame.HARNESS, policy.name, told(error)[:300]) from error
