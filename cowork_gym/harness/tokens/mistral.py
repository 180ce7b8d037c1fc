"""The chat format of Mistral's models, by their own tokenizer library."""

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product, takewhile
from pathlib import Path
from typing import Any, Literal

from cowork_gym.core.canonical import encode
from cowork_gym.core.errors import Blame, Fault, told
from cowork_gym.core.messages import Message, ToolCall
from cowork_gym.harness.policies.policy import Action
from cowork_gym.harness.tokens.calls import read_answer
from cowork_gym.harness.tokens.chat_format import check_extension, without_stop
from cowork_gym.harness.tokens.conversations import CONVERSATIONS, OPENINGS, TOOLS, Round

__all__ = ["MistralFormat"]

_NAME, _ID = re.compile(r"[^a-zA-Z0-9_-]"), re.compile(r"[a-zA-Z0-9]{9}")
_EMPTY = " "
"""For an answer without text, which the library refuses; it leaves trailing blanks out."""


class MistralFormat:
    """A `ChatFormat` over a `mistral_common.tokens.tokenizers.mistral.MistralTokenizer`. Threads may share one.

    The library encodes each message by itself and never takes text for a control token, so what is put behind an answer is what stands
    behind the end of a made-up one. Before version 13 it shows the tools only with the last user message; such a format has a `flaw`.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        inner = tokenizer.instruct_tokenizer.tokenizer
        self._end: int = inner.eos_id
        self.stop = (self._end,)
        self.fingerprint = hashlib.sha256(f"{tokenizer.version.value}\n".encode() + Path(inner.file_path).read_bytes()).hexdigest()
        self._one_part = inner.version.value in ("v1", "v2", "v3")
        """Whether a message has either text or calls, never both."""
        self.flaw = self._find_flaw()

    def open(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> tuple[int, ...]:
        """A whole conversation as a prompt. See `ChatFormat.open`.

        Raises:
            Fault: The library refuses this conversation.
        """
        from mistral_common.protocol.instruct.request import ChatCompletionRequest

        try:
            request = ChatCompletionRequest.from_openai(self._forms(messages), [dict(one) for one in tools] or None)
            return tuple(self._tokenizer.encode_chat_completion(request).tokens)
        except Exception as error:
            raise Fault(Blame.HARNESS, "chat template", told(error)) from error

    def extend(self, messages: Sequence[Message], *, closed: bool) -> tuple[int, ...]:
        """What is put behind a sampled answer. See `ChatFormat.extend`.

        Raises:
            ValueError: The tokenizer has a flaw, or there is no message, or one of the assistant's.
            Fault: The library refuses these messages.
        """
        check_extension(self.flaw, messages)
        ids = self._behind(messages)
        return ids if closed else (self._end, *ids)

    def read(self, ids: Sequence[int], finish: Literal["stop", "length"], tools: Sequence[Mapping[str, Any]]) -> Action:
        """What a sampled answer says. See `ChatFormat.read`."""
        from mistral_common.tokens.tokenizers.base import SpecialTokenPolicy

        said = list(without_stop(ids, self.stop))
        text = self._tokenizer.decode(said, special_token_policy=SpecialTokenPolicy.KEEP)
        return read_answer(text, "mistral", finish=finish, tools=tools)

    def _behind(self, messages: Sequence[Message]) -> tuple[int, ...]:
        results = list(takewhile(lambda one: one.role == "tool", messages))
        calls = tuple(ToolCall(one.name or "tool", {}, one.tool_call_id or "") for one in results)
        ids = self.open([Message("user", "?"), Message("assistant", None if calls else "!", calls), *messages], ())
        return ids[ids.index(self._end) + 1:]

    def _forms(self, messages: Sequence[Message]) -> list[dict[str, Any]]:
        forms: list[dict[str, Any]] = []
        answered = _Ids()
        for one in messages:
            if one.role == "tool":
                forms.append({"role": "tool", "content": one.content or "", "name": _name(one.name), "tool_call_id": answered(one.tool_call_id)})
            elif one.tool_calls:
                called, answered = _Ids(), _Ids()
                calls = [_call(call, called(call.id)) for call in one.tool_calls]
                forms.append({"role": "assistant", "content": None if self._one_part else one.content, "tool_calls": calls})
            else:
                forms.append({"role": one.role, "content": one.content or (_EMPTY if one.role == "assistant" else "")})
        return forms

    def _find_flaw(self) -> str:
        """The first made-up conversation that is not what was put behind its answers one by one."""
        try:
            for opening, tools, rounds in product(OPENINGS, ((), TOOLS), CONVERSATIONS):
                if at := self._differs(opening, tools, rounds):
                    return f"tokenizer {self._tokenizer.version.value} cannot be extended: a message behind answer {at} changes what came earlier"
        except Fault as fault:
            return f"tokenizer {self._tokenizer.version.value} cannot be extended: {fault.record.message}"
        return ""

    def _differs(self, opening: Sequence[Message], tools: Sequence[Mapping[str, Any]], rounds: Sequence[Round]) -> int:
        """The answer, counted from 1, behind which a whole conversation is not the one that grew; 0 when it is equal."""
        visible, grown = [*opening], self.open(opening, tools)
        for at, one in enumerate(rounds, 1):
            visible += [Message("assistant", None if one.calls else "an answer", one.tool_calls), *one.new]
            whole, behind = self.open(visible, tools), self._behind(one.new)
            if whole[:len(grown)] != grown or whole[len(whole) - len(behind) - 1:] != (self._end, *behind):
                return at
            grown = whole
        return 0


class _Ids(Counter[str]):
    """Ids of one answer's calls in nine letters and digits, and no two of them alike, as the library wants them."""

    def __call__(self, id: str | None) -> str:
        """The next one for an id of ours."""
        id = id or ""
        self[id] += 1
        return id if _ID.fullmatch(id) and self[id] == 1 else hashlib.sha256(f"{id}:{self[id]}".encode()).hexdigest()[:9]


def _call(call: ToolCall, id: str) -> dict[str, Any]:
    text = call.arguments if isinstance(call.arguments, str) else encode(call.arguments)
    return {"id": id, "type": "function", "function": {"name": _name(call.name), "arguments": text}}


def _name(name: str | None) -> str:
    """A tool's name as the library takes it; only names of tools that do not exist are changed."""
    return _NAME.sub("_", name or "_")[:64]
