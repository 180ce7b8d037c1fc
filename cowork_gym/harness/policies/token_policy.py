"""The policy that plays through an engine, token in, token out: what was sampled goes back as it was. `engines` draw, `tokens` render and read."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from cowork_gym.core.errors import ToolError
from cowork_gym.core.ids import generator
from cowork_gym.core.messages import Message
from cowork_gym.core.trajectory import Tokens
from cowork_gym.envs.turns import as_text, read_action, recordable, spoken
from cowork_gym.harness.engines.engine import Engine, Sampling
from cowork_gym.harness.policies.policy import Action, Draw, Policy, Usage
from cowork_gym.harness.tokens.chat_format import ChatFormat

__all__ = ["TokenPolicy"]

_NUMBERED = re.compile(r"call_(\d{1,9})")


class TokenPolicy(Policy):
    """A model that is given and gives tokens.

    A history that goes on from the last one costs only the tokens of what was added; one that was rewritten is rendered anew. An answer that
    was discarded leaves no trace: the next prompt goes on from the last answer that still stands in the history.

    Args:
        engine: Draws the tokens; may be shared by many policies.
        format: Renders messages and reads answers; may be shared too.
        sampling: How tokens are drawn.
        name: How episodes call the agent; the engine's name by default.
    """

    writes = True

    def __init__(self, engine: Engine, format: ChatFormat, sampling: Sampling | None = None, *, name: str | None = None) -> None:
        self.name, self.tokenizer, self.version = name or engine.name, format.fingerprint, engine.version
        self._engine, self._format, self._sampling = engine, format, sampling or Sampling()
        self.reset((), 0)

    def reset(self, tools: Sequence[Mapping[str, Any]], seed: int) -> None:
        """Start a new run. The seed decides what is drawn, as far as the engine can promise that."""
        self._tools, self._seed, self._answers, self._calls = [*tools], seed, 0, 0
        self._tape = _Tape()
        self.usage, self.draw, self.version = Usage(), Draw(), self._engine.version

    def adopt(self, history: Sequence[Message], ids: Sequence[int]) -> None:
        """Go on from a recorded prefix, to be called after `reset`: the next answer extends exactly these tokens.

        Args:
            history: What was visible up to the last answer, which is its last message.
            ids: The whole token sequence of the segment until then, the sampled ids of that answer included.

        Raises:
            ValueError: The history does not end with an answer, or there are no tokens.
        """
        if not ids or not history or history[-1].role != "assistant":
            raise ValueError("a prefix that can be extended has tokens and ends with an answer")
        self._tape = _Tape.recorded(history, ids, closed=ids[-1] in self._format.stop)
        self._answers = sum(one.role == "assistant" for one in history)

    def act(self, history: Sequence[Message]) -> Action:
        """The next action.

        Raises:
            ContextFull: The conversation is longer than the model can read. Nothing was sampled.
            Fault: The engine failed.
        """
        return self._answer(history, _recorded)

    def write(self, history: Sequence[Message]) -> Action:
        """A text that the last message of the history asks for. The tools stay in the prompt, so that the next action can extend it.

        Raises:
            ContextFull: The conversation is longer than the model can read. Nothing was sampled.
            Fault: The engine failed.
        """
        return self._answer(history, spoken)

    def restart(self) -> None:
        """Render the next history anew."""
        self._tape = _Tape()

    def spawn(self) -> "TokenPolicy":
        """Another one over the same engine and format, with a history of its own."""
        return TokenPolicy(self._engine, self._format, self._sampling, name=self.name)

    def _answer(self, history: Sequence[Message], recorded: Callable[[Action], Message]) -> Action:
        self.usage, self.draw = Usage(), Draw()
        flaw, place = self._format.flaw, self._place(history)
        prompt = (*self._tape.ids[:place.begin], *place.context)
        seed = generator(self._seed, "answer", self._answers).getrandbits(31)
        drawn = self._engine.generate(prompt, self._sampling, stop=self._format.stop, seed=seed)
        self._answers += 1
        self.usage, self.version = Usage(len(prompt), len(drawn.ids)), drawn.version
        tokens = Tokens(place.context, drawn.ids, drawn.logprobs, (True,) * len(drawn.ids))
        self.draw = Draw(drawn.finish, drawn.version, tokens, place.fresh, flaw)
        action = self._identified(self._format.read(drawn.ids, drawn.finish, self._tools), history)
        self._tape.add(history, place, drawn.ids, recorded(action), closed=any(id in self._format.stop for id in drawn.ids[-1:]))
        return action

    def _place(self, history: Sequence[Message]) -> "_Place":
        """Where the prompt of a history goes on from the tape."""
        mark = None if self._format.flaw else self._tape.reach(history)
        if mark is None:
            return _Place(0, self._format.open(history, self._tools), fresh=True)
        return _Place(mark.ids, self._format.extend(history[mark.messages:], closed=mark.closed), fresh=False)

    def _identified(self, action: Action, history: Sequence[Message]) -> Action:
        """The action with ids that its run has not seen and arguments as text, so that the record has it as it is."""
        if not isinstance(action, Message) or not action.tool_calls:
            return action
        given = (_NUMBERED.fullmatch(call.id or "") for one in history for call in one.tool_calls)
        last = max([self._calls, *(int(one[1]) for one in given if one)])
        self._calls = last + len(action.tool_calls)
        return recordable(action.with_ids(last + 1))


class _Place(NamedTuple):
    """Where a prompt goes on from the tape, and with what."""

    begin: int
    """Tokens of the tape that come first."""
    context: tuple[int, ...]
    fresh: bool


class _Mark(NamedTuple):
    """The end of an answer: a place from which the tape can go on."""

    messages: int
    """How many messages come before it."""
    ids: int
    """How many tokens come before it."""
    closed: bool
    """Whether the last of them ended the answer."""


class _Tape:
    """One segment as messages and as tokens, with the ends of its answers."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self._messages: list[Message] = []
        self._ends: list[_Mark] = []

    @classmethod
    def recorded(cls, messages: Sequence[Message], ids: Sequence[int], *, closed: bool) -> "_Tape":
        """A tape that can go on from its last answer only."""
        tape = cls()
        tape.ids, tape._messages, tape._ends = [*ids], [*messages], [_Mark(len(messages), len(ids), closed)]
        return tape

    def reach(self, history: Sequence[Message]) -> _Mark | None:
        """The last mark that a history goes on from; None if it is another one's history."""
        pairs = enumerate(zip(self._messages, history, strict=False))
        shared = next((at for at, (ours, theirs) in pairs if ours != theirs), min(len(self._messages), len(history)))
        end = next((one for one in reversed(self._ends) if one.messages <= shared), None)
        # An answer that is not on the tape cannot be put behind it: its tokens are unknown.
        if end is None or end.messages == len(history) or any(one.role == "assistant" for one in history[end.messages:]):
            return None
        return end

    def add(self, history: Sequence[Message], place: _Place, sampled: Sequence[int], said: Message, *, closed: bool) -> None:
        """Put a prompt and its answer on the tape; what stood behind the prompt's beginning was discarded."""
        self.ids[place.begin:] = [*place.context, *sampled]
        self._messages = [*history, said]
        self._ends = [one for one in self._ends if one.ids <= place.begin]
        self._ends.append(_Mark(len(self._messages), len(self.ids), closed))


def _recorded(action: Action) -> Message:
    """An action as the environment will have it, which refuses some messages and keeps them as text."""
    try:
        return recordable(read_action(action))
    except ToolError:
        return Message("assistant", as_text(action))
