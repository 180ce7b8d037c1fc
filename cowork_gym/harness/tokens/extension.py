"""What a template puts behind an answer: found behind a stable made-up answer, so that nothing that came earlier can leak into it."""

from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from cowork_gym.core.errors import Blame, Fault
from cowork_gym.core.messages import Message, ToolCall
from cowork_gym.harness.tokens.plain_text import ANCHOR, PlainText, common
from cowork_gym.harness.tokens.rendering import Form, Rendering

__all__ = ["Behind", "Extension", "answer_of"]

_ASKED: Form = {"role": "user", "content": "?"}


class Behind(NamedTuple):
    """What stands behind the anchor of an answer once there are new messages."""

    text: str
    """All of it: the rest of the answer, its end, the new messages, and the beginning of the next answer."""
    end: tuple[int, int]
    """Where in it the token stands that ends the answer."""
    seen: int
    """How much of it stays when the next answer is there, its beginning left out."""
    stop: str
    """The token that ends such an answer while nothing comes after it, which is what a policy samples."""


class Extension:
    """Finds what a template puts behind an answer."""

    def __init__(self, rendering: Rendering, plain: PlainText) -> None:
        self._rendering, self._plain = rendering, plain

    def behind(self, messages: Sequence[Message]) -> Behind:
        """What stands behind an answer that has as many calls as there are tool results at the head of the new messages.

        Raises:
            Fault: The template refuses these messages, or no token ends an answer in it.
        """
        new = [self._rendering.form(one) for one in messages]
        results = takewhile(lambda one: one["role"] == "tool", new)
        calls = [ToolCall(one.get("name", "tool"), {}, one.get("tool_call_id", "call00000")) for one in results]
        answer = answer_of(self._rendering, calls)
        with_prompt, without = (self._behind([_ASKED, answer, *new], prompt=prompt) for prompt in (True, False))
        return self._cut(with_prompt, without, self._behind([_ASKED, answer], prompt=False))

    def _behind(self, forms: Sequence[Form], *, prompt: bool) -> str:
        _, found, tail = self._rendering.render(forms, None, prompt=prompt).partition(ANCHOR)
        if not found or ANCHOR in tail:
            raise Fault(Blame.HARNESS, "chat template", "it does not show what the assistant said")
        return tail

    def _cut(self, text: str, without: str, last: str) -> Behind:
        pattern = self._plain.control_pattern
        shared = list(pattern.finditer(last, 0, common(text, last, pattern)))
        here, stop = (shared[-1], shared[-1]) if shared else (pattern.search(text), pattern.search(last))
        if here is None or stop is None:
            raise Fault(Blame.HARNESS, "chat template", "no token of its own ends an answer")
        return Behind(text, here.span(), common(text, without, pattern), stop.group())


def answer_of(rendering: Rendering, calls: Sequence[ToolCall], text: str = "") -> Form:
    """A made-up answer with one anchor in it: in its last call where there are calls, else at the end of its text."""
    if not calls:
        return rendering.bare(Message("assistant", text + ANCHOR))
    *others, last = calls
    return rendering.bare(Message("assistant", text, (*others, ToolCall(last.name, {"at": ANCHOR}, last.id))))
