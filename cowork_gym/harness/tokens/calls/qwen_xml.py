r"""Calls as `<tool_call>\n<function=name>\n<parameter=key>\nvalue\n</parameter>\n</function>\n</tool_call>`: Qwen3-Coder, Qwen3.5, Qwen3.6.

A text stands there as it is, anything else as JSON or in Python's words (`True`, `None`), so the tool's schema has to say what was meant. The form
has no escapes: a value that holds one of its tags could end in two places, and is refused.
"""

import re
from collections.abc import Mapping
from typing import Any

from cowork_gym.core.canonical import encode
from cowork_gym.core.messages import ToolCall
from cowork_gym.harness.tokens.calls.family import Family, Tools, Unreadable
from cowork_gym.harness.tokens.calls.strict import checked, kind, skip, value_at

__all__ = ["QWEN_XML"]

_MARKS = re.compile(r"</?tool_call>|<(?:function|parameter)=|</(?:function|parameter)>")
_FUNCTION = re.compile(r"\s*<function=([^<>\n]+)>\s*")
_PARAMETER = re.compile(r"<parameter=([^<>\n]+)>\n?(.*?)\n?</parameter>\s*", re.DOTALL)
_END = re.compile(r"</function>\s*</tool_call>")
_WORDS = {"True": True, "False": False, "None": None}


def _read(mark: re.Match[str], calls: list[ToolCall | str], tools: Tools) -> int:
    text = mark.string
    head = _FUNCTION.match(text, mark.end())
    if mark[0] != "<tool_call>":
        raise Unreadable(f"{mark[0]} stands outside of a call")
    if head is None:
        raise Unreadable("<tool_call> is not followed by <function=name>")
    name, at, arguments = head[1], head.end(), dict[str, Any]()
    schema = _schema(name, tools)
    while found := _PARAMETER.match(text, at):
        key, value = found[1], found[2]
        if key in arguments:
            raise Unreadable(f"{name} has the parameter {key!r} twice")
        if _MARKS.search(value):
            raise Unreadable(f"the parameter {key!r} of {name} holds a tag of the format itself, or is not closed")
        arguments[key], at = _typed(value, _kinds(schema.get("properties", {}).get(key), schema)), found.end()
    end = _END.match(text, at)
    if end is None:
        raise Unreadable(f"{name} is not closed by </function></tool_call>")
    calls.append(checked(name, arguments, encode(arguments)))
    return end.end()


def _schema(name: str, tools: Tools) -> Mapping[str, Any]:
    found = (one["function"].get("parameters", {}) for one in tools if one["function"]["name"] == name)
    return next(found, {})


def _kinds(schema: Any, root: Mapping[str, Any], depth: int = 6) -> frozenset[str]:
    """The types that a schema permits, as `kind` names them; none for a schema that does not say."""
    if not isinstance(schema, Mapping) or depth == 0:
        return frozenset()
    if "$ref" in schema:
        return _kinds(root.get("$defs", {}).get(schema["$ref"].rpartition("/")[2]), root, depth - 1)
    if values := schema.get("enum") or ([schema["const"]] if "const" in schema else []):
        return frozenset(kind(value) for value in values)
    if several := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
        inside = [_kinds(one, root, depth - 1) for one in several]
        return frozenset[str]().union(*inside) if all(inside) else frozenset()
    names = schema.get("type", ())
    return frozenset("number" if one == "integer" else one for one in ([names] if isinstance(names, str) else names))


def _typed(text: str, kinds: frozenset[str]) -> Any:
    """A parameter's value. What fits no other permitted type is the text, which the world refuses if it must."""
    if kinds == {"string"}:
        return text
    try:
        value, end = (_WORDS[text], len(text)) if kinds and text in _WORDS else value_at(text, skip(text, 0))
    except ValueError:
        return text
    whole = skip(text, end) == len(text)
    return value if whole and not isinstance(value, str) and (not kinds or kind(value) in kinds) else text


QWEN_XML = Family(_MARKS, _read)
