"""A world as plain dicts: what every operation should do, written without a database."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

from cowork_gym.core.ids import seeded_id

COLUMNS: dict[str, dict[str, Any]] = {
    "articles": {"extra": None, "article_id": ..., "title": ..., "body": None, "tags": None},
    "accounts": {"extra": None, "account_id": ..., "owner": None, "balance": Decimal(0), "rate": 0.0, "minor": 0, "active": True},
    "mails": {"extra": None, "mail_id": ..., "sender": "", "subject": None, "is_read": False},
    "files": {"path": ..., "content": ...},
}
"""Columns and defaults, by collection."""
KEYS = {"articles": "article_id", "accounts": "account_id", "mails": "mail_id", "files": "path"}
WEIGHTS = {"articles": {"title": 4.0, "body": 1.0}, "mails": {"subject": 1.0}}
PUBLIC = {"articles": "lab.articles", "accounts": "lab.accounts", "mails": "lab.mails", "files": "workspace.files"}
Row = dict[str, Any]
Tables = dict[str, dict[Any, Row]]


def normal(value: Any) -> Any:
    """A value in a form in which equal means equal: numbers as fractions, mappings without order."""
    if isinstance(value, bool) or value is None or isinstance(value, str | bytes):
        return value
    if isinstance(value, int | float | Decimal):
        return ("number", Fraction(Decimal(repr(value)) if isinstance(value, float) else value))
    if isinstance(value, Mapping):
        return ("mapping", frozenset((key, normal(item)) for key, item in value.items()))
    return ("list", tuple(normal(item) for item in value))


def shown(table: str, row: Row) -> Row:
    """A record as agents see it."""
    if table == "files":
        try:
            return {"path": row["path"], "content": row["content"].decode()}
        except UnicodeDecodeError:
            return {"path": row["path"], "bytes": len(row["content"])}
    view = {name: value for name, value in row.items() if value is not None and name != "extra"}
    if table == "mails":
        view["from"] = view.pop("sender")
    return view | (row["extra"] or {})


def unwritten(values: Mapping[str, Any]) -> Row:
    """Column values from their stored form."""
    read = dict(values)
    for name in read.keys() & {"extra", "tags"}:
        read[name] = None if read[name] is None else json.loads(read[name], parse_float=Decimal)
    return typed(read)


def typed(values: Mapping[str, Any]) -> Row:
    """Column values from their JSON form."""
    casts = {"balance": Decimal, "active": bool, "is_read": bool}
    return {name: casts[name](value) if name in casts else value for name, value in values.items()}


@dataclass
class State:
    """Everything that a world remembers."""

    tables: Tables = field(default_factory=lambda: {name: {} for name in COLUMNS})
    counters: dict[str, int] = field(default_factory=dict)
    seed: int = 0
    ledger: tuple[tuple[Any, ...], ...] = ()
    """(dispatch, tool, arguments, status, outcome) of each call, oldest first."""

    def copy(self) -> "State":
        tables = {name: {key: dict(row) for key, row in rows.items()} for name, rows in self.tables.items()}
        return State(tables, dict(self.counters), self.seed, self.ledger)

    def content(self) -> Any:
        """The rows in normal form: what a fingerprint stands for."""
        return normal({name: [row for _, row in sorted(rows.items())] for name, rows in self.tables.items()})

    def put(self, table: str, values: Mapping[str, Any]) -> None:
        self.tables[table][values[KEYS[table]]] = {**COLUMNS[table], **values}

    def change(self, table: str, key: Any, values: Mapping[str, Any]) -> None:
        row = self.tables[table].pop(key) | values
        self.tables[table][row[KEYS[table]]] = row

    def differences(self, since: "State") -> list[tuple[str, str, Any, Any]]:
        """(table, key, record before, record after) of every row that differs."""
        found = []
        for name, public in PUBLIC.items():
            old, new = since.tables[name], self.tables[name]
            for key in old.keys() | new.keys():
                if normal(old.get(key)) != normal(new.get(key)):
                    found.append((public, str(key), *(normal(shown(name, side[key])) if key in side else None for side in (old, new))))
        return sorted(found, key=lambda one: one[:2])


class Draft:
    """One writing call in progress: its state, and where the session's savepoint would take it back to.

    Args:
        state: The world before the call.
    """

    def __init__(self, state: State) -> None:
        self.state = state.copy()
        self.savepoint: State | None = None
        self.made: list[str] = []

    def apply(self, step: Mapping[str, Any]) -> None:
        """Do what a step says."""
        do = step["do"]
        if do in {"orm_add", "orm_change", "orm_delete", "sa_update", "failed_flush"}:
            self.savepoint = self.savepoint or self.state.copy()
        if do in {"insert", "orm_add"}:
            self.state.put(step["table"], typed(step["values"]))
        elif do in {"update", "orm_change", "sa_update"}:
            self.state.change(step["table"], step["key"], typed(step["values"]))
        elif do in {"delete", "orm_delete"}:
            del self.state.tables[step["table"]][step["key"]]
        else:
            getattr(self, f"_{do}")(step)

    def _new(self, step: Mapping[str, Any]) -> None:
        number = self.state.counters[step["prefix"]] = self.state.counters.get(step["prefix"], 0) + 1
        self.made.append(seeded_id(self.state.seed, step["prefix"], number))
        self.state.put("mails", {**step["values"], "mail_id": self.made[-1]})

    def _replace(self, step: Mapping[str, Any]) -> None:
        self.state.put(step["table"], unwritten(step["values"]))

    def _upsert(self, step: Mapping[str, Any]) -> None:
        key = step["values"][KEYS[step["table"]]]
        if key in self.state.tables[step["table"]]:
            self.state.change(step["table"], key, unwritten(step["values"]))
        else:
            self._replace(step)

    def _raw_update(self, step: Mapping[str, Any]) -> None:
        """An update that keeps its key, or takes another's under OR REPLACE, or gives way under OR IGNORE."""
        rows, target = self.state.tables[step["table"]], step["values"].get(KEYS[step["table"]], step["key"])
        if target == step["key"] or target not in rows or step["conflict"] == "OR REPLACE":
            self.state.change(step["table"], step["key"], unwritten(step["values"]))

    def _bulk(self, step: Mapping[str, Any]) -> None:
        for row in self.state.tables["accounts"].values():
            if row["minor"] <= step["below"]:
                row["minor"] += step["by"]

    def _wipe(self, step: Mapping[str, Any]) -> None:
        self.state.tables[step["table"]].clear()

    def _session_commit(self, step: Mapping[str, Any]) -> None:
        self.savepoint = None

    def _session_rollback(self, step: Mapping[str, Any]) -> None:
        if self.savepoint is not None:
            self.state, self.savepoint = self.savepoint, None

    _failed_flush = _session_rollback

    def _commit(self, step: Mapping[str, Any]) -> None:
        """SQLAlchemy's commit and rollback of the connection end nothing."""

    _rollback = _commit
