"""What every agent is: the policy protocol. The loop that plays it is `harness.loop`; the policies beside this file implement it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from cowork_gym.core.messages import InvalidAction, Message

__all__ = ["Action", "Policy", "Usage"]

Action: TypeAlias = Message | InvalidAction
"""An assistant message, or an answer in which none could be read."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one act."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


class Policy(Protocol):
    """Who plays. One object plays one episode at a time.

    A class that derives from `Policy` inherits a usage of zero.
    """

    name: str
    """How episodes and tables call the agent."""
    usage: Usage = Usage()
    """Tokens of the last act, for token budgets; zeros when the policy counts none."""

    def reset(self, tools: Sequence[Mapping[str, Any]], seed: int) -> None:
        """Start a new episode.

        Args:
            tools: The permitted tools, as OpenAI tool schemas.
            seed: The only source of randomness that the policy may use.
        """
        ...

    def act(self, history: Sequence[Message]) -> Action:
        """The next action.

        Args:
            history: The conversation so far, request first: what the policy said and what came back. Every call in it has
                an id. An invalid action is in it as an assistant message with its text.

        Returns:
            An assistant message; without tool calls it is the final answer. Or an invalid
            action, which costs a turn and executes nothing.

        Raises:
            Fault: The answer did not come, and the policy is not to blame.
            UserError: The person at the keyboard has to mend something first.
        """
        ...
