"""What a chat-completions server answered, as an action. `openai` asks; the way there, from history to request, is `conversation`."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cowork_gym.core.errors import CoworkError, ToolError
from cowork_gym.core.messages import InvalidAction, Message
from cowork_gym.harness.policies.policy import Action, Usage

__all__ = ["BrokenAnswer", "Completion", "native_action", "read_completion"]

_FAILED = frozenset({"abort", "error"})
_BROKEN_OFF = {
    "length": "the answer was cut off at the token limit, and nothing in it was executed",
    "content_filter": "the server's content filter stopped the answer, and nothing in it was executed",
}
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
    def broken_off(self) -> str | None:
        """Why it is not whole, if it is not: then nothing in it may be executed."""
        return _BROKEN_OFF.get(self.finish_reason or "")

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
        content = choice.message.get("content")
        empty = content is None and not choice.message.get("tool_calls")
        message = Message.parse({**choice.message, "role": "assistant", "content": "" if empty else content})
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

    A call that came as text is an invalid action, whoever garbled it: were it a fault, a policy could escape its grade by writing one.

    Raises:
        BrokenAnswer: The server claims a call and handed over none.
    """
    message, text = completion.message, completion.text
    if message.tool_calls:
        return _with_fresh_ids(message, history)
    if _MARKUP.search(text):
        return InvalidAction("a tool call stood in the text and was not executed", text)
    if completion.finish_reason == "tool_calls":
        raise BrokenAnswer("the server ended the answer with 'tool_calls' and handed over none")
    return message


def _with_fresh_ids(message: Message, history: Sequence[Message]) -> Message:
    used = {call.id for one in history for call in one.tool_calls} | {None, ""}
    calls = []
    for at, call in enumerate(message.tool_calls):
        id = call.id if call.id not in used else f"call_{len(history)}_{at}"
        used.add(id)
        calls.append(replace(call, id=id))
    return replace(message, tool_calls=tuple(calls))
