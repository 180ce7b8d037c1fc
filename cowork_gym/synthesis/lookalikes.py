"""Look-alikes: for a record that a call names, the other record of its table that one would most easily take for it."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from cowork_gym.graders.evidence import Row

__all__ = ["Lookalikes"]

_MAIL = re.compile(r"[^@\s<>]+@[^@\s<>]+")


class _Place(NamedTuple):
    table: str
    key: str
    field: str | None
    """Where a record is named by the value of a field; None where it is named by its key."""


class Lookalikes:
    """Finds the look-alike of a record that is named by its key or by a mail address in it.

    Args:
        tables: Rows by table and key.
    """

    def __init__(self, tables: Mapping[str, Mapping[str, Row]]) -> None:
        self._tables = {name: tables[name] for name in tables}
        self._places: dict[str, _Place] = {}
        for name, rows in self._tables.items():
            for key, row in rows.items():
                for field, value in row.items():
                    if isinstance(value, str) and _MAIL.fullmatch(value):
                        self._places.setdefault(value, _Place(name, key, field))
        for name, rows in self._tables.items():
            self._places.update({key: _Place(name, key, None) for key in rows})

    def of(self, value: Any) -> str | None:
        """The key or address of the record that resembles the named one most; None when no record is named, or it is alone.

        The nearest is the one whose key is written alike, that has the same fields, and that has most of them equal.
        """
        place = self._places.get(value) if isinstance(value, str) else None
        if place is None:
            return None
        rows = self._tables[place.table]
        others = {key: name for key, row in rows.items() if key != place.key and (name := _named(key, row, place)) not in (None, value)}
        if not others:
            return None
        own = rows[place.key]
        return others[max(sorted(others), key=lambda key: _likeness(place.key, own, key, rows[key]))]


def _named(key: str, row: Row, place: _Place) -> str | None:
    """What names a row as the other one was named."""
    name = key if place.field is None else row.get(place.field)
    return name if isinstance(name, str) else None


def _likeness(key: str, row: Row, other_key: str, other: Row) -> tuple[bool, bool, int]:
    return _shape(key) == _shape(other_key), row.keys() == other.keys(), sum(other.get(field) == value for field, value in row.items())


def _shape(key: str) -> str:
    return re.sub(r"[a-z]", "a", re.sub(r"\d", "0", key))
