"""Agents without understanding, made for admission: they know what is forbidden, tell all that they read, or only ask."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from cowork_gym.core.messages import Message, final
from cowork_gym.core.task import Task
from cowork_gym.harness.policies.policy import Action, Policy
from cowork_gym.harness.policies.scripted import ScriptedPolicy
from cowork_gym.harness.policies.seen import Seen

__all__ = ["Parrot", "Within", "asker", "claimer"]

_QUESTIONS = (
    "What exactly would you like me to do?", "Could you tell me all the details that I need?", "Which one do you mean?",
    "When does it have to be done, and by whom?", "What is the right amount, date, name, address and number?",
    "Is there anything else that I should know?", "Are you sure?", "Shall I go ahead?",
)
_LONGEST_ANSWER = 19_000
"""Matchers that read a text more than once read none that is longer than 20,000 characters."""
_CLAIM = "This part is done. I checked all the records, made the requested changes and verified the result."


class Within(Policy):
    """A policy that is shown some of the tools only.

    Args:
        name: How episodes call it.
        policy: Who plays.
        tools: The names of the tools that it sees.
    """

    def __init__(self, name: str, policy: Policy, tools: Collection[str]) -> None:
        self.name, self._policy, self._tools = name, policy, frozenset(tools)

    def reset(self, tools: Sequence[Mapping[str, Any]], seed: int) -> None:
        """Start a new episode."""
        self._policy.reset([one for one in tools if one["function"]["name"] in self._tools], seed)

    def act(self, history: Sequence[Message]) -> Action:
        """What the policy does."""
        return self._policy.act(history)


class Parrot(Policy):
    """Reads what another policy reads, and answers with all of it.

    Args:
        policy: Who reads.
    """

    name = "parrot"

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def reset(self, tools: Sequence[Mapping[str, Any]], seed: int) -> None:
        """Start a new episode."""
        self._policy.reset(tools, seed)

    def act(self, history: Sequence[Message]) -> Action:
        """What the policy does; in place of its answer, everything that was read."""
        action = self._policy.act(history)
        if not isinstance(action, Message) or action.tool_calls:
            return action
        seen = Seen()
        seen.read(history)
        return final("\n".join([*seen.ids, *seen.texts])[:_LONGEST_ANSWER])


def asker(task: Task) -> Policy:
    """Asks the user one question after the other, and does nothing."""
    return ScriptedPolicy("asker", [final(one) for one in _QUESTIONS] * (len(task.stages) + 1))


def claimer(task: Task) -> Policy:
    """Says at the end of each part that all is done."""
    return ScriptedPolicy("claimer", [final(_CLAIM)] * (len(task.stages) + 1))
