"""A scripted policy, token in and token out: an engine that invents the tokens of what it is told to say, and a log of what it was asked."""

import zlib
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from cowork_gym.core.canonical import encode
from cowork_gym.core.errors import Blame, Fault
from cowork_gym.core.messages import InvalidAction, Message, call, final
from cowork_gym.envs.turns import spoken
from cowork_gym.harness.engines import ContextFull, Drawn, Engine, Sampling
from cowork_gym.harness.policies.policy import Action
from cowork_gym.harness.policies.scripted import ScriptedPolicy
from cowork_gym.harness.policies.token_policy import TokenPolicy
from cowork_gym.harness.tokens import ChatFormat

END = 2_000_000
"""Ends an answer. Sampled ids count up from here, so that each is sampled once; rendered ids are smaller."""
_PIECE = 16


class Asked(NamedTuple):
    """What the engine was asked, and what it answered."""

    prompt: tuple[int, ...]
    drawn: Drawn


class ScriptEngine(Engine):
    """Draws an answer whose length is that of what is to be said.

    Args:
        generator: Decides log-probabilities and failures.
        context: The most tokens that a prompt may have.
        flaky: How often it fails, never twice on end.
    """

    name, version = "token-script", "step-1"

    def __init__(self, generator: Random, context: int | None, flaky: float) -> None:
        self._generator, self.context, self._flaky = generator, context, flaky
        self.log: list[Asked] = []
        self.say: Callable[[], Action] = lambda: final("")
        """What the next answer says; asked only when there is one."""
        self.said: Action = final("")
        self._sampled, self._failed = END, False

    def generate(self, prompt: Sequence[int], sampling: Sampling, *, stop: Sequence[int], seed: int) -> Drawn:
        if self.context is not None and len(prompt) > self.context:
            raise ContextFull("too long")
        self._failed = not self._failed and self._generator.random() < self._flaky
        if self._failed:
            raise Fault(Blame.MODEL_SERVER, self.name, "down")
        self.said = self.say()
        count = 1 + len(encode(spoken(self.said).wire())) // _PIECE
        cut = isinstance(self.said, InvalidAction) and self._generator.random() < 0.5
        self.version = f"step-{1 + len(self.log) // 3}"
        ids = (*range(self._sampled + 1, self._sampled + 1 + count), *(() if cut else (END,)))
        self._sampled += count
        drawn = Drawn(ids, tuple(-self._generator.random() for _ in ids), "length" if cut else "stop", self.version)
        self.log.append(Asked(tuple(prompt), drawn))
        return drawn


class PieceFormat(ChatFormat):
    """Renders pieces of text; an answer says what the engine was told to."""

    fingerprint, stop, flaw = "f" * 64, (END,), ""

    def __init__(self, engine: ScriptEngine) -> None:
        self._engine = engine

    def open(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]]) -> tuple[int, ...]:
        return _rendered(messages)

    def extend(self, messages: Sequence[Message], *, closed: bool) -> tuple[int, ...]:
        return (*(() if closed else (END,)), *_rendered(messages))

    def read(self, ids: Sequence[int], finish: str, tools: Sequence[Mapping[str, Any]]) -> Action:
        return self._engine.said


class TokenScript(TokenPolicy):
    """Says its lines; texts that it is asked for are what the generator makes of them: good, empty, too long, cut off, or calls.

    Args:
        actions: The lines.
        generator: Decides log-probabilities, texts and failures.
        context: The most tokens that a prompt may have.
        flaky: How often the engine fails, never twice on end.
        spoiled: How often a text is none.
        garbled: How often an answer is no action; the line comes with the next.
    """

    def __init__(
        self, actions: Sequence[Message], generator: Random, *, context: int | None = None, flaky: float = 0.0, spoiled: float = 0.0,
        garbled: float = 0.0,
    ) -> None:
        self._script, self._generator = ScriptedPolicy("lines", actions), generator
        self._spoiled, self._garbled = spoiled, garbled
        self._inner = ScriptEngine(generator, context, flaky)
        self.prompts: list[tuple[Message, ...]] = []
        super().__init__(self._inner, PieceFormat(self._inner))

    @property
    def context(self) -> int | None:
        return self._inner.context

    @property
    def log(self) -> list[Asked]:
        return self._inner.log

    def reset(self, tools: Sequence[Mapping[str, Any]], seed: int) -> None:
        super().reset(tools, seed)
        self._script.reset(tools, seed)

    def act(self, history: Sequence[Message]) -> Action:
        return self._asked(super().act, history, self._said)

    def write(self, history: Sequence[Message]) -> Action:
        return self._asked(super().write, history, self._text)

    def _asked(self, ask: Callable[[Sequence[Message]], Action], history: Sequence[Message], say: Callable[[Sequence[Message]], Action]) -> Action:
        self._inner.say = lambda: say(history)
        action = ask(history)
        self.prompts.append(tuple(history))
        return action

    def _said(self, history: Sequence[Message]) -> Action:
        if self._generator.random() < self._garbled:
            self._script.write(history)  # it reads on
            return InvalidAction("garbled", "<tool_call>{")
        return self._script.act(history)

    def _text(self, history: Sequence[Message]) -> Action:
        good = self._script.write(history)
        if self._generator.random() >= self._spoiled:
            return good
        bad = [InvalidAction("cut off", "So far"), InvalidAction("", ""), final(" "), final("long " * 9000), call("kb_search", query="x")]
        return self._generator.choice(bad)


def _rendered(messages: Sequence[Message]) -> tuple[int, ...]:
    ids = []
    for one in messages:
        text = encode(one.wire())
        ids += [zlib.crc32(text[at : at + _PIECE].encode()) % END for at in range(0, len(text), _PIECE)]
    return tuple(ids)
