"""The policy that follows a script: references, negatives, scripts of one's own, and agents that answer without working."""

from collections.abc import Mapping, Sequence
from typing import Any

from cowork_gym.core.messages import Message, final
from cowork_gym.harness.policies.blanks import fill
from cowork_gym.harness.policies.news import News
from cowork_gym.harness.policies.policy import Policy

__all__ = ["ScriptedPolicy"]

_LISTED = 12
"""Results that a text of its own has, the last ones."""
_SHOWN = 80
"""Characters of each."""


class ScriptedPolicy(Policy):
    """Says its lines in order, whatever comes back; blanks in them are filled in from earlier results, whether or not they are still visible.

    Asked for a text, it lists by rule what it called and what came of it.

    Args:
        name: How episodes call it.
        actions: The lines. When they are used up before the episode has ended, an empty final answer follows.
        children: The lines of those that it spawns, in order. One for which there are none answers at once with the list.
    """

    writes = True

    def __init__(self, name: str, actions: Sequence[Message], children: Sequence[Sequence[Message]] = ()) -> None:
        self.name = name
        self._actions, self._children = tuple(actions), tuple(children)
        self._begin()

    def reset(self, tools: Sequence[Mapping[str, Any]], seed: int) -> None:
        """Start from the first line."""
        self._begin()

    def act(self, history: Sequence[Message]) -> Message:
        """The next line."""
        self._news.read(history)
        self._next += 1
        return fill(self._actions[self._next - 1], self._news.results) if self._next <= len(self._actions) else final("")

    def write(self, history: Sequence[Message]) -> Message:
        """What was called and what came of it."""
        self._news.read(history)
        return final(self._listed())

    def spawn(self) -> "ScriptedPolicy":
        """The next child."""
        self._spawned += 1
        lines = self._children[self._spawned - 1] if self._spawned <= len(self._children) else (final(self._listed()),)
        return ScriptedPolicy(self.name, lines)

    def _begin(self) -> None:
        self._next, self._spawned, self._news = 0, 0, News()

    def _listed(self) -> str:
        lines = [f"- {one.name}: {(one.content or '')[:_SHOWN]}" for one in self._news.results[-_LISTED:]]
        return "\n".join(lines) or "Nothing was called so far."
