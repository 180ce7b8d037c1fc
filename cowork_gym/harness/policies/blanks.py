"""Blanks in a script: `${helpdesk_create_ticket#1.ticket.ticket_id}` stands for what an earlier call gave, such as the id of a new record."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cowork_gym.core.canonical import decode, encode
from cowork_gym.core.messages import Message

__all__ = ["fill", "has_blanks"]

_BLANK = re.compile(r"\$\{([A-Za-z0-9_]+)(?:#([1-9][0-9]{0,5}))?((?:\.[A-Za-z0-9_]+)+)\}")


def has_blanks(action: Message) -> bool:
    """Whether a message may have blanks."""
    return "${" in f"{action.content}{action.tool_calls}"


def fill(action: Message, history: Sequence[Message]) -> Message:
    """A message with its blanks filled in.

    A blank names a tool, which of its successful calls (the last one if none is named), and the path to a value in the result; lists
    are counted from 0. One that nothing fits stays as it is written.

    Args:
        action: The message.
        history: The conversation so far, with the tools' results.
    """
    if not has_blanks(action):
        return action
    results: dict[str, list[Any]] = {}
    for one in history:
        if one.role == "tool" and one.name and not _failed(value := _read(one.content or "")):
            results.setdefault(one.name, []).append(value)
    calls = tuple(replace(call, arguments=_filled(call.arguments, results)) for call in action.tool_calls)
    return replace(action, content=_filled(action.content, results), tool_calls=calls)


def _read(text: str) -> Any:
    try:
        return decode(text)
    except ValueError:
        return None


def _failed(value: Any) -> bool:
    return value is None or (isinstance(value, Mapping) and "error" in value)


def _filled(value: Any, results: Mapping[str, Sequence[Any]]) -> Any:
    if isinstance(value, str):
        return _BLANK.sub(lambda blank: _found(blank, results), value)
    if isinstance(value, Mapping):
        return {key: _filled(one, results) for key, one in value.items()}
    return [_filled(one, results) for one in value] if isinstance(value, list | tuple) else value


def _found(blank: re.Match[str], results: Mapping[str, Sequence[Any]]) -> str:
    tool, number, path = blank[1], blank[2], blank[3]
    given, at = results.get(tool, ()), int(number) - 1 if number else -1
    if not given or at >= len(given):
        return blank[0]
    value = given[at]
    for step in path[1:].split("."):
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdigit() and len(step) < 7 and int(step) < len(value):
            value = value[int(step)]
        else:
            return blank[0]
    return encode(value) if value is None or isinstance(value, bool | list | Mapping) else str(value)
