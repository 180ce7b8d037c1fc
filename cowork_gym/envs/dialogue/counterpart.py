"""Who answers an agent's message that calls no tool: the protocol. `rules` is the offline one; the harness has one that asks a model."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from cowork_gym.core.episode import Turn
from cowork_gym.core.messages import Message

__all__ = ["Counterpart", "Reply"]


class Reply(NamedTuple):
    """What the user says."""

    text: str
    facts: tuple[str, ...] = ()
    """The facts and corrections that it reveals for the first time, by id."""


class Counterpart(Protocol):
    """The user of a task. What they say follows from the conversation alone, so that an episode can be restored, forked and replayed."""

    @property
    def name(self) -> str:
        """How records call them."""
        ...

    def reply(self, turns: Sequence[Turn], message: Message) -> Reply | None:
        """The reply to a message.

        Args:
            turns: The earlier turns of the episode.
            message: An assistant message without tool calls.

        Returns:
            What the user says; None when they take the message as the final answer.
        """
        ...
