"""Two references written by hand for this desk: raw `sqlite3`, and plain dicts. The least that does the same work.

Both check arguments strictly with pydantic and keep a ledger of `json.dumps` and sha256. Neither has rollback, dispatch ids,
exact decimals, limits at the door, messages, budgets or a grader.
"""

import hashlib
import json
import pickle
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import closing
from typing import Any, Literal, NotRequired

from pydantic import ConfigDict, TypeAdapter, with_config
from typing_extensions import TypedDict

from cowork_gym.benchmarks.speed.desk import ANSWER, READ, SCRIPT, WRITE
from cowork_gym.core.task import Task

__all__ = ["PlainDict", "RawSqlite", "Rival"]

Row = dict[str, Any]
_TYPED_DICT: Any = TypedDict  # so that mypy lets a type be made from data
_STRICT = ConfigDict(strict=True, extra="forbid")
_KEYS = {"customers": "customer_id", "tickets": "ticket_id", "messages": "message_id", "articles": "article_id", "transactions": "transaction_id"}


@with_config(_STRICT)
class _Update(TypedDict):
    ticket_id: str
    priority: NotRequired[Literal["low", "medium", "high", "critical"]]
    tags: NotRequired[list[str]]
    resolution: NotRequired[str]


@with_config(_STRICT)
class _Draft(TypedDict):
    to: str
    subject: str
    body: str


def _lookup(key: str) -> TypeAdapter[Any]:
    return TypeAdapter(with_config(_STRICT)(_TYPED_DICT("Lookup", {key: str})))


_ADAPTERS: Mapping[str, TypeAdapter[Any]] = {
    "crm_get_customer": _lookup("customer_id"), "helpdesk_get_ticket": _lookup("ticket_id"), "kb_get_article": _lookup("article_id"),
    "gmail_get_message": _lookup("message_id"), "finance_get_transaction": _lookup("transaction_id"),
    "helpdesk_update_ticket": TypeAdapter(_Update), "gmail_save_draft": TypeAdapter(_Draft),
}
_TABLES = {"helpdesk_update_ticket": "tickets", "gmail_save_draft": "drafts", **{
    f"{service}_get_{table[:-1]}": table
    for service, table in (("crm", "customers"), ("helpdesk", "tickets"), ("kb", "articles"), ("gmail", "messages"), ("finance", "transactions"))
}}


class Rival(ABC):
    """What both references share: argument checks, the ledger and the script."""

    name: str

    def __init__(self) -> None:
        self.ledger: list[tuple[str, str]] = []

    def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """Check the arguments, do the work, write the ledger."""
        given, table = _ADAPTERS[tool].validate_python(arguments), _TABLES[tool]
        if tool == "gmail_save_draft":
            outcome = self.insert(table, {"draft_id": f"DRF{len(self.ledger)}", **given})
        elif tool == "helpdesk_update_ticket":
            outcome = self.update(table, given.pop("ticket_id"), given)
        elif tool == "gmail_get_message":
            outcome = self.update(table, given["message_id"], {"is_read": 1})
        else:
            outcome = self.get(table, given[_KEYS[table]])
        body = json.dumps({"sequence": len(self.ledger) + 1, "tool": tool, "arguments": arguments, "outcome": outcome}, ensure_ascii=False)
        last = self.ledger[-1][1] if self.ledger else ""
        self.ledger.append((body, hashlib.sha256((last + body).encode()).hexdigest()))
        return json.dumps(outcome, ensure_ascii=False)

    def read(self) -> object:
        """A reading call."""
        return self.call(*READ)

    def write(self) -> object:
        """A writing call."""
        return self.call(*WRITE)

    def fork_and_read(self) -> object:
        """A fork and its first call."""
        return self.fork().read()

    def episode(self) -> object:
        """Ten calls and the sealed record with fingerprint and diff; nothing is graded."""
        self.reset()
        said = [self.call(*call) for call in SCRIPT]
        sealed = json.dumps([said, self.ledger, ANSWER, self.fingerprint(), self.diff()], ensure_ascii=False)
        return hashlib.sha256(sealed.encode()).hexdigest()

    @abstractmethod
    def reset(self) -> None:
        """Begin an episode."""

    @abstractmethod
    def get(self, table: str, key: str) -> Row:
        """One row."""

    @abstractmethod
    def insert(self, table: str, row: Row) -> Row:
        """Add a row."""

    @abstractmethod
    def update(self, table: str, key: str, values: Mapping[str, Any]) -> Row:
        """Change a row."""

    @abstractmethod
    def fork(self) -> "Rival":
        """A second episode that goes on from here."""

    @abstractmethod
    def fingerprint(self) -> str:
        """The hash of the whole state."""

    @abstractmethod
    def diff(self) -> object:
        """Every row that differs from the start."""


class RawSqlite(Rival):
    """Rows in an in-memory SQLite database, opened from an image.

    Args:
        task: The desk.
    """

    name = "raw sqlite3"

    def __init__(self, task: Task) -> None:
        super().__init__()
        self._columns: dict[str, list[str]] = {"drafts": ["draft_id", "to", "subject", "body"]}
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            for table, rows in _rows(task).items():
                self._columns[table] = [*dict.fromkeys(name for row in rows for name in row)]
                self._create(connection, table)
                for row in rows:
                    connection.execute(*_insert(table, row))
            self._create(connection, "drafts")
            self._image = self._start = connection.serialize()
        self.reset()

    def _create(self, connection: sqlite3.Connection, table: str) -> None:
        key, *others = (f'"{name}"' for name in self._columns[table])
        connection.execute(f"CREATE TABLE {table} ({key} TEXT PRIMARY KEY, {', '.join(others)})")

    def reset(self) -> None:
        """A new connection from the start's image."""
        self.ledger = []
        self._open(self._start)

    def _open(self, image: bytes) -> None:
        self._connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._connection.deserialize(image)

    def get(self, table: str, key: str) -> Row:
        """One row, by its key."""
        columns = self._columns[table]
        found = self._connection.execute(f"SELECT * FROM {table} WHERE {columns[0]} = ?", (key,)).fetchone()
        return _shown(columns, found)

    def insert(self, table: str, row: Row) -> Row:
        """One INSERT in a transaction of its own."""
        self._connection.execute(*_insert(table, row))
        return row

    def update(self, table: str, key: str, values: Mapping[str, Any]) -> Row:
        """One UPDATE in a transaction of its own, and the row after it."""
        sets = ", ".join(f'"{name}" = ?' for name in values)
        text = f"UPDATE {table} SET {sets} WHERE {self._columns[table][0]} = ? RETURNING *"
        ((found),) = self._connection.execute(text, [*_stored(values), key]).fetchall()
        return _shown(self._columns[table], found)

    def fork(self) -> "RawSqlite":
        """The image as it is now; opened at once, since there is no laziness here."""
        made = object.__new__(RawSqlite)
        made._columns, made._start, made.ledger = self._columns, self._start, [*self.ledger]
        made._open(self._connection.serialize())
        return made

    def fingerprint(self) -> str:
        """Every row of every table, in order."""
        return hashlib.sha256(json.dumps(self._all(self._connection), ensure_ascii=False).encode()).hexdigest()

    def diff(self) -> object:
        """Both sides read in full, and compared."""
        with closing(sqlite3.connect(":memory:")) as start:
            start.deserialize(self._start)
            return _differences(self._all(start), self._all(self._connection))

    def _all(self, connection: sqlite3.Connection) -> dict[str, dict[str, Row]]:
        return {
            table: {row[0]: _shown(columns, row) for row in connection.execute(f"SELECT * FROM {table} ORDER BY 1")}
            for table, columns in self._columns.items()
        }


class PlainDict(Rival):
    """Rows in dicts; a copy is made by pickling.

    Args:
        task: The desk.
    """

    name = "plain dict"

    def __init__(self, task: Task) -> None:
        super().__init__()
        self._begin = {table: {row[_KEYS[table]]: row for row in rows} for table, rows in _rows(task).items()} | {"drafts": {}}
        self._image = pickle.dumps(self._begin)
        self.reset()

    def reset(self) -> None:
        """A copy of the start."""
        self.ledger = []
        self._tables: dict[str, dict[str, Row]] = pickle.loads(self._image)

    def get(self, table: str, key: str) -> Row:
        """One row, by its key."""
        return self._tables[table][key]

    def insert(self, table: str, row: Row) -> Row:
        """One more entry."""
        self._tables[table][row["draft_id"]] = row
        return row

    def update(self, table: str, key: str, values: Mapping[str, Any]) -> Row:
        """A row changed in place."""
        row = self._tables[table][key]
        row.update(values)
        return row

    def fork(self) -> "PlainDict":
        """A copy of everything."""
        made = object.__new__(PlainDict)
        made._begin, made._image, made.ledger = self._begin, self._image, [*self.ledger]
        made._tables = pickle.loads(pickle.dumps(self._tables))
        return made

    def fingerprint(self) -> str:
        """Everything as JSON with sorted keys."""
        return hashlib.sha256(json.dumps(self._tables, ensure_ascii=False, sort_keys=True).encode()).hexdigest()

    def diff(self) -> object:
        """Both sides compared."""
        return _differences(self._begin, self._tables)


def _rows(task: Task) -> dict[str, list[Row]]:
    """The task's records with the key first, lists as JSON text and lists kept apart by name."""
    return {
        table: [{_KEYS[table]: row[_KEYS[table]], "is_read": 0, "resolution": None, **row} for row in rows]
        for collections in task.world.values() for table, rows in collections.items()
    }


def _insert(table: str, row: Row) -> tuple[str, list[Any]]:
    names, marks = ", ".join(f'"{name}"' for name in row), ", ".join("?" * len(row))
    return f"INSERT INTO {table} ({names}) VALUES ({marks})", _stored(row)


def _stored(values: Mapping[str, Any]) -> list[Any]:
    return [json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value for value in values.values()]


def _shown(columns: list[str], row: tuple[Any, ...]) -> Row:
    return {
        name: json.loads(value) if name in {"tags", "labels"} else value
        for name, value in zip(columns, row, strict=True) if value is not None
    }


def _differences(before: Mapping[str, Mapping[str, Row]], after: Mapping[str, Mapping[str, Row]]) -> list[tuple[str, str, Row | None, Row | None]]:
    return [
        (table, key, before[table].get(key), rows.get(key))
        for table, rows in after.items() for key in sorted(before[table].keys() | rows.keys()) if before[table].get(key) != rows.get(key)
    ]
