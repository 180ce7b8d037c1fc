"""Tools for models without a tool format: signatures in the system prompt, one JSON action an answer, results as user messages."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cowork_gym.core.canonical import decode, encode
from cowork_gym.core.errors import ToolError
from cowork_gym.core.messages import InvalidAction, Message, ToolCall, final
from cowork_gym.harness.policies.bounded import bounded
from cowork_gym.harness.policies.conversation import sound
from cowork_gym.harness.policies.policy import Action

__all__ = ["instructions", "read_action", "transcript"]

_FORMAT = """Work on the user's request with the tools below. Answer with exactly one JSON object and nothing else.
To call a tool: {"name": "<tool>", "arguments": {...}}
When the work is done, or cannot be done: {"final": "<your answer to the user>"}
The result of a call comes back as the next user message. One call an answer.

Tools (a question mark marks what may be left out):
"""
_MOST_BRACES = 200


def instructions(tools: Sequence[Mapping[str, Any]]) -> str:
    """The system prompt: the action format, and a line for each tool."""
    return _FORMAT + "\n".join(_line(one["function"]) for one in tools)


def transcript(system: str, history: Sequence[Message]) -> list[dict[str, str]]:
    """The conversation for a model that knows only system, user and assistant, the last two in turn.

    Args:
        system: The system prompt; system messages of the history are added to it.
        history: The conversation, request first.
    """
    notes = [one.content or "" for one in history if one.role == "system"]
    turns = [{"role": "system", "content": sound("\n\n".join([system, *notes]))}]
    for one in history:
        if one.role == "system":
            continue
        role = "assistant" if one.role == "assistant" else "user"
        text = sound(_spoken(one))
        if turns[-1]["role"] == role:
            turns[-1]["content"] += "\n" + text
        else:
            turns.append({"role": role, "content": text})
    return turns


def read_action(text: str) -> Action:
    """The first action in a model's answer, whatever prose, code fence or thoughts surround it.

    Only the first counts: what follows are calls after results that the model made up.
    """
    answer = text.rpartition("</think>")[2]
    for value in _objects(answer):
        if isinstance(value.get("name"), str) and "arguments" in value:
            try:
                return Message.parse({"name": value["name"], "arguments": value["arguments"]})
            except ToolError as error:
                return InvalidAction(str(error), answer)
        if set(value) == {"final"}:
            return final(value["final"] if isinstance(value["final"], str) else encode(value["final"]))
    return InvalidAction("no JSON action found", answer)


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Every JSON object in a text, outermost first."""
    at = 0
    for _ in range(_MOST_BRACES):
        at = text.find("{", at)
        if at < 0:
            return
        try:
            end = json.JSONDecoder().raw_decode(text, at)[1]
            yield decode(text[at:end])
            at = end
        except (ValueError, RecursionError):
            at += 1


def _spoken(one: Message) -> str:
    content = one.content or ""
    if one.role == "tool":
        return f"Result of {one.name}: {content}" if one.name else f"Result: {content}"
    return "\n".join([*([content] if content else []), *map(_written, one.tool_calls)])


def _written(call: ToolCall) -> str:
    """The call as the format has it, spaced as models space their JSON, so that a server finds its own text in its cache."""
    try:
        text = json.dumps(call.decoded(), ensure_ascii=False, default=float)
    except ToolError:
        text = str(call.arguments)
    return f'{{"name": {json.dumps(call.name, ensure_ascii=False)}, "arguments": {text}}}'


def _line(function: Mapping[str, Any]) -> str:
    parameters = bounded(function.get("parameters", {"type": "object"}))
    description = " ".join((function.get("description") or "").split())
    return f"- {function['name']}({_fields(parameters)}): {description}"


def _fields(schema: Mapping[str, Any]) -> str:
    required = schema.get("required", ())
    properties = schema.get("properties", {})
    return ", ".join(f"{name}{'' if name in required else '?'}: {_type(one)}" for name, one in properties.items())


def _type(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " | ".join(json.dumps(one, ensure_ascii=False) for one in schema["enum"])
    if "const" in schema:
        return json.dumps(schema["const"], ensure_ascii=False)
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(_type(one) for one in schema["anyOf"]))
    if schema["type"] == "array":
        return f"[{_type(schema['items'])}]"
    if schema["type"] == "object":
        return f"{{{_fields(schema)}}}"
    return str(schema["type"])
