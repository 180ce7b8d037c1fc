"""Calls as bare JSON: Llama 3's `{"name": …, "parameters": {…}}`, and the form that `policies.prompted` asks of models without tools.

A list holds parallel calls. Since nothing marks a call, every object in the text is looked at, outermost first. One that cannot be read, with a
name in it or behind it, is a malformed call: what stands inside must not be taken for one.
"""

import re
from typing import Any

from cowork_gym.core.canonical import encode
from cowork_gym.core.messages import ToolCall
from cowork_gym.harness.tokens.calls.family import Family, Tools, Unreadable
from cowork_gym.harness.tokens.calls.strict import call_in, skip, value_at

__all__ = ["JSON", "LLAMA3"]

_OPEN = r'\{\s*"|\[\s*[\[{]'
_TAG = "<|python_tag|>"
_ACTION = re.compile(r'"(?:name|final)"')
_THOUGHTS = re.compile(r"</?think>|\Z")


def _read_llama(mark: re.Match[str], calls: list[ToolCall | str], _: Tools) -> int:
    if mark[0] != _TAG:
        return _read(mark.string, mark.start(), calls, "parameters", "arguments")
    before, at = len(calls), skip(mark.string, mark.end())
    end = _read(mark.string, at, calls, "parameters", "arguments")
    if len(calls) == before:
        raise Unreadable(f"{_TAG} is not followed by a call in JSON")
    return end


def _read_json(mark: re.Match[str], calls: list[ToolCall | str], _: Tools) -> int:
    return _read(mark.string, mark.start(), calls, "arguments")


def _read(text: str, at: int, calls: list[ToolCall | str], *keys: str) -> int:
    try:
        value, end = value_at(text, at)
    except ValueError as error:
        if _ACTION.search(text, at):
            raise Unreadable(f"malformed JSON: {error}") from None
        found = _THOUGHTS.search(text, at)
        return found.start() if found else len(text)
    if isinstance(value, list) and any(_is_call(one, keys) for one in value):
        _read_list(text, at, value, calls, *keys)
    elif _is_call(value, keys):
        calls.append(call_in(text, at, value, *keys))
    elif isinstance(value, dict) and set(value) == {"final"} and keys == ("arguments",):
        calls.append(value["final"] if isinstance(value["final"], str) else encode(value["final"]))
    return end


def _read_list(text: str, at: int, values: list[Any], calls: list[ToolCall | str], *keys: str) -> None:
    for value in values:
        at = skip(text, at + 1)
        calls.append(call_in(text, at, value, *keys))
        at = skip(text, value_at(text, at)[1])


def _is_call(value: Any, keys: tuple[str, ...]) -> bool:
    return isinstance(value, dict) and "name" in value and any(key in value for key in keys)


LLAMA3 = Family(re.compile(rf"{re.escape(_TAG)}|{_OPEN}"), _read_llama)
JSON = Family(re.compile(_OPEN), _read_json, single=True)
