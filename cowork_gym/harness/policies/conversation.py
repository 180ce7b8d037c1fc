"""A history as a chat that every OpenAI-compatible server takes. The way back, from answer to action, is `completion`."""

import re
from collections.abc import Sequence
from typing import Any

from cowork_gym.core.canonical import encode
from cowork_gym.core.errors import ToolError
from cowork_gym.core.messages import Message, ToolCall

__all__ = ["conversation", "sound"]

_NO_NAME = re.compile(r"[^A-Za-z0-9_-]")
_NOT_EXECUTED = encode({"error": "this call was not executed", "type": "invalid_action"})


def conversation(history: Sequence[Message]) -> list[dict[str, Any]]:
    """The messages of a request.

    Servers refuse a call without a result and a result without a call: the first gets a result that says so, the second
    becomes a user message. Arguments stay as the model wrote them, except those that are no JSON object: chat templates
    crash on them, so they travel inside one. A name that no tool can have is respelled, lest a policy end its episode by a
    call after which every request is refused.
    """
    chat: list[dict[str, Any]] = []
    open_ids: dict[str | None, None] = {}
    for one in history:
        if one.role == "tool" and one.tool_call_id in open_ids:
            del open_ids[one.tool_call_id]
            chat.append(_result(one.tool_call_id, one.content or ""))
            continue
        chat += [_result(id, _NOT_EXECUTED) for id in open_ids]
        open_ids = {call.id: None for call in one.tool_calls}
        chat.append(_spoken(one))
    return chat + [_result(id, _NOT_EXECUTED) for id in open_ids]


def _result(id: str | None, content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": sound(content)}


def _spoken(one: Message) -> dict[str, Any]:
    role = "user" if one.role == "tool" else one.role
    form: dict[str, Any] = {"role": role, "content": sound(one.content or "")}
    if one.tool_calls:
        form |= {"content": sound(one.content) if one.content else None, "tool_calls": [_call(call) for call in one.tool_calls]}
    return form


def _call(call: ToolCall) -> dict[str, Any]:
    form = call.wire()
    try:
        call.decoded()
        arguments = form["function"]["arguments"]
    except ToolError:
        arguments = encode({"malformed": call.arguments})
    return form | {"function": {"name": _NO_NAME.sub("_", call.name)[:64] or "_", "arguments": sound(arguments)}}


def sound(text: str) -> str:
    """The text without lone surrogates, which no request body can carry."""
    return text.encode(errors="replace").decode()
