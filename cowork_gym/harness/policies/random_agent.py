"""The agent that samples the action space; half of its ids come from what it has seen."""

from collections.abc import Mapping, Sequence
from typing import Any

from cowork_gym.core.ids import generator
from cowork_gym.core.messages import Message
from cowork_gym.envs.sampling import sample_action
from cowork_gym.harness.policies.policy import Policy
from cowork_gym.harness.policies.seen import Seen

__all__ = ["RandomPolicy"]


class RandomPolicy(Policy):
    """Random valid calls, and a random final answer sooner or later."""

    name = "random"

    def reset(self, tools: Sequence[Mapping[str, Any]], seed: int) -> None:
        """Start a new episode."""
        self._tools, self._generator, self._seen = tools, generator(seed, self.name), Seen()

    def act(self, history: Sequence[Message]) -> Message:
        """A sampled message."""
        self._seen.read(history)
        return sample_action(self._tools, self._generator, [*self._seen.ids])
