"""The chat format of a Hugging Face tokenizer and its Jinja chat template."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from cowork_gym.core.errors import Fault, UserError
from cowork_gym.core.messages import Message
from cowork_gym.harness.policies.policy import Action
from cowork_gym.harness.tokens.calls import family_of, read_answer
from cowork_gym.harness.tokens.chat_format import check_extension, without_stop
from cowork_gym.harness.tokens.conversations import CONVERSATIONS
from cowork_gym.harness.tokens.extension import Extension
from cowork_gym.harness.tokens.flaw import find_flaw
from cowork_gym.harness.tokens.plain_text import PlainText
from cowork_gym.harness.tokens.rendering import Rendering

__all__ = ["JinjaFormat"]


class JinjaFormat:
    """A `ChatFormat` over a fast tokenizer and its chat template. Nothing changes after construction, so threads may share one.

    What is put behind an answer is rendered behind a made-up answer and encoded from that answer's end token on, so it does not depend on
    what came earlier. A template for which that is not what it would do itself (see `flaw.find_flaw`) has a `flaw`: it can open, not extend.

    Args:
        tokenizer: A fast tokenizer of `transformers`.
        template: A chat template in the place of the tokenizer's own.
        family: How answers write tool calls, a key of `calls.FAMILIES`; told from the template when it is not given.

    Raises:
        UserError: The tokenizer is no fast one, there is no template, or it writes tool calls in a form that nobody here reads.
    """

    def __init__(self, tokenizer: Any, template: str | None = None, *, family: str | None = None) -> None:
        template = template if template is not None else _own_template(tokenizer)
        self.family = family_of(template) if family is None else family
        self._plain = PlainText(tokenizer, template)
        self._rendering = Rendering(tokenizer, template, self._plain)
        self._extension = Extension(self._rendering, self._plain)
        self.fingerprint = self._plain.fingerprint
        self.flaw = find_flaw(self._rendering, self._extension, self._plain)
        self.stop = self._find_stop(tokenizer.eos_token_id)
        self._thinking = self._ends_in_thoughts()

    def open(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> tuple[int, ...]:
        """A whole conversation as a prompt. See `ChatFormat.open`.

        Raises:
            Fault: The template refuses this conversation.
        """
        return self._plain.encode(self._text(messages, tools))

    def extend(self, messages: Sequence[Message], *, closed: bool) -> tuple[int, ...]:
        """What is put behind a sampled answer. See `ChatFormat.extend`.

        Raises:
            ValueError: The template has a flaw, or there is no message, or one of the assistant's.
            Fault: The template refuses these messages.
        """
        check_extension(self.flaw, messages)
        behind = self._extension.behind(messages)
        ids = self._plain.encode(behind.text[behind.end[0]:])
        return ids[1:] if closed else ids

    def read(self, ids: Sequence[int], finish: Literal["stop", "length"], tools: Sequence[Mapping[str, Any]]) -> Action:
        """What a sampled answer says. See `ChatFormat.read`."""
        return read_answer(self._plain.decode(without_stop(ids, self.stop)), self.family, finish=finish, tools=tools, thinking=self._thinking)

    def _text(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> str:
        offered = self._plain.protect(list(tools), outside=False)
        return self._rendering.render([self._rendering.form(one) for one in messages], offered, prompt=True)

    def _find_stop(self, eos: int | None) -> tuple[int, ...]:
        found = {eos} - {None}
        for one in (one for conversation in CONVERSATIONS for one in conversation):
            try:
                found.add(self._plain.control[self._extension.behind(one.new).stop])
            except Fault:
                continue
        return tuple(sorted(id for id in found if id is not None))

    def _ends_in_thoughts(self) -> bool:
        """Whether prompts open a thinking block, so that answers begin inside it."""
        try:
            prompt = self._text([Message("user", "?")], ())
        except Fault:
            return False
        return prompt.rfind("<think>") > prompt.rfind("</think>")


def _own_template(tokenizer: Any) -> str:
    try:
        return str(tokenizer.get_chat_template(None, tools=[{}]))
    except (AttributeError, ValueError):
        raise UserError("this tokenizer has no chat template: name one") from None
