"""Where in a rendered stretch each message stands: found by rendering it with another text in that message's place."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import NamedTuple

from cowork_gym.core.errors import Fault
from cowork_gym.core.messages import Message, ToolCall

__all__ = ["Place", "locate"]

_FILLERS = ("0", "z", "=")
_CALLED = {"=": "="}


class Place(NamedTuple):
    """The tokens of one message's text, half open."""

    start: int
    end: int
    message: int
    """Which of the messages it is."""


def locate(ids: Sequence[int], messages: Sequence[Message], render: Callable[[Sequence[Message]], Sequence[int]], first: int = 0) -> list[Place]:
    """Where messages stand in their rendering.

    A token that begins in the template's text and ends in the message's is the message's. A message that is not shown, or without which the
    template refuses the rest, has no place.

    Args:
        ids: What `render` makes of the messages.
        messages: All of them.
        render: Renders such messages.
        first: The first message that is looked for.
    """
    found: list[Place] = []
    for at in range(first, len(messages)):
        try:
            other = render([*messages[:at], _another(messages[at]), *messages[at + 1 :]])
        except Fault:
            continue
        start = _common(ids, other)
        end = len(ids) - min(_common(ids[::-1], other[::-1]), len(ids) - start)
        if start < end and (not found or found[-1].end <= start):
            found.append(Place(start, end, at))
    return found


def _another(message: Message) -> Message:
    """A message of the same shape that shares neither beginning nor end with the text."""
    text = (message.content or "").strip()
    filler = next(one for one in _FILLERS if not text.startswith(one) and not text.endswith(one))
    calls = tuple(ToolCall(one.name, _CALLED, one.id) for one in message.tool_calls)
    return replace(message, content=filler if text else message.content, tool_calls=calls)


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
