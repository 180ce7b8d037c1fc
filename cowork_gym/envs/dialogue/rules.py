"""The user who answers by rules: offline, and a pure function of the dialogue and the conversation."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from cowork_gym.core.episode import Turn
from cowork_gym.core.messages import Message
from cowork_gym.envs.dialogue.counterpart import Reply
from cowork_gym.envs.dialogue.form import Correction, Dialogue, Fact
from cowork_gym.envs.dialogue.questions import READ, is_vague, question_in
from cowork_gym.envs.dialogue.spelling import simplify

__all__ = ["RuleUser"]


class _State(NamedTuple):
    """How far a conversation has come."""

    replies: int = 0
    told: frozenset[str] = frozenset()

    def after(self, reply: Reply | None) -> "_State":
        return self if reply is None else _State(self.replies + 1, self.told.union(reply.facts))


class RuleUser:
    """A user by rules.

    A message that closes, that asks nothing, or that comes when patience is spent is the final answer. Any other gets the facts that
    it asks for, those first that were not told yet; or a text that tells nothing.

    Args:
        dialogue: What they know and how they answer.
    """

    name = "rules"

    def __init__(self, dialogue: Dialogue) -> None:
        self.dialogue = dialogue

    def reply(self, turns: Sequence[Turn], message: Message) -> Reply | None:
        """The reply to a message; None when it is taken as the final answer."""
        state = _State()
        for turn in turns:
            if turn.action is not None and not turn.action.tool_calls:
                state = state.after(self._answer(turn.action.content or "", state))
        return self._answer(message.content or "", state)

    def _answer(self, text: str, state: _State) -> Reply | None:
        dialogue = self.dialogue
        if state.replies >= dialogue.patience or (dialogue.closing is not None and dialogue.closing.matches(text)):
            return None
        question, whole = _read(text[-READ:])
        if not question:
            return None
        asked = self._asked(question) or self._asked(whole)
        new = [fact for fact in asked if self._may_tell(fact, state)][: dialogue.per_reply]
        volunteered = [fact for fact in dialogue.facts if fact.volunteered and fact not in new and self._may_tell(fact, state)]
        told = [fact.id for fact in (*new, *volunteered)]
        corrections = self._due(state, told)
        known = [fact for fact in asked if fact.id in state.told][: dialogue.per_reply]
        lines = [fact.says for fact in new] or self._again(known, state, corrections)
        if not (new or known):
            lines = [dialogue.phrases.vague if is_vague(question) else dialogue.phrases.unknown]
        lines += [one.says for one in volunteered] + [one.says for one in corrections]
        lines += [dialogue.phrases.impatient] if state.replies + 1 == dialogue.patience else []
        return Reply("\n".join(lines), (*told, *(one.id for one in corrections)))

    def _asked(self, text: str) -> list[Fact]:
        return [fact for fact in self.dialogue.facts if fact.is_asked_by(text)]

    def _may_tell(self, fact: Fact, state: _State) -> bool:
        return fact.id not in state.told and state.told.issuperset(fact.after)

    def _due(self, state: _State, told: Sequence[str]) -> list[Correction]:
        """The corrections that come with the next reply, which tells these facts."""
        open_ones = [one for one in self.dialogue.corrections if one.id not in state.told and one.of in state.told]
        now = state.replies + 1
        return [one for one in open_ones if one.when.after in told or (one.when.replies is not None and one.when.replies <= now)]

    def _again(self, known: Iterable[Fact], state: _State, corrections: Iterable[Correction]) -> list[str]:
        """Facts once more, as they stand now; without those that are taken back at this moment."""
        says = {fact.id: fact.says for fact in known}
        says |= {one.of: one.says for one in self.dialogue.corrections if one.of in says and one.id in state.told}
        taken_back = {one.of for one in corrections}
        return [f"{self.dialogue.phrases.again} {text}" for id, text in says.items() if id not in taken_back]


@lru_cache(128)  # a conversation is gone through again with each of its messages
def _read(text: str) -> tuple[str, str]:
    """What of a message asks, and the whole of it, simplified."""
    return question_in(text), simplify(text)
