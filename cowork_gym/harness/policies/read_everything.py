"""The agent that lists, searches and gets all that there is, changes nothing, and says that it is done."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from cowork_gym.core.ids import generator
from cowork_gym.core.messages import Message, final, message
from cowork_gym.core.task import Budgets
from cowork_gym.envs.sampling import sample_arguments
from cowork_gym.harness.policies.frontier import Frontier
from cowork_gym.harness.policies.policy import Policy
from cowork_gym.harness.policies.seen import Seen

__all__ = ["ReadEverythingPolicy"]


class ReadEverythingPolicy(Policy):
    """Reads everything and does nothing.

    Args:
        readers: The tools that only read.
        budgets: Those of the task.
    """

    name = "read-everything"

    def __init__(self, readers: Collection[str], budgets: Budgets) -> None:
        self._readers, self._budgets = frozenset(readers), budgets

    def reset(self, tools: Sequence[Mapping[str, Any]], seed: int) -> None:
        """Start a new episode."""
        self._generator, self._seen = generator(seed, self.name), Seen()
        self._frontier = Frontier([one for one in tools if one["function"]["name"] in self._readers], self._budgets)

    def act(self, history: Sequence[Message]) -> Message:
        """Read what has not been read, or say that it is done."""
        self._seen.read(history)
        calls = [probe.call(sample_arguments(probe.needed, self._generator)) for probe in self._frontier.advance(self._seen)]
        return message(None, *calls) if calls else final("done")
