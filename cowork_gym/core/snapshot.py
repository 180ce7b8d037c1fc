"""A whole world as a value, and what changed between two of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

from cowork_gym.core.canonical import encode
from cowork_gym.core.html import shorten, table
from cowork_gym.core.ledger import Ledger

__all__ = ["Change", "Changes", "Digests", "Snapshot"]


class Digests(NamedTuple):
    """The hashes of one table's rows."""

    rows: dict[int, bytes]
    """sha256 of each row's canonical values, by rowid."""
    table: str
    """sha256 of the sorted row hashes, in hex: the table's content, whatever its order and history."""


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """One moment of a world, to be shared freely between threads and worlds."""

    image: bytes
    """The database, serialized: tables, files, id counters, and the marks of rows not hashed yet."""
    digests: Mapping[str, Digests]
    """By table name; right for every row that the image does not mark as changed."""
    ledger: Ledger
    """Its head is the ledger's state at that moment."""
    origin: str
    """Which blueprint the world was made from: a snapshot of another one is refused."""
    seed: int = 0
    """From which ids are made."""
    ahead: timedelta = timedelta(0)
    """How far the clock was put forward between two parts of a task."""


@dataclass(frozen=True, slots=True)
class Change:
    """One row that differs between two worlds."""

    table: str
    """Such as `helpdesk.tickets`."""
    key: str
    before: Mapping[str, Any] | None
    """The record as agents see it, or None when the row was created."""
    after: Mapping[str, Any] | None
    """The record as agents see it, or None when the row was deleted."""

    def fields(self) -> frozenset[str]:
        """The fields whose values differ; all of them for a created or deleted row."""
        old, new = self.before or {}, self.after or {}
        return frozenset(name for name in {*old, *new} if old.get(name) != new.get(name))


class Changes(tuple[Change, ...]):
    """Every row that differs between two worlds, by table and key."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        rows = [(one.table, one.key, _told(one.before, one), _told(one.after, one)) for one in self]
        return table(("table", "key", "before", "after"), rows, f"{len(self)} changed rows")


def _told(record: Mapping[str, Any] | None, change: Change) -> str:
    """The fields that differ, one a line."""
    if record is None:
        return "—"
    return "\n".join(f"{name}: {shorten(encode(record[name]))}" for name in sorted(change.fields()) if name in record)
