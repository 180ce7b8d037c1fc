"""What is new to a policy in a history that may have been rewritten since it last read it."""

from collections.abc import Sequence

from cowork_gym.core.messages import Message

__all__ = ["News"]


class News:
    """The results of tools, each once, in the order in which they came."""

    def __init__(self) -> None:
        self.results: list[Message] = []
        """All that were read."""
        self._objects: set[int] = set()
        self._calls: set[str | None] = set()

    def read(self, history: Sequence[Message]) -> list[Message]:
        """Take in a history.

        A result that stands in place of an older one, such as a note, is not new; one whose call has the id of an older call is, if it is an
        answer to the last message.

        Returns:
            The results that were not read before.
        """
        last = max((at for at, one in enumerate(history) if one.role == "assistant"), default=-1)
        new = [
            one for at, one in enumerate(history)
            if one.role == "tool" and id(one) not in self._objects and (at > last or one.tool_call_id not in self._calls)
        ]
        self.results += new  # they are kept, so that no other message gets their identity
        self._objects.update(map(id, new))
        self._calls.update(one.tool_call_id for one in new)
        return new
