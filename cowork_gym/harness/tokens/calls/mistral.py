"""Calls as `[TOOL_CALLS] [{"name": …, "arguments": {…}}, …]`, and from version 11 on as `[TOOL_CALLS]name[ARGS]{…}`, once or more.

Nothing but calls may follow, as in mistral-common. Ids that the model wrote are left out: the loop gives its own.
"""

import re

from cowork_gym.core.messages import ToolCall
from cowork_gym.harness.tokens.calls.family import Family, Tools, Unreadable
from cowork_gym.harness.tokens.calls.strict import call_at, checked, skip, value_at

__all__ = ["MISTRAL"]

_BEGIN = "[TOOL_CALLS]"
_HEAD = re.compile(r"\s*([^\s\[\]{}]+)\s*(?:\[CALL_ID\][^\[\]{}]*)?\[ARGS\]\s*")


def _read(mark: re.Match[str], calls: list[ToolCall | str], _: Tools) -> int:
    text = mark.string
    if mark[0] != _BEGIN:
        raise Unreadable(f"{mark[0]} stands outside of a call")
    at = skip(text, mark.end())
    end = skip(text, _read_list(text, at, calls) if text.startswith("[", at) else _read_named(text, at, calls))
    if end < len(text) and not text.startswith(_BEGIN, end):
        raise Unreadable("text follows where only calls may follow")
    return end


def _read_list(text: str, at: int, calls: list[ToolCall | str]) -> int:
    while True:
        call, at = call_at(text, skip(text, at + 1), "arguments")
        calls.append(call)
        at = skip(text, at)
        if text.startswith("]", at):
            return at + 1
        if not text.startswith(",", at):
            raise Unreadable("malformed JSON: the list of calls is not closed")


def _read_named(text: str, at: int, calls: list[ToolCall | str]) -> int:
    head = _HEAD.match(text, at)
    if head is None:
        raise Unreadable(f"{_BEGIN} is followed neither by a list of calls nor by a name and [ARGS]")
    try:
        arguments, end = value_at(text, head.end())
    except ValueError as error:
        raise Unreadable(f"the arguments of {head[1]} are malformed JSON: {error}") from None
    if not isinstance(arguments, dict):
        raise Unreadable(f"the arguments of {head[1]} must be a JSON object")
    calls.append(checked(head[1], arguments, text[head.end():end]))
    return end


MISTRAL = Family(re.compile(r"\[TOOL_CALLS\]|\[ARGS\]|\[CALL_ID\]"), _read)
