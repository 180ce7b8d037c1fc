"""Identifiers in texts and values: what names a record, an address or a case, and therefore has to be known before it can be used."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

__all__ = ["Identifiers", "texts_in"]

_WORD = re.compile(r"[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*")
_PATH = re.compile(r"[\w-]+(?:[./][\w-]+)+", re.ASCII)
_MAIL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._%+-]*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+")
_LIKE = re.compile(r"[A-Z][A-Z0-9]*(?:-[A-Z0-9]+)*-\d[A-Z0-9]*|[A-Z]+\d{3,}-[0-9a-f]{6}")
"""What people write as ids, and those that `core.ids.seeded_id` makes for new records."""


class Identifiers:
    """Finds identifiers: keys of records wherever they stand, e-mail addresses, and what looks like an id (`PO-4471`, `REP001-3f9a02`).

    Args:
        keys: The keys of the records that there are.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        self.keys = frozenset(key for key in keys if key)
        self._odd = sorted(key for key in self.keys if not any(form.fullmatch(key) for form in (_WORD, _PATH, _MAIL)))

    def known(self, text: str) -> set[str]:
        """The keys of records in a text."""
        if text in self.keys:
            return {text}
        tokens = {*_WORD.findall(text), *_PATH.findall(text), *_MAIL.findall(text)}
        return (tokens & self.keys) | {key for key in self._odd if key in text}

    def within(self, value: Any) -> set[str]:
        """All identifiers in a value, mails and look-alikes of ids included."""
        found = set[str]()
        for text in texts_in(value):
            mails = _MAIL.findall(text)
            found |= self.known(text) | {one.lower() for one in mails if one not in self.keys}
            found |= {one for one in _WORD.findall(text) if _LIKE.fullmatch(one)}
        return found


def texts_in(value: Any) -> Iterator[str]:
    """Every text in a value, names of fields included, since a record may be told by its key."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from texts_in(name)
            yield from texts_in(item)
    elif isinstance(value, Sequence) and not isinstance(value, bytes):
        for item in value:
            yield from texts_in(item)
