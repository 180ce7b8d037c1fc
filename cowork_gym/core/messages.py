"""Messages and tool calls: the OpenAI wire form in and out, arguments never coerced."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal, get_args

from cowork_gym.core.canonical import decode, encode
from cowork_gym.core.errors import ErrorKind, ToolError

__all__ = ["InvalidAction", "Message", "Role", "ToolCall", "call", "final", "message"]

Role = Literal["system", "user", "assistant", "tool"]
_ROLES = get_args(Role)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call, as the agent wrote it."""

    name: str
    arguments: Mapping[str, Any] | str
    """A mapping, or the JSON text that a model server hands over; kept as it came."""
    id: str | None = None
    """The caller's id. A repeated id with equal tool and arguments is a retry and executes nothing."""

    def decoded(self) -> Mapping[str, Any]:
        """The arguments as a mapping: a JSON text is decoded once, nothing is coerced.

        Raises:
            ToolError: The text is not one JSON object.
        """
        if isinstance(self.arguments, Mapping):
            return self.arguments
        try:
            value = decode(self.arguments)
        except ValueError as error:
            raise ToolError(f"the arguments of {self.name} are not valid JSON: {error}", ErrorKind.VALIDATION) from None
        if not isinstance(value, dict):
            raise ToolError(f"the arguments of {self.name} must be a JSON object, not {_json_type(value)}", ErrorKind.VALIDATION)
        return value

    def wire(self) -> dict[str, Any]:
        """The call in OpenAI's form, with arguments as JSON text."""
        text = self.arguments if isinstance(self.arguments, str) else encode(self.arguments)
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": text}}


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message. An assistant message without tool calls is the final answer."""

    role: Role
    content: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    """For a tool's result: the id of the call that it answers."""
    name: str | None = None
    """For a tool's result: the tool."""

    def wire(self) -> dict[str, Any]:
        """The message in OpenAI's form, ready for `json.dumps` and chat templates."""
        form: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.tool_calls:
            form["tool_calls"] = [one.wire() for one in self.tool_calls]
        if self.tool_call_id is not None:
            form["tool_call_id"] = self.tool_call_id
        if self.name is not None:
            form["name"] = self.name
        return form

    @classmethod
    def parse(cls, value: Any) -> "Message":
        """An action as a message.

        Args:
            value: A `Message`, a mapping in OpenAI's form (tool calls nested under `function` or flat; a bare
                `{"name", "arguments"}` is one call), or the JSON text of such a mapping.

        Raises:
            ToolError: It is none of these, or has neither text nor calls. The text says what was expected.
        """
        if isinstance(value, cls):
            if value._sound():
                return value
            value = {name: getattr(value, name) for name in cls.__slots__}
        elif isinstance(value, str):
            value = _from_text(value)
        if not isinstance(value, dict | Mapping):
            raise _invalid(f"an action is an assistant message (a mapping or its JSON text), not {_json_type(value)}")
        if "name" in value and "arguments" in value and "role" not in value:
            return cls("assistant", None, (_parse_call(value, 0),))
        role = value.get("role", "assistant")
        if not isinstance(role, str) or role not in _ROLES:
            raise _invalid(f"unknown role {repr(role)[:60]}: choose from {', '.join(_ROLES)}")
        calls, content = value.get("tool_calls"), _text(value.get("content"))
        if calls is not None and (isinstance(calls, str) or not isinstance(calls, list | tuple | Sequence)):
            raise _invalid("tool_calls must be a list")
        if content is None and not calls:
            raise _invalid(f"a message has a text in `content` or calls in `tool_calls`; this one has {', '.join(map(repr, value)) or 'nothing'}")
        return cls(
            role, content, tuple([_parse_call(one, at) for at, one in enumerate(calls or ())]),  # type: ignore[arg-type]
            _optional_string(value, "tool_call_id"), _optional_string(value, "name"),
        )

    def _sound(self) -> bool:
        """Whether every field is of its type, as in most messages that our own functions made."""
        texts = (self.content, self.tool_call_id, self.name)
        return (
            self.role in _ROLES and all(one is None or type(one) is str for one in texts) and type(self.tool_calls) is tuple
            and (self.content is not None or bool(self.tool_calls))
            and all(
                type(one) is ToolCall and type(one.name) is str and type(one.arguments) in (dict, str) and (one.id is None or type(one.id) is str)
                for one in self.tool_calls
            )
        )

    def with_ids(self, first: int, taken: Set[str] = frozenset()) -> "Message":
        """The message with an id for every call that has none: `call_<n>`, counted from `first`, unlike those `taken`."""
        if all(one.id for one in self.tool_calls):
            return self
        own = {one.id for one in self.tool_calls}
        free = (id for number in count(first) if (id := f"call_{number}") not in own and id not in taken)
        calls = tuple([one if one.id else ToolCall(one.name, one.arguments, next(free)) for one in self.tool_calls])
        return Message(self.role, self.content, calls, self.tool_call_id, self.name)


@dataclass(frozen=True, slots=True)
class InvalidAction:
    """An answer in which no message could be read: cut off, or garbled. It costs a turn and executes nothing."""

    reason: str
    """Why, in words that the agent reads."""
    text: str
    """What the agent wrote."""


def call(tool: str, /, **arguments: Any) -> Message:
    """An assistant message that calls one tool.

    Example:
        >>> call("crm_get_customer", customer_id="C-1").tool_calls[0].name
        'crm_get_customer'
    """
    return Message("assistant", None, (ToolCall(tool, arguments),))


def message(content: str | None = None, *calls: Message | ToolCall) -> Message:
    """An assistant message with text and any number of calls, which run in order.

    Args:
        content: What the agent says beside its calls.
        calls: Results of `call`, or `ToolCall`s.
    """
    flat = tuple(one for item in calls for one in (item.tool_calls if isinstance(item, Message) else (item,)))
    return Message("assistant", content, flat)


def final(text: str) -> Message:
    """The assistant's final answer: it ends the episode."""
    return Message("assistant", text)


def _invalid(text: str) -> ToolError:
    return ToolError(text, ErrorKind.INVALID_ACTION)


def _from_text(text: str) -> Any:
    try:
        return decode(text)
    except ValueError as error:
        raise _invalid(f"the action is a text but not JSON ({error}); a plain answer is cowork_gym.final(text)") from None


def _parse_call(value: Any, at: int) -> ToolCall:
    if isinstance(value, ToolCall):
        value = {"id": value.id, "name": value.name, "arguments": value.arguments}
    function = value.get("function", value) if isinstance(value, dict | Mapping) else None
    if not isinstance(function, dict | Mapping):
        raise _invalid(f"tool_calls[{at}] must be an object with a name and arguments")
    name, arguments, id = function.get("name"), function.get("arguments", {}), value.get("id")
    if not isinstance(name, str):
        raise _invalid(f"tool_calls[{at}] has no name")
    if not isinstance(arguments, dict | str | Mapping):
        raise _invalid(f"the arguments of tool_calls[{at}] must be an object or its JSON text, not {_json_type(arguments)}")
    if id is not None and not isinstance(id, str):
        raise _invalid(f"the id of tool_calls[{at}] must be a string")
    return ToolCall(name, arguments, id)


def _text(content: Any) -> str | None:
    """Content as text; of a list of parts, the text parts."""
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, list | tuple) and all(isinstance(part, Mapping) and isinstance(part.get("text"), str) for part in content):
        return "".join(part["text"] for part in content)
    raise _invalid(f"content must be a text or null, not {_json_type(content)}")


def _optional_string(value: Mapping[str, Any], key: str) -> str | None:
    found = value.get(key)
    if found is not None and not isinstance(found, str):
        raise _invalid(f"{key} must be a string")
    return found


def _json_type(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", int: "a number", type(None): "null"}
    return names.get(type(value), f"a {type(value).__name__}")
