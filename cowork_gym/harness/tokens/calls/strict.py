"""JSON calls inside a text, strictly: where a value ends, and its arguments as they were written. Used by every family."""

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from cowork_gym.core.canonical import check_value, read_number
from cowork_gym.core.errors import ToolError
from cowork_gym.core.messages import ToolCall
from cowork_gym.harness.tokens.calls.family import Unreadable

__all__ = ["call_at", "call_in", "checked", "kind", "skip", "value_at"]

_SPACE = re.compile(r"[ \t\n\r]*")
_KINDS = {
    dict: "object", list: "array", str: "string", bool: "boolean", int: "number", float: "number", Decimal: "number", type(None): "null",
}


def skip(text: str, at: int) -> int:
    """Behind the white space that stands at a place."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


def value_at(text: str, at: int) -> tuple[Any, int]:
    """The JSON value that begins at a place, whatever stands behind it, and where it ends.

    Raises:
        ValueError: There is none: malformed, cut off, nested too deeply, with NaN, or with a key twice in one object.
    """
    try:
        return _DECODER.raw_decode(text, at)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def kind(value: Any) -> str:
    """The JSON name of a decoded value's type; whole numbers and fractions are both `number`."""
    return _KINDS[type(value)]


def checked(name: str, arguments: Mapping[str, Any], written: str) -> ToolCall:
    """The call, if the record can keep it.

    Args:
        name: The tool, which need not exist.
        arguments: What it is called with.
        written: The JSON text of the arguments.

    Raises:
        Unreadable: The name is empty, or a value is what `core.canonical.check_value` refuses.
    """
    if not name:
        raise Unreadable("the name is empty")
    try:
        check_value(name, what="the name")
        check_value(arguments, what="its arguments")
    except ToolError as error:
        raise Unreadable(str(error)) from None
    return ToolCall(name, written)


def call_at(text: str, at: int, *keys: str) -> tuple[ToolCall, int]:
    """The call that is written as a JSON object at a place, and where it ends.

    Args:
        text: The answer.
        at: Where the object should begin.
        keys: What its arguments may be called.

    Raises:
        Unreadable: No such object stands there.
    """
    try:
        value, end = value_at(text, at)
    except ValueError as error:
        raise Unreadable(f"malformed JSON: {error}") from None
    return call_in(text, at, value, *keys), end


def call_in(text: str, at: int, value: Any, *keys: str) -> ToolCall:
    """The call in a value that was decoded from a place; see `call_at`."""
    if not isinstance(value, dict):
        raise Unreadable(f"a call is a JSON object with `name` and `{keys[0]}`, not {kind(value)}")
    name, given = value.get("name"), [key for key in keys if key in value]
    if not isinstance(name, str):
        raise Unreadable(f"the name must be a string, not {kind(name)}" if "name" in value else "it has no name")
    if len(given) != 1:
        raise Unreadable(f"{name} has both {' and '.join(given)}" if given else f"{name} has no `{keys[0]}`")
    arguments = value[given[0]]
    if not isinstance(arguments, dict):
        raise Unreadable(f"the {given[0]} of {name} must be a JSON object, not {kind(arguments)}")
    return checked(name, arguments, _member(text, at, given[0]))


def _member(text: str, at: int, key: str) -> str:
    """A member's value as it is written, in the object that begins at a place, is well-formed and has the key."""
    while True:
        name, at = value_at(text, skip(text, at + 1))
        start = skip(text, skip(text, at) + 1)
        end = value_at(text, start)[1]
        if name == key:
            return text[start:end]
        at = skip(text, end)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} stands twice in one object")
    return value


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_float=read_number, parse_constant=_refuse, object_pairs_hook=_unique)
