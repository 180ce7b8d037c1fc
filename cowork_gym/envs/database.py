"""The database of one world: a live SQLite connection, opened from an image and never refilled.

A refilled connection keeps FTS5's cached structure and half-read cursors, which ends in wrong answers or a dead process;
a new one costs about as much as making SQLite read the schema again.
"""

import hashlib
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from cowork_gym.core.canonical import canonical
from cowork_gym.core.snapshot import Change, Changes, Digests, Snapshot
from cowork_gym.mock_services.kit.columns import quoted
from cowork_gym.mock_services.kit.records import Record
from cowork_gym.mock_services.kit.store import Moment, Store
from cowork_gym.mock_services.kit.tables import Table, spaced

__all__ = ["EMPTY", "Database", "connect", "differences", "state_hash"]

EMPTY = Digests({}, hashlib.sha256().hexdigest())
"""The digests of a table without rows."""


class _Connection(sqlite3.Connection):
    """The call is the transaction: what SQLAlchemy commits or rolls back on its own account stops at its savepoint."""

    def commit(self) -> None: ...

    def rollback(self) -> None: ...


def connect(image: bytes | None = None) -> sqlite3.Connection:
    """A connection to a database in memory that holds this image."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False, factory=_Connection)
    if image is not None:
        connection.deserialize(image)
    connection.create_function("spaced", 1, spaced, deterministic=True)
    connection.execute("PRAGMA recursive_triggers=ON")  # without it INSERT OR REPLACE fires no delete trigger
    return connection


class Database:
    """A live database and what is known of its rows' hashes.

    Args:
        tables: The world's tables by record class.
        snapshot: What it holds at first.
    """

    def __init__(self, tables: Mapping[type[Record], Table], snapshot: Snapshot) -> None:
        self.tables, self._image, self._digests = tables, snapshot.image, snapshot.digests
        self.connection = connect(snapshot.image)
        self._saved = self.connection.total_changes

    @property
    def idle(self) -> bool:
        """Whether no call is running."""
        return not self.connection.in_transaction

    @contextmanager
    def transaction(self, moment: Moment, writable: frozenset[str] | None = None) -> Iterator[Store]:
        """One call: all or nothing, and committed at the end, because an image leaves out what is not committed.

        Args:
            moment: When the call happens.
            writable: None for a writing call; for a reading one the columns that it may set, usually none.

        Raises:
            RuntimeError: The handler ended the transaction by itself, or a reading call wrote.
        """
        connection = self.connection
        store = Store(connection, self.tables, moment, writable)
        connection.execute("BEGIN")
        try:
            yield store
            store.flush()
            if not connection.in_transaction:
                raise RuntimeError("a handler ended the transaction")
            if writable is not None and store.bypassed:
                raise RuntimeError("a reading tool wrote past the store")
            connection.execute("COMMIT")
        finally:
            store.end()
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    def digests(self) -> Mapping[str, Digests]:
        """The hashes of all rows, brought up to date by reading only the rows that the triggers marked."""
        connection = self.connection
        marked: dict[int, set[int]] = defaultdict(set)
        for number, row in connection.execute("SELECT tab, row FROM _dirty").fetchall():
            marked[number].add(row)
        if not marked:
            return self._digests
        fresh = dict(self._digests)
        for table in [one for one in self.tables.values() if one.number in marked]:
            rows = {**fresh[table.name].rows}
            for row in marked[table.number]:
                values = connection.execute(table.by_rowid, (row,)).fetchone()
                if values is None:
                    rows.pop(row, None)
                else:
                    rows[row] = table.digest(values[1:])
            fresh[table.name] = Digests(rows, hashlib.sha256(b"".join(sorted(rows.values()))).hexdigest())
        clean = connection.total_changes == self._saved
        connection.execute("DELETE FROM _dirty")
        if clean:  # the image keeps its marks: they cost a second look, no error
            self._saved = connection.total_changes
        self._digests = fresh
        return fresh

    def image(self) -> bytes:
        """The database as bytes; the last ones again when nothing was written since."""
        if self.connection.total_changes != self._saved:
            self._image, self._saved = self.connection.serialize(), self.connection.total_changes
        return self._image

    def known(self) -> Mapping[str, Digests]:
        """The hashes that hold for every row not marked in the image."""
        return self._digests

    def row(self, table: Table, rowid: int) -> Any:
        """One row."""
        return table.load(self.connection.execute(table.by_rowid, (rowid,)).fetchone()[1:])

    def rows(self, table: Table) -> dict[str, dict[str, Any]]:
        """A whole table as agents see it, by key."""
        found = (table.load(values[1:]) for values in self.connection.execute(f"{table.pick} IS NOT NULL ORDER BY {quoted(table.key)}"))
        return {str(getattr(row, table.key)): table.shown(row) for row in found}

    def close(self) -> None:
        """Free the database at once; reference cycles in SQLAlchemy would keep it until a garbage collection."""
        if connection := getattr(self, "connection", None):  # none, when opening it failed
            connection.close()

    __del__ = close


def state_hash(digests: Mapping[str, Digests]) -> str:
    """The hash of all rows as values, whatever their order and history."""
    return hashlib.sha256(canonical({name: one.table for name, one in digests.items()}).encode()).hexdigest()


def differences(before: Database, after: Database) -> Changes:
    """Every row that differs, by table and key. Rows whose hash both sides have are not read."""
    old, new = before.digests(), after.digests()
    changes = []
    for table in before.tables.values():
        one, other = old[table.name], new[table.name]
        if one.table == other.table:
            continue
        gone, come = _unmatched(before, table, one, other), _unmatched(after, table, other, one)
        changes += [Change(table.public, key, gone.get(key), come.get(key)) for key in sorted({*gone, *come})]
    return Changes(sorted(changes, key=lambda change: (change.table, change.key)))


def _unmatched(database: Database, table: Table, mine: Digests, theirs: Digests) -> dict[str, dict[str, Any]]:
    """Rows whose hash the other side lacks, as agents see them, by key."""
    known = set(theirs.rows.values())
    rows = [database.row(table, rowid) for rowid, digest in mine.rows.items() if digest not in known]
    return {str(getattr(row, table.key)): table.shown(row) for row in rows}
