"""The agent that calls every tool with every id that it has seen, writes whatever it has read, and answers with all of it."""

from collections.abc import Mapping, Sequence
from typing import Any

from cowork_gym.core.ids import generator
from cowork_gym.core.messages import Message, ToolCall, final, message
from cowork_gym.core.task import Budgets
from cowork_gym.envs.sampling import sample_arguments
from cowork_gym.harness.policies.frontier import Frontier, Probe
from cowork_gym.harness.policies.policy import Policy
from cowork_gym.harness.policies.seen import Seen

__all__ = ["SprayPolicy"]

_LONGEST_TEXT = 4_000
_LONGEST_ANSWER = 40_000


class SprayPolicy(Policy):
    """Tries everything, to find graders that give credit for it.

    Args:
        budgets: Those of the task.
    """

    name = "spray"

    def __init__(self, budgets: Budgets) -> None:
        self._budgets = budgets

    def reset(self, tools: Sequence[Mapping[str, Any]], seed: int) -> None:
        """Start a new episode. The seed decides the order of the tools and what is written."""
        self._generator, self._seen = generator(seed, self.name), Seen()
        self._frontier = Frontier(self._generator.sample(tools, len(tools)), self._budgets)

    def act(self, history: Sequence[Message]) -> Message:
        """Call all that has not been called, or answer with all that was read."""
        self._seen.read(history)
        calls = [self._call(probe) for probe in self._frontier.advance(self._seen)]
        return message(None, *calls) if calls else final(self._everything(_LONGEST_ANSWER))

    def _call(self, probe: Probe) -> ToolCall:
        parameters = probe.parameters if probe.value is not None else probe.needed  # a listing without filters shows the most
        sampled = sample_arguments(parameters, self._generator, [*self._seen.ids])
        return probe.call({name: self._written() if name in probe.texts else value for name, value in sampled.items()})

    def _written(self) -> str:
        """A text for a tool: one that was read, or all of them."""
        if self._generator.random() < 0.5:
            return self._generator.choice([*self._seen.texts])
        return self._everything(_LONGEST_TEXT)

    def _everything(self, length: int) -> str:
        return "\n".join([*self._seen.ids, *self._seen.texts])[:length]
