"""Messages as text: a chat template with what it can show, rendered by the tokenizer's own engine."""

import datetime
import json
from collections.abc import Mapping, Sequence
from typing import Any

from cowork_gym.core.canonical import encode
from cowork_gym.core.errors import Blame, Fault, ToolError, told
from cowork_gym.core.messages import Message, ToolCall
from cowork_gym.harness.tokens.plain_text import ANCHOR, PlainText

__all__ = ["Form", "Rendering"]

Form = dict[str, Any]
"""A message as templates take it."""

_ASKED: Form = {"role": "user", "content": "?"}
_DATE = datetime.date(2024, 7, 26)
"""What templates print that ask for the day of the run: prompts must not depend on it."""


class Rendering:
    """A chat template and what it can show of a message."""

    def __init__(self, tokenizer: Any, template: str, plain: PlainText) -> None:
        self._tokenizer, self._template, self._plain = tokenizer, template, plain
        self._calls = next((most for most in (2, 1) if self._shows([_call({"at": ANCHOR})] * most)), 0)
        """The most calls of one message that the template shows, as far as it matters: 2 for any number."""
        self._texts = self._shows([_call(ANCHOR)])
        """Whether it takes arguments that are no object."""

    def _shows(self, calls: list[Form]) -> bool:
        try:
            text = self.render([_ASKED, {"role": "assistant", "content": "", "tool_calls": calls}, *_results(len(calls))], None, prompt=True)
        except Fault:
            return False
        return text.count(ANCHOR) == len(calls)

    def render(self, forms: Sequence[Form], tools: Sequence[Mapping[str, Any]] | None, *, prompt: bool) -> str:
        """The text of a conversation.

        Args:
            forms: Its messages, as `form` gives them.
            tools: The offered tools, already protected; None or empty for none.
            prompt: Whether the beginning of an answer follows.

        Raises:
            Fault: The template refuses this conversation.
        """
        try:
            return str(self._tokenizer.apply_chat_template(
                list(forms), tools=list(tools) if tools else None, chat_template=self._template, tokenize=False,
                add_generation_prompt=prompt, strftime_now=_DATE.strftime,
            ))
        except Exception as error:
            raise Fault(Blame.HARNESS, "chat template", told(error)) from error

    def form(self, message: Message) -> Form:
        """A message as the template takes it, with stand-ins for text that spells tokens."""
        outside = message.role in ("user", "tool")
        form = self.bare(message)
        return {key: value if key == "role" else self._plain.protect(value, outside=outside) for key, value in form.items()}

    def bare(self, message: Message) -> Form:
        """A message as the template takes it, without stand-ins.

        Calls are written into the text where the template would not show them, or not so many of them.
        """
        content, calls = message.content or "", message.tool_calls
        if len(calls) > self._calls < 2:
            content, calls = f"{content}\n{_written(calls)}".lstrip("\n"), ()
        form: Form = {"role": message.role, "content": content}
        if calls:
            form["tool_calls"] = [_call(self._arguments(one), one.name, one.id) for one in calls]
        return form | {key: value for key in ("tool_call_id", "name") if (value := getattr(message, key)) is not None}

    def _arguments(self, call: ToolCall) -> Any:
        """An object where there is one, since most templates want to go through it; else the text as it was written."""
        value = _object(call)
        if isinstance(value, str):
            return value if self._texts else {"arguments": value}
        return json.loads(encode(value))


def _call(arguments: Any, name: str = "tool", id: str | None = "call00000") -> Form:
    form: Form = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return form if id is None else {"id": id, **form}


def _results(count: int) -> list[Form]:
    return [{"role": "tool", "tool_call_id": "call00000", "name": "tool", "content": "!"}] * count


def _written(calls: Sequence[ToolCall]) -> str:
    """Calls as text, in the form that models without marks of their own are asked for: one object, or a list of them."""
    objects = [{"name": one.name, "arguments": _object(one)} for one in calls]
    return encode(objects if len(objects) > 1 else objects[0])


def _object(call: ToolCall) -> Any:
    try:
        return call.decoded()
    except ToolError:
        return call.arguments
