"""The observation: the messages that an agent has not seen yet."""

from typing import Any

from cowork_gym.core.html import table
from cowork_gym.core.messages import Message

__all__ = ["Observation"]


class Observation(tuple[Message, ...]):
    """New messages since the last action: the request after a reset, tool results after a step.

    `history += [action.wire(), *observation.wire()]` keeps a conversation that model servers accept.
    """

    __slots__ = ()

    def wire(self) -> list[dict[str, Any]]:
        """The messages in OpenAI's form."""
        return [one.wire() for one in self]

    def __str__(self) -> str:
        return "\n".join(f"[{one.name or one.role}] {one.content}" for one in self)

    def _repr_html_(self) -> str:
        return table(("from", "message"), [(one.name or one.role, one.content or "") for one in self])
