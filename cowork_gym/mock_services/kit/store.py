"""The store: what a tool handler sees of a world, for one call."""

import math
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from datetime import datetime
from functools import cached_property
from typing import Any

import sqlalchemy as sa
from sqlalchemy.pool import StaticPool
from sqlmodel import Session

from cowork_gym.core.canonical import encode
from cowork_gym.core.clock import Clock
from cowork_gym.core.errors import ErrorKind, ToolError
from cowork_gym.core.ids import seeded_id
from cowork_gym.mock_services.kit.columns import ENGINE
from cowork_gym.mock_services.kit.records import Record
from cowork_gym.mock_services.kit.tables import Table, words

__all__ = ["Moment", "Store"]

_COMPILED: Any = sa.util.LRUCache(500)  # compiled ORM statements, shared by all worlds


class Moment:
    """When a call happens: its number in the ledger, the clock, and the seed from which ids are made."""

    def __init__(self, clock: Clock, sequence: int, seed: int) -> None:
        self.clock, self.sequence, self.seed = clock, sequence, seed

    @property
    def now(self) -> datetime:
        """Simulated time, UTC."""
        return self.clock.at(self.sequence)

    @cached_property
    def stamp(self) -> str:
        """Simulated time as records carry it."""
        return self.clock.stamp(self.sequence)


class Store:
    """What a tool handler sees, for one call. Rows are read-only values; writes name their table and key.

    Args:
        connection: The world's database, inside a transaction.
        tables: The world's tables by record class.
        moment: When the call happens.
        writable: The columns that an update may set; None for all and for inserts and deletes too.
    """

    def __init__(
        self, connection: sqlite3.Connection, tables: Mapping[type[Record], Table], moment: Moment, writable: frozenset[str] | None = None,
    ) -> None:
        self._open: sqlite3.Connection | None = connection
        self._tables, self.moment, self._writable = tables, moment, writable
        self._changes = connection.total_changes
        self.audited: Mapping[str, Any] | None = None

    @property
    def connection(self) -> sqlite3.Connection:
        """The raw connection, for tests and the kit. Handlers use the methods.

        Raises:
            RuntimeError: The call is over.
        """
        if self._open is None:
            raise RuntimeError("this call is over")
        return self._open

    def find(self, model: type[Record], /, *, order: str | None = None, descending: bool = False, **equal: Any) -> list[Any]:
        """Rows whose columns have these values (a `Span` is a range), ordered by `order`, then by key."""
        table = self._tables[model]
        text, values = table.select(equal, order, descending)
        return [table.load(row) for row in self.connection.execute(text, values).fetchall()]

    def peek(self, model: type[Record], key: Any) -> Any | None:
        """The row with this key, or None."""
        table = self._tables[model]
        row = self.connection.execute(*table.lookup(key)).fetchone()
        return None if row is None else table.load(row)

    def get(self, model: type[Record], key: Any) -> Any:
        """The row with this key.

        Raises:
            ToolError: There is none; the agent reads `<Model> <key> not found`.
        """
        row = self.peek(model, key)
        if row is None:
            raise ToolError(f"{model.__name__} {key} not found", ErrorKind.NOT_FOUND)
        return row

    def get_all(self, model: type[Record], keys: Sequence[Any]) -> list[Any]:
        """The rows with these keys, in the same order.

        Raises:
            ToolError: Some are not there; the agent reads `<Model> <key>, <key> not found`.
        """
        rows = {key: row for key in keys if (row := self.peek(model, key)) is not None}
        if unknown := [str(key) for key in keys if key not in rows]:
            raise ToolError(f"{model.__name__} {', '.join(unknown)} not found", ErrorKind.NOT_FOUND)
        return [rows[key] for key in keys]

    def insert(self, model: type[Record], /, **values: Any) -> Any:
        """Add a row and return it as it is stored; columns not named get their default.

        Raises:
            ToolError: There is a row with this key; the agent reads `<Model> <key> exists already`.
        """
        self._refuse(None)
        table = self._tables[model]
        for name, field in table.optional:
            if name not in values:
                values[name] = field.get_default(call_default_factory=True)
        rowid = self._write(model, "insert", values).lastrowid
        return table.load(self.connection.execute(table.by_rowid, (rowid,)).fetchone()[1:])

    def update(self, model: type[Record], key: Any, /, **values: Any) -> Any:
        """Set columns of the row with this key and return it.

        Raises:
            ToolError: There is no such row, or its new key is another's.
        """
        if values:
            self._refuse(values.keys())
            if self._write(model, "update", values, key).rowcount:
                key = values.get(self._tables[model].key, key)
        return self.get(model, key)  # a query of its own: RETURNING takes SQLite longer to prepare

    def delete(self, model: type[Record], key: Any) -> None:
        """Remove the row with this key.

        Raises:
            ToolError: There is no such row.
        """
        self._refuse(None)
        if self._write(model, "delete", {}, key).rowcount == 0:
            self.get(model, key)

    def search(self, model: type[Record], query: str, /, limit: int = 10, **equal: Any) -> list[Any]:
        """Rows that have any word of the query, best match first, then by key.

        A word is worth its rarity, twice in the row where BM25 ranks it highest. FTS5's own rank for several words gives a word
        that half of the rows have no weight at all, which in a collection of a few articles is almost every word.
        """
        table, scores = self._tables[model], Counter[int]()
        ((size,),) = self.connection.execute(table.size()).fetchall()
        for phrase in words(query):
            hits = self.connection.execute(table.matches(), (phrase,)).fetchall()
            best = min((rank for _, rank in hits), default=-1.0)
            for row, rank in hits:
                scores[row] += math.log1p(size / len(hits)) * (1 + rank / best)
        found = self.connection.execute(table.among(equal), (encode(list(scores)), *equal.values())).fetchall()
        found.sort(key=lambda values: -round(scores[values[0]], 9))
        return [table.load(values[1:]) for values in found[:limit]]

    def new_id(self, prefix: str) -> str:
        """The next id under a prefix: from the seed and a counter that rolls back with the call."""
        text = "INSERT INTO _counters VALUES (?, 1) ON CONFLICT (prefix) DO UPDATE SET number = number + 1 RETURNING number"
        ((number,),) = self.connection.execute(text, (prefix,)).fetchall()
        return seeded_id(self.moment.seed, prefix, number)

    @cached_property
    def session(self) -> Session:
        """An ORM session inside this call, about ten times slower than the methods: for what they cannot say.

        Raises:
            RuntimeError: The tool declares `marks`; what a session writes could not be held to them.
        """
        if self._writable:
            raise RuntimeError("a tool with `marks` has no session")
        pool = StaticPool(lambda connection=self.connection: connection, reset_on_return=None)
        engine = sa.Engine(pool, ENGINE.dialect, ENGINE.url, execution_options={"compiled_cache": _COMPILED})
        outer = engine.connect()
        outer.begin()
        return Session(outer, join_transaction_mode="create_savepoint", expire_on_commit=False, close_resets_only=False)

    def flush(self) -> None:
        """Bring the session's work, if there is any, into the call."""
        if "session" in vars(self):
            self.session.commit()

    def end(self) -> None:
        """The call is over: the session is closed for good and the store refuses further use."""
        if "session" in vars(self):
            self.session.close()
            self.session.bind.close()  # type: ignore[union-attr]
        self._open = None

    @property
    def bypassed(self) -> bool:
        """Whether anything was written by another way than the methods that change records."""
        return self.connection.total_changes != self._changes

    def _write(self, model: type[Record], verb: str, values: Mapping[str, Any], key: Any = None) -> sqlite3.Cursor:
        connection, table = self.connection, self._tables[model]
        before = connection.total_changes
        try:
            done = connection.execute(*table.write(verb, values, key))
        except sqlite3.IntegrityError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
                raise
            raise ToolError(f"{model.__name__} {values[table.key]} exists already", ErrorKind.CONFLICT) from None
        self._changes += connection.total_changes - before
        return done

    def _refuse(self, columns: Set[str] | None) -> None:
        if self._writable is not None and (columns is None or not self._writable >= columns):
            raise RuntimeError("a reading tool may set no columns but those it declares in `marks`")
