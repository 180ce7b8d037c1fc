"""From a mapping to a dialogue that can be played: it contradicts itself nowhere, never says what is private, and all can be heard in time."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cowork_gym.core.errors import PackageError, nearest
from cowork_gym.envs.dialogue.form import Correction, Dialogue, Fact, Statement
from cowork_gym.envs.dialogue.questions import question_in
from cowork_gym.graders.matchers import show
from cowork_gym.graders.problems import Problem, read_form

__all__ = ["parse_dialogue"]


def parse_dialogue(mapping: Mapping[str, Any], path: str | Path) -> Dialogue:
    """The dialogue that a file describes.

    Args:
        mapping: What the file says.
        path: The file, for errors.

    Raises:
        PackageError: It is not of the form, or contradicts itself. One line names the field and the nearest valid choice.
    """
    dialogue = read_form(Dialogue, mapping, path)
    for where, problem in _problems(dialogue):
        raise PackageError(path, where, problem)
    return dialogue


def _problems(dialogue: Dialogue) -> Iterator[Problem]:
    """What keeps a dialogue from being played. Whoever asks for the second one must have mended the first."""
    yield from _names(dialogue)
    yield from _order(dialogue)
    yield from _questions(dialogue)
    yield from _secrets(dialogue)
    yield from _time(dialogue)


def _names(dialogue: Dialogue) -> Iterator[Problem]:
    seen, facts = set[str](), [fact.id for fact in dialogue.facts]
    for where, one in dialogue.statements():
        if one.id in seen:
            yield f"{where}.id", "another fact or correction has this id"
        seen.add(one.id)
        for field, id in _named(one).items():
            if id is not None and id not in facts:
                yield f"{where}.{field}", f"there is no fact {id!r}, {nearest(id, facts)}"


def _named(one: Statement) -> Mapping[str, str | None]:
    """The facts that a fact or correction names, by field."""
    if isinstance(one, Correction):
        return {"of": one.of, "when.after": one.when.after}
    return {f"after[{index}]": id for index, id in enumerate(one.after)} if isinstance(one, Fact) else {}


def _order(dialogue: Dialogue) -> Iterator[Problem]:
    before = _before(dialogue)
    for where, one in dialogue.statements():
        if isinstance(one, Correction):
            last = one.when.after
            if (one.when.replies is None) == (last is None):
                yield f"{where}.when", "needs either replies or after"
            elif last is not None and one.of not in before[last]:
                yield f"{where}.when.after", f"{last!r} may be told before {one.of!r}, and then nothing is corrected: let it come after {one.of!r}"
        elif one.id in before[one.id]:
            yield f"{where}.after", f"{one.id!r} comes after itself"


def _before(dialogue: Dialogue) -> Mapping[str, set[str]]:
    """For each fact, the facts that are told before it, itself among them when it can never be told."""
    before = {fact.id: set(fact.after) for fact in dialogue.facts}
    for _ in before:
        for earlier in before.values():
            earlier.update(*(before[id] for id in [*earlier]))
    return before


def _questions(dialogue: Dialogue) -> Iterator[Problem]:
    for where, fact in dialogue.statements():
        if not isinstance(fact, Fact):
            continue
        if not (fact.asks or fact.volunteered):
            yield f"{where}.asks", "is missing: nobody can ask for the fact, and it is not volunteered"
        for index, group in enumerate(fact.asks):
            question = question_in(", ".join(phrase.removesuffix("*") for phrase in group) + "?")
            if dialogue.closing is not None and dialogue.closing.matches(question):
                yield "closing", f"takes a question such as {show(question)} for the final answer"
            if not fact.is_asked_by(question):
                yield f"{where}.asks[{index}]", f"{show(group[0])} with a question mark is no question: an offer of help, or two sentences"


def _secrets(dialogue: Dialogue) -> Iterator[Problem]:
    for index, secret in enumerate(dialogue.private):
        for where, text in dialogue.spoken():
            if secret.stands_in(text):
                yield where, f"says what private[{index}] forbids ({show(secret.written)})"


def _time(dialogue: Dialogue) -> Iterator[Problem]:
    needed = _replies(dialogue)
    if max(needed.values()) > dialogue.patience:
        late = max(needed, key=lambda id: needed[id])
        yield "patience", f"{late!r} can only be heard with reply {needed[late]}, and patience is {dialogue.patience}"


def _replies(dialogue: Dialogue) -> Mapping[str, int]:
    """With which reply each fact and correction is heard by someone who asks for all, longest chains first."""
    before, heard, reply = _before(dialogue), dict[str, int](), 0
    followers = {id: sum(id in earlier for earlier in before.values()) for id in before}
    while len(heard) < len(before):
        reply += 1
        free = [fact for fact in dialogue.facts if fact.id not in heard and set(fact.after) <= heard.keys()]
        asked = sorted((fact for fact in free if not fact.volunteered), key=lambda fact: -followers[fact.id])
        heard |= dict.fromkeys([fact.id for fact in (*asked[: dialogue.per_reply], *(one for one in free if one.volunteered))], reply)
    for one in dialogue.corrections:
        heard[one.id] = heard[one.when.after] if one.when.after else max(one.when.replies or 0, heard[one.of] + 1)
    return heard
