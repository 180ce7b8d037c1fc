"""What an agent has seen: the ids and texts of a conversation. For agents that try things without understanding them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cowork_gym.core.canonical import decode
from cowork_gym.core.messages import Message
from cowork_gym.harness.policies.news import News

__all__ = ["Seen", "takes_id"]


class Seen:
    """Ids and texts in the order in which they were seen. It reads each result once, however often the history is rewritten."""

    def __init__(self) -> None:
        self.paragraphs: tuple[str, ...] = ()
        """Those of the request."""
        self.ids: dict[str, str] = {}
        """The field under which each id was first seen, by id."""
        self.texts: dict[str, None] = {}
        """Every other text, the request's paragraphs included."""
        self._news: News | None = None

    def read(self, history: Sequence[Message]) -> None:
        """Take in what is new in a conversation. The first message of a user is the request."""
        if self._news is None:
            self._news = News()
            request = next((one.content or "" for one in history if one.role == "user"), "")
            self.paragraphs = tuple(" ".join(one.split()) for one in request.split("\n\n") if one.strip())
            self.texts = dict.fromkeys(self.paragraphs)
        for one in self._news.read(history):
            self._take("", _read(one.content or "null"))

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


def _read(text: str) -> Any:
    """A result as a value; one that is no JSON is a text."""
    try:
        return decode(text)
    except ValueError:
        return text


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
