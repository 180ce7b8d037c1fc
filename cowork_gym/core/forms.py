"""Forms of the file that more than one kind of event has, and how they are read: nothing is coerced, nothing is overlooked."""

from collections.abc import Mapping, Sequence
from typing import Any

from cowork_gym.core.errors import Blame, FaultRecord
from cowork_gym.core.messages import Message, Role, ToolCall

__all__ = ["Event", "read_fault", "read_message", "read_messages", "read_texts", "take"]

Event = Mapping[str, Any]
"""What a line says; `event` is its kind."""

_ROLES: Mapping[str, Role] = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}
_WHOLE = (int, int | None)


def take(form: Any, /, optional: Sequence[str] = (), **kinds: Any) -> dict[str, Any]:
    """A form whose fields are exactly these, and of these kinds; a truth value is no number. Optional fields are None when left out.

    Raises:
        ValueError: It is another form.
    """
    if isinstance(form, dict):
        form = {**dict.fromkeys(optional), **form}
    if not isinstance(form, dict) or form.keys() != kinds.keys():
        raise ValueError(f"expected the fields {', '.join(kinds)}")
    for name, kind in kinds.items():
        value = form[name]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind in _WHOLE):
            raise ValueError(f"{name} cannot be of type {type(value).__name__}")
    return form


def read_texts(values: Sequence[Any], what: str) -> tuple[str, ...]:
    """A list of texts.

    Raises:
        ValueError: Something else is in it.
    """
    if not all(isinstance(one, str) for one in values):
        raise ValueError(f"{what} is a list of texts")
    return tuple(values)


def read_messages(forms: Sequence[Any]) -> tuple[Message, ...]:
    """Messages, each as `read_message` reads it.

    Raises:
        ValueError: One is none.
    """
    return tuple([read_message(form) for form in forms])


def read_message(form: Any) -> Message:
    """A message in exactly the form in which `Message.wire` gives it.

    Raises:
        ValueError: It is none.
    """
    it = take(
        form, ("tool_calls", "tool_call_id", "name"), role=str, content=str | None, tool_calls=list | None, tool_call_id=str | None, name=str | None,
    )
    if it["role"] not in _ROLES:
        raise ValueError(f"no role {it['role']!r:.40}")
    return Message(_ROLES[it["role"]], it["content"], tuple([_call(one) for one in it["tool_calls"] or ()]), it["tool_call_id"], it["name"])


def _call(form: Any) -> ToolCall:
    it = take(form, id=str | None, type=str, function=dict)
    function = take(it["function"], name=str, arguments=str)
    return ToolCall(function["name"], function["arguments"], it["id"])


def read_fault(form: Any) -> FaultRecord | None:
    """A fault, or that there was none.

    Raises:
        ValueError: It is neither.
    """
    if form is None:
        return None
    it = take(form, blame=str, where=str, message=str)
    return FaultRecord(Blame(it["blame"]), it["where"], it["message"])
