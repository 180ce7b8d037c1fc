"""Answers as tokens: what a policy would have sampled to say a message, its stop token included. The inverse of `ChatFormat.read`."""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

from cowork_gym.core.canonical import canonical
from cowork_gym.core.errors import ToolError, UserError
from cowork_gym.core.messages import Message, ToolCall
from cowork_gym.harness.tokens import ChatFormat, JinjaFormat, MistralFormat

__all__ = ["Answers", "Unwritable", "answers_of", "check_answer"]

_ASKED = Message("user", "?")
_THOUGHTS = re.compile(r"<think>(.*?)</think>|\[THINK\](.*?)\[/THINK\]|\A(.*?)</think>", re.DOTALL)
_SPACE = re.compile(r"\s+")


class Unwritable(ValueError):
    """An answer that the policy could not have written in this format, so that nothing true can be learned from it."""


@runtime_checkable
class Answers(Protocol):
    """How a format writes answers. A `ChatFormat` that has these methods itself needs no other."""

    def write(self, answer: Message) -> tuple[int, ...]:
        """The ids of an answer as the policy would have sampled it right behind a prompt, up to and including its stop token.

        Raises:
            Unwritable: The format has no form for it.
            Fault: The template refuses it.
        """
        ...

    def text(self, ids: Sequence[int]) -> str:
        """The text of ids, control tokens included."""
        ...

    def shown(self, text: str) -> str:
        """A text as it comes back from tokens: some tokenizers put letters together, or lack them."""
        ...


def answers_of(format: ChatFormat) -> Answers:
    """How a format writes answers.

    Raises:
        UserError: It is neither one of ours, nor has the methods itself.
    """
    if isinstance(format, Answers):
        return format
    if isinstance(format, JinjaFormat):
        return _JinjaAnswers(format)
    if isinstance(format, MistralFormat):
        return _MistralAnswers(format)
    raise UserError(f"{type(format).__name__} cannot write answers: it lacks write(), text() and shown()")


def check_answer(format: ChatFormat, answer: Message, ids: Sequence[int], tools: Sequence[Mapping[str, Any]]) -> None:
    """See that what was written says what was meant: read as a policy's answer, it has the same text and the same calls, and it shows the thoughts.

    White space around texts is not compared, since templates trim it.

    Args:
        format: The one that wrote it.
        answer: What was meant.
        ids: What was written.
        tools: The offered tools.

    Raises:
        Unwritable: It reads otherwise; what differs is said.
    """
    answers, read = answers_of(format), format.read(ids, "stop", tools)
    if not isinstance(read, Message):
        raise Unwritable(f"read as an answer, it is none: {read.reason}")
    content = answer.content or ""
    said = _THOUGHTS.sub("", content)
    if _bare(read.content or "") not in (_bare(said), _bare(answers.shown(said))):
        raise Unwritable("read as an answer, it has another text: the template does not show all of it, or takes some for calls")
    if len(read.tool_calls) != len(answer.tool_calls) or not all(
        _same_call(one, meant, answers) for one, meant in zip(read.tool_calls, answer.tool_calls, strict=True)
    ):
        raise Unwritable("read as an answer, it has other calls")
    for thought in ("".join(filter(None, found.groups())) for found in _THOUGHTS.finditer(content)):
        if _bare(answers.shown(thought)) not in _bare(answers.text(ids)):
            raise Unwritable("the template leaves out its thoughts")


class _JinjaAnswers:
    """Answers behind a made-up question, as the template shows the last one; the text behind the prompt is encoded by itself, as it is sampled."""

    def __init__(self, format: JinjaFormat) -> None:
        self._format, self._rendering, self._plain = format, format._rendering, format._plain

    @cached_property
    def _prompt(self) -> str:
        return self._rendering.render([self._rendering.form(_ASKED)], None, prompt=True)

    def write(self, answer: Message) -> tuple[int, ...]:
        """See `Answers.write`."""
        whole = self._rendering.render([self._rendering.form(one) for one in (_ASKED, answer)], None, prompt=False)
        if not whole.startswith(self._prompt):
            raise Unwritable("the template shows answers otherwise than behind its own prompt")
        said = whole[len(self._prompt):]
        ends = (one.end() for one in self._plain.control_pattern.finditer(said) if self._plain.control[one.group()] in self._format.stop)
        if (end := next(ends, None)) is None:
            raise Unwritable("the template puts no stop token behind it")
        return self._plain.encode(said[:end])

    def text(self, ids: Sequence[int]) -> str:
        """See `Answers.text`."""
        return self._plain.decode(ids)

    def shown(self, text: str) -> str:
        """See `Answers.shown`."""
        return self._plain.decode(self._plain.encode(self._plain.protect(text, outside=False)))


class _MistralAnswers:
    """Answers between a made-up question and what has to follow; the library encodes each message by itself."""

    def __init__(self, format: MistralFormat) -> None:
        self._format = format

    def write(self, answer: Message) -> tuple[int, ...]:
        """See `Answers.write`."""
        calls = answer.tool_calls
        back = [Message("tool", "!", tool_call_id=one.id, name=one.name) for one in calls] or [Message("user", "!")]
        start, whole = len(self._format.open([_ASKED], ())), self._format.open([_ASKED, answer, *back], ())
        return whole[start : whole.index(self._format.stop[0], start) + 1]

    def text(self, ids: Sequence[int]) -> str:
        """See `Answers.text`."""
        from mistral_common.tokens.tokenizers.base import SpecialTokenPolicy

        return str(self._format._tokenizer.decode(list(ids), special_token_policy=SpecialTokenPolicy.KEEP))

    def shown(self, text: str) -> str:
        """See `Answers.shown`."""
        return text


def _same_call(read: ToolCall, meant: ToolCall, answers: Answers) -> bool:
    one, other = _arguments(read), _arguments(meant)
    return read.name in (meant.name, answers.shown(meant.name)) and one in (other, answers.shown(other))


def _arguments(call: ToolCall) -> str:
    try:
        return canonical(call.decoded())
    except ToolError:
        return str(call.arguments)


def _bare(text: str) -> str:
    """A text without its white space, which templates put in and take away between its parts."""
    return _SPACE.sub("", text)
