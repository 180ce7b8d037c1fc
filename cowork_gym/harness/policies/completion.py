"""What a chat-completions server answered, as an action. `openai` asks; the way there, from history to request, is `conversation`."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cowork_gym.core.errors import CoworkError, ToolError
from cowork_gym.core.messages import Message
from cowork_gym.harness.policies.policy import Action, Usage, invalid

__all__ = ["BrokenAnswer", "Completion", "native_action", "read_completion"]

_FAILED = frozenset({"abort", "content_filter", "error"})
_MARKUP = re.compile(r"<tool_call>|\[TOOL_CALLS\]|<\|python_tag\|>|<function=")


class BrokenAnswer(CoworkError):
    """The server's answer cannot be used, and the model is not to blame."""


class _Wire(BaseModel):
    """Another one's wire format: unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class _Usage(_Wire):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class _Choice(_Wire):
    message: dict[str, Any]
    finish_reason: str | None = None


class _Answer(_Wire):
    choices: tuple[_Choice, ...] = Field(min_length=1)
    usage: _Usage | None = None


class Completion(NamedTuple):
    """One answer of a server."""

    message: Message
    reasoning: str
    """Thoughts that the server keeps apart from the content."""
    finish_reason: str | None
    usage: Usage

    @property
    def cut(self) -> bool:
        """Whether the token limit ended it: then nothing in it may be executed."""
        return self.finish_reason == "length"

    @property
    def text(self) -> str:
        """What the model wrote: the content, or else its thoughts, and its calls."""
        calls = [f"{call.name} {call.wire()['function']['arguments']}" for call in self.message.tool_calls]
        return "\n".join([self.message.content or self.reasoning, *calls]).strip()


def read_completion(value: Any) -> Completion:
    """A decoded answer of `/chat/completions`.

    Raises:
        BrokenAnswer: It is no completion, has no choice, or the server gave up.
    """
    try:
        answer = _Answer.model_validate(value)
        choice = answer.choices[0]
        message = Message.parse({**choice.message, "role": "assistant"})
    except ValidationError as error:
        first = error.errors()[0]
        raise BrokenAnswer(f"not a chat completion: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    except ToolError as error:
        raise BrokenAnswer(f"not a chat completion: {error}") from None
    if choice.finish_reason in _FAILED:
        raise BrokenAnswer(f"the server ended the answer with {choice.finish_reason!r}")
    thoughts = choice.message.get("reasoning_content") or choice.message.get("reasoning")
    usage = Usage(answer.usage.prompt_tokens, answer.usage.completion_tokens) if answer.usage else Usage()
    return Completion(message, thoughts if isinstance(thoughts, str) else "", choice.finish_reason, usage)


def native_action(completion: Completion, history: Sequence[Message]) -> Action:
    """The action in an answer to a request that carried tools.

    Ids that are empty or were used before are replaced, since an id that comes again means a retry.

    Raises:
        BrokenAnswer: There is a whole call in the text, or the server claims one, and it handed over none. A call that the model
            itself garbled is an invalid action, lest a policy escape its grade by writing one.
    """
    message = completion.message
    if message.tool_calls:
        return _with_fresh_ids(message, history)
    text = completion.text
    whole, begun = _whole_call(text), _MARKUP.search(text)
    if begun and not whole:
        return invalid("a tool call that cannot be read", text)
    if whole or completion.finish_reason == "tool_calls":
        raise BrokenAnswer("a tool call came as text: the server's tool parser does not fit the model")
    return replace(message, content=message.content or "")


def _with_fresh_ids(message: Message, history: Sequence[Message]) -> Message:
    used = {call.id for one in history for call in one.tool_calls} | {None, ""}
    calls = []
    for at, call in enumerate(message.tool_calls):
        id = call.id if call.id not in used else f"call_{len(history)}_{at}"
        used.add(id)
        calls.append(replace(call, id=id))
    return replace(message, tool_calls=tuple(calls))


def _whole_call(text: str) -> bool:
    return any(_names_a_tool(text, match) for match in _MARKUP.finditer(text))


def _names_a_tool(text: str, mark: re.Match[str]) -> bool:
    if mark[0] == "<function=":
        return "</function>" in text[mark.end() :]
    rest = text[mark.end() :].lstrip()
    try:
        value = json.JSONDecoder().raw_decode(rest)[0]
    except (ValueError, RecursionError):
        return False
    first = value[0] if isinstance(value, list) and value else value
    return isinstance(first, dict) and isinstance(first.get("name"), str)
