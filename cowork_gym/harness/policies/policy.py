"""What every agent is: the policy protocol. The loop that plays it is `harness.loop`; the policies beside this file implement it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from cowork_gym.core.errors import UserError
from cowork_gym.core.messages import InvalidAction, Message
from cowork_gym.core.trajectory import Tokens

__all__ = ["Action", "Draw", "Policy", "Usage"]

Action: TypeAlias = Message | InvalidAction
"""An assistant message, or an answer in which none could be read."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one act."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Draw:
    """How the last answer was drawn, as far as a policy knows it."""

    finish: str = ""
    """`stop`, `length`, or what else the engine or server said."""
    version: str = ""
    """Of the weights that drew it."""
    tokens: Tokens | None = None
    fresh: bool = True
    """Whether the context in `tokens` is a whole prompt, rendered anew, and not the continuation of the last answer's."""
    flaw: str = ""
    """Why the tokens are for audit only; empty when they may be trained."""


class Policy(Protocol):
    """Who plays. One object plays one run of one episode at a time.

    A class that derives from `Policy` inherits a usage of zero, unknown tokens, and the inability to write texts or to spawn others.
    """

    name: str
    """How episodes and tables call the agent."""
    version: str = ""
    """Of its weights; empty when it has none or they are not known."""
    tokenizer: str = ""
    """Fingerprint of its tokenizer and chat template; empty when it does not know its tokens."""
    writes: bool = False
    """Whether it can write a text, such as a plan or a summary."""
    usage: Usage = Usage()
    """Tokens of the last answer, for token budgets; zeros when the policy counts none."""
    draw: Draw = Draw()
    """How the last answer was drawn."""

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

    def write(self, history: Sequence[Message]) -> Action:
        """A text, such as a plan or a summary, that the last message of a history asks for. It should call no tool.

        Raises:
            Fault, UserError: As `act` does; a UserError if this policy cannot write.
        """
        raise UserError(f"{self.name} cannot write texts")

    def adopt(self, history: Sequence[Message], ids: Sequence[int]) -> None:
        """Go on from a recorded prefix. A policy that does not know its tokens has nothing to do.

        Args:
            history: All that was visible, up to and including the last answer.
            ids: The exact tokens of it, up to and including the last sampled one.
        """
        return

    def restart(self) -> None:
        """Be told that the history was rewritten: the next prompt is a whole one, even if it could go on from an earlier one."""
        return

    def spawn(self) -> "Policy":
        """Another one of the same kind, for a child run. Asked before `reset` as well, to see whether there can be one.

        Raises:
            UserError: This policy cannot have children.
        """
        raise UserError(f"{self.name} cannot play a child run")
