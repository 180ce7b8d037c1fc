"""A scripted policy that behaves as one that plays through an engine: token in, token out, with invented tokens and a log of what was asked."""

import zlib
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from cowork_gym.core.canonical import encode
from cowork_gym.core.errors import Blame, Fault
from cowork_gym.core.messages import InvalidAction, Message, call, final
from cowork_gym.core.trajectory import Tokens
from cowork_gym.envs.turns import spoken
from cowork_gym.harness.engines.engine import ContextFull
from cowork_gym.harness.policies.policy import Action, Draw, Policy, Usage
from cowork_gym.harness.policies.scripted import ScriptedPolicy

FIRST = 2_000_000
"""Sampled ids count up from here, so that each is sampled once; rendered ids are smaller."""
_PIECE = 16


class Asked(NamedTuple):
    """What the engine was asked, and what it answered."""

    prompt: tuple[int, ...]
    ids: tuple[int, ...]
    logprobs: tuple[float, ...]


class TokenScript(Policy):
    """Says its lines; texts that it is asked for are what the generator makes of them: good, empty, too long, cut off, or calls.

    Args:
        actions: The lines.
        generator: Decides log-probabilities, texts and failures.
        context: The most tokens that a prompt may have.
        flaky: How often the engine fails, never twice on end.
        spoiled: How often a text is none.
        garbled: How often an answer is no action; the line comes with the next.
    """

    name, tokenizer, version, writes = "token-script", "f" * 64, "step-1", True

    def __init__(
        self, actions: Sequence[Message], generator: Random, *, context: int | None = None, flaky: float = 0.0, spoiled: float = 0.0,
        garbled: float = 0.0,
    ) -> None:
        self._script, self._generator, self._context = ScriptedPolicy("lines", actions), generator, context
        self._flaky, self._spoiled, self._garbled = flaky, spoiled, garbled
        self.log: list[Asked] = []
        self.prompts: list[tuple[Message, ...]] = []
        self._answered: list[tuple[tuple[Message, ...], tuple[int, ...]]] = []
        self._sampled, self._calls, self._failed = FIRST, 0, False

    def reset(self, tools: Sequence[Mapping[str, Any]], seed: int) -> None:
        self._script.reset(tools, seed)

    def act(self, history: Sequence[Message]) -> Action:
        return self._answer(history, lambda: self._said(history))

    def write(self, history: Sequence[Message]) -> Action:
        return self._answer(history, lambda: self._text(history))

    def restart(self) -> None:
        self._answered = []

    def _said(self, history: Sequence[Message]) -> Action:
        if self._generator.random() < self._garbled:
            self._script.write(history)  # it reads on
            return InvalidAction("garbled", "<tool_call>{")
        action = self._script.act(history).with_ids(self._calls + 1)
        self._calls += len(action.tool_calls)
        return spoken(action)

    def _text(self, history: Sequence[Message]) -> Action:
        good = self._script.write(history)
        if self._generator.random() >= self._spoiled:
            return good
        calling = spoken(call("kb_search", query="x").with_ids(9000))
        return self._generator.choice([InvalidAction("cut off", "So far"), InvalidAction("", ""), final(" "), final("long " * 9000), calling])

    def _answer(self, history: Sequence[Message], said: Any) -> Action:
        self.draw, self.usage = Draw(), Usage()
        history = tuple(history)
        begin, context, fresh = self._place(history)
        prompt = (*begin, *context)
        if self._context is not None and len(prompt) > self._context:
            raise ContextFull("too long")
        self._failed = not self._failed and self._generator.random() < self._flaky
        if self._failed:
            raise Fault(Blame.MODEL_SERVER, self.name, "down")
        action = said()
        message = action if isinstance(action, Message) else spoken(action)
        count = 1 + len(encode(message.wire())) // _PIECE
        ids = tuple(range(self._sampled, self._sampled + count))
        self._sampled += count
        logprobs = tuple(-self._generator.random() for _ in ids)
        self.log.append(Asked(prompt, ids, logprobs))
        self.prompts.append(history)
        self.usage, self.draw = Usage(len(prompt), count), Draw("stop", self.version, Tokens(context, ids, logprobs, (True,) * count), fresh)
        self._answered.append(((*history, message), (*prompt, *ids)))
        return action

    def _place(self, history: tuple[Message, ...]) -> tuple[tuple[int, ...], tuple[int, ...], bool]:
        """The tape up to the last answer that still stands in the history, and what is put behind it; or the whole history, rendered anew."""
        while self._answered:
            messages, ids = self._answered[-1]
            rest = history[len(messages) :]
            if history[: len(messages)] == messages and not any(one.role == "assistant" for one in rest):
                return ids, _rendered(rest), False
            self._answered.pop()
        return (), _rendered(history), True


def _rendered(messages: Sequence[Message]) -> tuple[int, ...]:
    ids = []
    for one in messages:
        text = encode(one.wire())
        ids += [zlib.crc32(text[at : at + _PIECE].encode()) % FIRST for at in range(0, len(text), _PIECE)]
    return tuple(ids)
