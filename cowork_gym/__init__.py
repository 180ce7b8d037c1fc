"""Co-work environments for training and measuring agents.

Importing this package registers the built-in environments:

    >>> import gymnasium as gym, cowork_gym
    >>> env = gym.make("cowork/M1100-v0")
"""

from collections.abc import Sequence
from pathlib import Path

from cowork_gym.core.episode import Episode
from cowork_gym.core.errors import ToolError
from cowork_gym.core.grade import Grade
from cowork_gym.core.ledger import Effect, Ledger
from cowork_gym.core.messages import Message, call, final, message
from cowork_gym.core.snapshot import Snapshot
from cowork_gym.core.task import Task
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.registration import load_task, register, register_catalog
from cowork_gym.envs.variation import instance
from cowork_gym.envs.world import World
from cowork_gym.mock_services.kit import Service, tool

__version__ = "0.1.0"

__all__ = [
    "CoworkEnv", "Effect", "Episode", "Grade", "Ledger", "Message", "Service", "Snapshot", "Task", "ToolError", "World", "call", "final", "load_task",
    "message", "reference", "register", "tool",
]


def reference(name: str | Path | Task, seed: int = 0) -> Sequence[Message]:
    """The actions of a task's first reference execution, which earns 1.0 when they are taken after `reset(seed=seed)`.

    Where an action needs what an earlier call gave, such as the id of a new record, the execution is played once to learn it.

    Args:
        name: An environment id, a short name, a package's folder, or a loaded task.
        seed: The form of the task that is played.

    Raises:
        UserError: There is no such task.
    """
    from cowork_gym.harness.loop import play
    from cowork_gym.harness.policies.blanks import has_blanks
    from cowork_gym.harness.policies.scripted import ScriptedPolicy

    task = name if isinstance(name, Task) else load_task(name)
    actions = instance(task, seed).references[0].actions
    if not any(has_blanks(one) for one in actions):
        return actions
    env = CoworkEnv(task)
    try:
        return tuple(turn.said for turn in play(env, ScriptedPolicy("reference", actions), seed=seed).turns)
    finally:
        env.close()


register_catalog()
