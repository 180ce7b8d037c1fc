"""What an agent has seen: the ids and texts of a conversation. For agents that try things without understanding them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cowork_gym.core.canonical import decode
from cowork_gym.core.messages import Message

__all__ = ["Seen", "takes_id"]


class Seen:
    """Ids and texts in the order in which they were seen. It reads each message once."""

    def __init__(self) -> None:
        self.paragraphs: tuple[str, ...] = ()
        """Those of the request."""
        self.ids: dict[str, str] = {}
        """The field under which each id was first seen, by id."""
        self.texts: dict[str, None] = {}
        """Every other text, the request's paragraphs included."""
        self._read = 0

    def read(self, history: Sequence[Message]) -> None:
        """Take in what is new in a conversation. Its first message is the request."""
        if self._read == 0:
            self.paragraphs = tuple(" ".join(one.split()) for one in (history[0].content or "").split("\n\n") if one.strip())
            self.texts = dict.fromkeys(self.paragraphs)
        for one in history[self._read :]:
            if one.role == "tool":
                self._take("", decode(one.content or "null"))
        self._read = len(history)

    def fitting(self, argument: str) -> list[str]:
        """The ids that were seen under an argument's name, or its singular."""
        return [id for id, field in self.ids.items() if _singular(field) == _singular(argument)]

    def _take(self, field: str, value: Any) -> None:
        for name, text in _strings(field, value):
            if takes_id(name):
                self.ids.setdefault(text, name)
            else:
                self.texts.setdefault(text)


def takes_id(name: str) -> bool:
    """Whether a field or argument of this name holds ids."""
    return name in ("id", "ids") or name.endswith(("_id", "_ids"))


def _singular(name: str) -> str:
    return name.removesuffix("s")


def _strings(field: str, value: Any) -> Iterator[tuple[str, str]]:
    """Every text in a value, with the nearest field's name."""
    if isinstance(value, str):
        yield field, value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _strings(name, item)
    elif isinstance(value, Sequence):
        for item in value:
            yield from _strings(field, item)
