"""Our own contender: the environment as an agent meets it, and the world alone."""

from cowork_gym.benchmarks.speed.desk import ANSWER, READ, SCRIPT, WRITE, Call
from cowork_gym.core.messages import Message, ToolCall, final
from cowork_gym.core.task import Task
from cowork_gym.envs.env import CoworkEnv

__all__ = ["Ours"]


class Ours:
    """`CoworkEnv` over a task.

    Args:
        task: What is played.
        door: `direct`, or `asgi` for the HTTP application in this process.
    """

    name = "cowork_gym"

    def __init__(self, task: Task, door: str = "direct") -> None:
        self._env = CoworkEnv(task, door=door)

    def reset(self) -> None:
        """Begin an episode and open its database, as its first call does before anything else."""
        self._env.reset(seed=1)
        self._env.world._open()

    def reset_lazily(self) -> None:
        """Begin an episode; the first call opens its database."""
        self._env.reset(seed=1)

    def read(self) -> object:
        """A reading call through `step`."""
        return self._env.step(_action(READ))

    def write(self) -> object:
        """A writing call through `step`."""
        return self._env.step(_action(WRITE))

    def world_read(self) -> object:
        """A reading call on the world, without the environment."""
        return self._env.world.call(*READ)

    def world_write(self) -> object:
        """A writing call on the world, without the environment."""
        return self._env.world.call(*WRITE)

    def search(self) -> object:
        """A full-text search through `step`."""
        return self._env.step(_action(("kb_search", {"query": "证书 renewal window"})))

    def fork(self) -> "Ours":
        """A fork of the environment; its database is opened by its first call."""
        made = object.__new__(Ours)
        [made._env] = self._env.fork()
        return made

    def world_fork(self) -> object:
        """A fork of the world, without the environment."""
        return self._env.world.fork()

    def fork_and_read(self) -> object:
        """A fork and its first call."""
        return self.fork().read()

    def fingerprint(self) -> str:
        """The fingerprint, from the rows that changed since the last one."""
        return self._env.world.fingerprint()

    def diff(self) -> object:
        """The rows that differ from the start."""
        return self._env.world.diff()

    def episode(self) -> object:
        """Ten calls, the answer, the grade and the sealed record."""
        self._env.reset(seed=1)
        for call in SCRIPT:
            self._env.step(_action(call))
        self._env.step(final(ANSWER))
        return self._env.episode()

    def play(self) -> None:
        """The ten calls alone, so that the state is one that an episode leaves."""
        for call in SCRIPT:
            self._env.step(_action(call))

    def close(self) -> None:
        """Free the database and the door."""
        self._env.close()


def _action(call: Call) -> Message:
    return Message("assistant", None, (ToolCall(*call),))
