"""Whether a variation fits its package: what only the whole package can tell."""

import re
from collections.abc import Iterable, Iterator

from cowork_gym.core.canonical import encode
from cowork_gym.core.errors import PackageError, nearest
from cowork_gym.core.ids import generator
from cowork_gym.core.task import Task
from cowork_gym.envs.variation.amounts import Amount, amount_pairs, draw_amounts
from cowork_gym.envs.variation.dates import vague_dates
from cowork_gym.envs.variation.finder import Finder
from cowork_gym.envs.variation.form import ALL
from cowork_gym.envs.variation.identifiers import record_ids, whole_texts
from cowork_gym.envs.variation.making import made_form
from cowork_gym.envs.variation.names import ascii_word
from cowork_gym.envs.variation.names_chinese import is_chinese
from cowork_gym.envs.variation.plan import FILE, Claim, Plan, plan_of
from cowork_gym.graders.matchers import show
from cowork_gym.graders.problems import Problem

__all__ = ["check_variation"]

_TRIED = range(1, 21)
_MONEY = re.compile(r"[€$£¥元]|\b[A-Z]{3}\b|\b[Ee]uros?\b|\b[Dd]ollars?\b|\b[Pp]ounds?\b")
_FIELD = re.compile(r"[a-z][a-z0-9_]*")


def check_variation(task: Task) -> None:
    """See that what varies is there, can be told from everything else, and can be drawn.

    Args:
        task: The task, as its author wrote it, with a variation.

    Raises:
        PackageError: Something does not fit. The file is `private/variation.yaml`; the field and what to do are named.
    """
    plan = plan_of(task)
    if plan.variation.maker is not None:
        made_form(task, plan.variation.maker, _TRIED[0], FILE)
        return
    for where, problem in _problems(plan, frozenset(_found(plan))):
        raise PackageError(FILE, where, problem)


def _found(plan: Plan) -> Iterator[str]:
    """What of everything that is looked for stands in the package."""
    for _, text in plan.corpus.texts:
        yield from plan.finder.found(text)
        yield from plan.inner.found(text)


def _problems(plan: Plan, found: frozenset[str]) -> Iterator[Problem]:
    yield from _ids(plan)
    yield from _names(plan, found)
    yield from _amounts(plan, found)
    yield from _choices(plan, found)
    yield from _dates(plan)
    yield from _noise(plan)
    yield from _wordings(plan)
    yield from _claims(plan, found)


def _ids(plan: Plan) -> Iterator[Problem]:
    for at, id in enumerate(plan.variation.ids):
        if id == ALL and not record_ids(plan.task):
            yield f"ids[{at}]", "no record has an id with a digit: list those that may vary"
        elif id != ALL and id not in (known := whole_texts(plan.task)):
            yield f"ids[{at}]", f"no field of a record is {show(id)}, {nearest(id, known)}"


def _names(plan: Plan, found: frozenset[str]) -> Iterator[Problem]:
    seen: dict[tuple[str, ...], str] = {}
    for name in plan.variation.names:
        words = tuple(filter(None, map(ascii_word, name.split()))) or (name,)
        if len("".join(words)) < 2:
            yield f"names.{name}", "is too short to be told from other text"
        if (other := seen.setdefault(words, name)) != name:
            yield f"names.{name}", f"differs from {show(other)} in accents alone, which other names do not have"
        if not plan.corpus.holds(name) and not found.intersection(plan.naming.texts(name)):
            yield f"names.{name}", "does not stand anywhere in the package"
        for word in plan.naming.words(name):
            yield from ((f"names.{name}", problem) for problem in _plain_uses(plan, word))


def _plain_uses(plan: Plan, word: str) -> Iterator[str]:
    """Where a word of a name is an ordinary one: `will`, `frost`. Addresses and texts that consist of it mean the name."""
    small = ascii_word(word)
    if is_chinese(word) or word == word.lower():
        return
    ordinary = re.compile(rf"(?<![\w@./-]){small}(?![\w@/-]|\.\w)")
    if ordinary.search(encode(plan.task.contracts)):
        yield f"{show(small)} is also a word that the tools know: give the package another name"
    for place, text in plan.corpus.texts:
        if place and not place.startswith("private/") and text.strip() != small and ordinary.search(text):
            yield f"{show(small)} is also a word of {place}, and would be rewritten there: give the package another name"


def _amounts(plan: Plan, found: frozenset[str]) -> Iterator[Problem]:
    for name, amount in plan.variation.amounts.items():
        spellings = {text for text, _ in amount_pairs(amount, amount.value)}
        if amount.value not in plan.corpus.typed and not spellings & found:
            yield f"amounts.{name}.value", f"{amount.value} does not stand anywhere in the package"
        for place, text in plan.corpus.texts:
            yield from ((f"amounts.{name}", problem) for problem in _unclear(amount, spellings, place, text))
    for seed in _TRIED:
        if draw_amounts(plan.variation.amounts, generator(seed, plan.task.id, "amounts"), plan.corpus.numbers) is None:
            yield "amounts", "for some seeds no values are left that the package does not have and that keep all above 0: give low and high more room"
            return


def _unclear(amount: Amount, spellings: set[str], place: str, text: str) -> Iterator[str]:
    """Where a text may or may not mean an amount."""
    joined = "|".join(re.escape(one) for one in spellings if "." in one or "," in one)
    if joined and (hit := re.search(rf"[A-Za-z](?:{joined})(?![\d.,])|(?<![\d.,])(?:{joined})[A-Za-z]", text)):
        yield f"{show(hit[0])} in {place} is not seen as the amount: put a blank between"
    bare = f"{amount.value:f}".partition(".")[0]
    if place and amount.unit < 1 and bare in spellings and len(bare) < 4:
        for hit in re.finditer(rf"(?<![\w.,:/-]){bare}(?![\w/]|[-.,:]\d)", text):
            if not _MONEY.search(text[max(0, hit.start() - 6) : hit.end() + 6]):
                yield f"{show(text[max(0, hit.start() - 20) : hit.end() + 20])} in {place} may mean a count: write {amount.value} where it is meant"


def _choices(plan: Plan, found: frozenset[str]) -> Iterator[Problem]:
    owners = {text: at for at, alternatives in enumerate(plan.variation.choose) for text in alternatives[0]}
    for at, alternatives in enumerate(plan.variation.choose):
        for text in alternatives[0]:
            if text not in found:
                yield f"choose[{at}]", f"{show(text)} does not stand anywhere in the package"
        new = {text for one in alternatives for text in one.values()} - alternatives[0].keys()
        for text in sorted(new):
            if owners.setdefault(text, at) != at:
                yield f"choose[{at}]", f"{show(text)} is a text of choose[{owners[text]}], too"
            if place := _place_of(text, plan.corpus.texts):
                yield f"choose[{at}]", f"{show(text)} stands in {place} already, so that the two could not be told apart"


def _place_of(text: str, texts: Iterable[tuple[str, str]]) -> str | None:
    finder = Finder([text])
    return next((place for place, one in texts if text in one and finder.split(one)), None)


def _dates(plan: Plan) -> Iterator[Problem]:
    if plan.variation.dates is None:
        return
    if not plan.weeks:
        yield "dates", "the task ends in the last week that a task may have"
    for place, text in plan.corpus.texts:
        for piece in (plan.finder.split(text) or (text,))[::2] if place else ():
            for vague in vague_dates(piece):
                yield "dates", f"{show(vague)} in {place} cannot be moved: write it as 2026-03-10, 10 March 2026 or 2026年3月10日"


def _noise(plan: Plan) -> Iterator[Problem]:
    for at, noise in enumerate(plan.variation.noise):
        service = noise.table.partition(".")[0]
        if service not in plan.task.services:
            yield f"noise[{at}].table", f"the task has no service {service!r}, {nearest(service, plan.task.services)}"
        if not any(noise.prefixes()):
            yield f"noise[{at}].record", "needs a field such as {id: TCK}, by which each record has a key of its own"


def _wordings(plan: Plan) -> Iterator[Problem]:
    for at, text in enumerate(plan.variation.wordings):
        if text in (plan.task.request, *plan.variation.wordings[:at]):
            yield f"wordings[{at}]", "is no other wording"
        for given in plan.task.given:
            if given in plan.task.request and given not in text:
                yield f"wordings[{at}]", f"does not say {show(given)}, which the request gives"


def _claims(plan: Plan, found: frozenset[str]) -> Iterator[Problem]:
    claims: dict[str, Claim] = {}
    for one in plan.claims:
        other = claims.setdefault(one.text, one)
        if other.meaning != one.meaning and one.text in found:
            yield one.where, f"{show(one.text)} may also be of {other.where}: give one of the two another form in the package"
    owners = {text: one.where for text, one in claims.items()} | dict.fromkeys(plan.choices, "choose")
    for field in sorted(plan.corpus.fields):
        for text in plan.finder.found(field) if _FIELD.fullmatch(field) else ():
            yield owners.get(text, "dates"), f"{show(text)} is also what a field is called ({field})"
