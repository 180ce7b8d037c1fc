"""The policy that follows a script: references, negatives, scripts of one's own, and agents that answer without working."""

from collections.abc import Mapping, Sequence
from typing import Any

from cowork_gym.core.messages import Message, final
from cowork_gym.harness.policies.blanks import fill
from cowork_gym.harness.policies.policy import Policy

__all__ = ["ScriptedPolicy"]


class ScriptedPolicy(Policy):
    """Says its lines in order, whatever comes back; blanks in them are filled in from earlier results.

    Args:
        name: How episodes call it.
        actions: The lines. When they are used up before the episode has ended, an empty final answer follows.
    """

    def __init__(self, name: str, actions: Sequence[Message]) -> None:
        self.name = name
        self._actions = tuple(actions)
        self._next = 0

    def reset(self, tools: Sequence[Mapping[str, Any]], seed: int) -> None:
        """Start from the first line."""
        self._next = 0

    def act(self, history: Sequence[Message]) -> Message:
        """The next line."""
        self._next += 1
        return fill(self._actions[self._next - 1], history) if self._next <= len(self._actions) else final("")
