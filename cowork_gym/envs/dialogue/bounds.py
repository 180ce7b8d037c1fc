"""Whether a reply keeps to what the user may say, whoever worded it. In doubt it does not: another wording can be found.

Numbers, codes, dates, names and quotations of the facts that a reply tells must be there, in their order. All else that tells anything must
stand in these facts, in the persona's texts, or in what the user has said before. That an agent said it is not enough.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from cowork_gym.envs.dialogue.form import Dialogue
from cowork_gym.envs.dialogue.spelling import is_visible, simplify
from cowork_gym.envs.dialogue.tokens import pieces
from cowork_gym.graders.matchers import show

__all__ = ["leaves_facts"]

_LONGEST = 20_000
_AFFIRMED = re.compile(r"是的|对的|没错|正确|可以|确实|确认|好的|以[上下]")


def leaves_facts(dialogue: Dialogue, text: str, facts: Sequence[str], conversation: Sequence[str]) -> str | None:
    """Why a reply must not stand, or None when it may.

    Args:
        dialogue: What the user knows.
        text: The reply.
        facts: The facts and corrections that it tells for the first time, by id.
        conversation: What the user has said before, the request first.

    Returns:
        The first problem found: it says what is private, leaves what the user may say, turns a statement, or misses a part of a fact.
    """
    told = [dialogue.told_by[id] for id in facts]
    if len(text) > _LONGEST or not simplify(text):
        return "it is empty or too long"
    if not is_visible(text):
        return "it has letters that nobody can see"
    if any(secret.stands_in(text) for secret in dialogue.private):
        return "it says what is private"
    if (stray := _stray(text, [*told, dialogue.persona.name, *dialogue.phrases, *conversation])) is not None:
        return f"{show(stray)} is not among what may be said"
    own = _without(text, dialogue.phrases)
    if (turn := _turn(_without(own.replace(dialogue.phrases.again, ""), dialogue.told_by.values()), told)) is not None:
        return f"{show(turn)} makes another statement of it"
    if (missing := _missing(own, told)) is not None:
        return f"{show(missing)} is missing, or not in its place"
    return None


def _stray(text: str, sources: Sequence[str]) -> str | None:
    """The first thing that tells something and is in none of the sources."""
    known, seen = set[tuple[str, str]]().union(*map(_meanings, sources)), "\n".join(map(simplify, sources))
    for one in pieces(text):
        if one.text not in seen if one.kind == "quoted" else one.meaning not in known and not one.plain:
            return one.written
    return None


def _without(text: str, known: Iterable[str]) -> str:
    """A text without the lines that are known letter by letter."""
    lines = {line.strip() for one in known for line in one.splitlines()}
    return "\n".join(line for line in text.splitlines() if line.strip() not in lines)


def _turn(text: str, told: Iterable[str]) -> str | None:
    """The first thing that affirms, denies or bounds more than the facts that are told do."""
    allowed = Counter(turn for fact in told for turn in _turns(fact))
    for turn in _turns(text):
        allowed[turn] -= 1
        if allowed[turn] < 0:
            return turn
    return None


def _turns(text: str) -> list[str]:
    return [*(one.text for one in pieces(text) if one.turns), *_AFFIRMED.findall(text)]


def _missing(text: str, told: Iterable[str]) -> str | None:
    """The first thing of what is told that the text does not have behind the one before; Chinese letters may stand anywhere."""
    said, seen, at = [one.meaning for one in pieces(text)], simplify(text), 0
    order = iter(said)
    for one in (piece for fact in told for piece in pieces(fact)):
        if one.kind == "quoted":
            at = seen.find(one.text, at)
            if at < 0:
                return one.written
        elif (one.meaning not in order) if one.bears else (one.kind == "han" and not one.plain and one.meaning not in said):
            return one.written
    return None


@lru_cache(512)
def _meanings(text: str) -> frozenset[tuple[str, str]]:
    return frozenset(one.meaning for one in pieces(text))
