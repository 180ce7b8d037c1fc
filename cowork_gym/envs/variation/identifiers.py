"""Identifiers: which ones a package has, and others of the same form. What comes before the first digit of a part stays."""

import re
import string
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from math import prod
from random import Random
from typing import Any

from cowork_gym.core.task import Task

__all__ = ["Form", "Pool", "draw_ids", "form_of", "forms_by_prefix", "id_pairs", "record_ids", "tokens_in", "whole_texts"]

Form = tuple[str, ...]
"""Of an id: for each of its letters, those that may stand there."""

_LIKE = re.compile(r"(?=.*\d)[A-Za-z][A-Za-z0-9]*(?:[-_:][A-Za-z0-9]+)*")
_TOKEN = re.compile(r"[A-Za-z0-9_]+(?:[-:][A-Za-z0-9_]+)*")
_VARIES = re.compile(r"\d[A-Za-z0-9]*")
_LONGEST = 64
_SHORT, _LEADING = 2, string.digits.lstrip("0")
_PATIENCE = 200
_ROOM = 3
"""So many ids must a form have for each that is needed of it; else they get one more digit."""


def record_ids(task: Task) -> frozenset[str]:
    """The identifiers of a task's records: what stands under `id`, `…_id` and `…_ids` and looks like `CUS-1012`, `m-03` or `evt_7f3`."""
    return frozenset(one for one in _under_ids(_records(task)) if len(one) <= _LONGEST and _LIKE.fullmatch(one))


def tokens_in(texts: Iterable[str]) -> frozenset[str]:
    """What stands in texts where an identifier may stand."""
    return frozenset(token for text in texts for token in _TOKEN.findall(text))


def forms_by_prefix(prefixes: Iterable[str], ids: Collection[str]) -> dict[str, Form]:
    """The form of new ids for each beginning: that of most ids that begin so, else four digits."""
    found: dict[str, Form] = {}
    for prefix in prefixes:
        alike = Counter(form_of(id) for id in sorted(ids) if re.match(rf"{re.escape(prefix)}[-_:]?\d", id))
        joint = "" if prefix[-1] in "-_:" else "-"
        found[prefix] = alike.most_common(1)[0][0] if alike else (*prefix, *joint, *[string.digits] * 4)
    return found


def whole_texts(task: Task) -> frozenset[str]:
    """The texts that fields of records consist of: what may be listed as an identifier."""
    return frozenset(_texts(_records(task)))


@lru_cache(maxsize=8192)
def form_of(id: str) -> Form:
    """The form of an id. One without a digit varies in all its letters; a longer number that does not begin with 0 goes on not to.

    Example:
        >>> form_of("T-1b")
        ('T', '-', '0123456789', 'abcdefghijklmnopqrstuvwxyz')
    """
    parts = [part.span() for part in _VARIES.finditer(id)] or [(0, len(id))]
    places = {at for span in parts for at in range(*span)}
    leading = {start for start, end in parts if end - start > _SHORT and id[start] in _LEADING}
    return tuple(_LEADING if at in leading else _choices(letter) if at in places else letter for at, letter in enumerate(id))


class Pool:
    """Gives ids that nothing else has.

    Args:
        generator: Where chance comes from.
        taken: What may not be given.
    """

    def __init__(self, generator: Random, taken: Iterable[str]) -> None:
        self._generator, self._taken = generator, set(taken)

    def fresh(self, form: Form) -> str:
        """A new id of a form; with a digit more where the form has hardly any left."""
        for _ in range(_PATIENCE):
            found = "".join(self._generator.choice(letters) for letters in form)
            if found not in self._taken:
                self._taken.add(found)
                return found
        return self.fresh((*form, string.digits))


def draw_ids(ids: Collection[str], more: int, pool: Pool) -> dict[str, str]:
    """For each id another one of its form.

    Args:
        ids: The ids.
        more: How many further ones may be needed of each form.
        pool: Where they come from.
    """
    forms = {id: form_of(id) for id in sorted(ids)}
    needed = Counter(forms.values())
    return {id: pool.fresh(_widened(form, needed[form] + more)) for id, form in forms.items()}


def id_pairs(old: str, new: str) -> Iterator[tuple[str, str]]:
    """The ways to write an id: as it is, and in small letters."""
    yield old, new
    if old != old.lower():
        yield old.lower(), new.lower()


def _widened(form: Form, needed: int) -> Form:
    """The form with as many digits more as it takes to have room."""
    last = max((at for at, letters in enumerate(form) if len(letters) > 1), default=len(form) - 1)
    missing = 0
    while prod(map(len, form)) * 10**missing < needed * _ROOM:
        missing += 1
    return (*form[: last + 1], *[string.digits] * missing, *form[last + 1 :])


def _choices(letter: str) -> str:
    kinds = (string.digits, string.ascii_lowercase, string.ascii_uppercase)
    return next((letters for letters in kinds if letter in letters), letter)


def _records(task: Task) -> Iterator[Mapping[str, Any]]:
    yield from (record for collections in task.world.values() for records in collections.values() for record in records)
    for change in (change for stage in task.stages for change in stage.changes):
        yield {**change.fields, "key" if change.table == "workspace.files" else "id": change.key}


def _under_ids(value: Any, named: bool = False) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, one in value.items():
            yield from _under_ids(one, name in ("id", "ids") or name.endswith(("_id", "_ids")))
    elif isinstance(value, str):
        yield from [value] if named else []
    elif isinstance(value, Iterable) and not isinstance(value, bytes):
        for one in value:
            yield from _under_ids(one, named)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Iterable) and not isinstance(value, bytes):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(one)
