r"""Calls as `<tool_call>\n{"name": …, "arguments": {…}}\n</tool_call>`, one or more: Hermes, Qwen2.5, Qwen3."""

import re

from cowork_gym.core.messages import ToolCall
from cowork_gym.harness.tokens.calls.family import Family, Tools, Unreadable
from cowork_gym.harness.tokens.calls.strict import call_at, skip

__all__ = ["HERMES"]

_END = "</tool_call>"


def _read(mark: re.Match[str], calls: list[ToolCall | str], _: Tools) -> int:
    text = mark.string
    if mark[0] == _END:
        raise Unreadable(f"{_END} ends no call")
    call, end = call_at(text, skip(text, mark.end()), "arguments")
    end = skip(text, end)
    if not text.startswith(_END, end):
        raise Unreadable(f"{call.name} is not closed by {_END}")
    calls.append(call)
    return end + len(_END)


HERMES = Family(re.compile("</?tool_call>"), _read)
