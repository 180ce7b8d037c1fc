"""Tables: what the hot path needs of a record class. SQL compiled once, codecs, digests, triggers and search."""

import hashlib
import re
from collections import namedtuple
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from cowork_gym.core.canonical import canonical
from cowork_gym.mock_services.kit.columns import ENGINE, Json, quoted, respell
from cowork_gym.mock_services.kit.definition import check_record
from cowork_gym.mock_services.kit.records import Record

__all__ = ["Span", "Table", "spaced", "terms", "words"]

_LETTERS = re.compile(r"([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff])")
_RUNS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+|[^\s\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+")


@dataclass(frozen=True, slots=True)
class Span:
    """A condition on a column: from `low` to `high`, both included; None leaves that end open."""

    low: Any = None
    high: Any = None


def spaced(text: str | None) -> str:
    """Text as the search index sees it: each Chinese, Japanese or Korean character is a word."""
    return _LETTERS.sub(r" \1 ", text or "")


def terms(query: str) -> list[str]:
    """What a query looks for, without repetitions: Latin words as they stand, runs of CJK characters as their pairs."""
    found: list[str] = []
    for run in _RUNS.findall(query.replace("\0", " ")):
        paired = len(run) > 2 and _LETTERS.match(run)
        found += [run[at : at + 2] for at in range(len(run) - 1)] if paired else [run]
    return list(dict.fromkeys(one for one in found if any(c.isalnum() for c in one)))


def words(query: str) -> list[str]:
    """A query as quoted phrases. Nothing of it is query syntax for FTS5, whatever an agent writes."""
    return ['"' + spaced(one).replace('"', '""') + '"' for one in terms(query)]


class Table:
    """What the hot path needs of a record class.

    Args:
        model: The record class.
        number: The table's number in a world, as the triggers write it.
        public: The name for people and graders, such as `helpdesk.tickets`.

    Raises:
        UserError: The class cannot be a table; see `check_record`.
    """

    def __init__(self, model: type[Record], number: int, public: str) -> None:
        check_record(model)
        self.model, self.number, self.public = model, number, public
        self.sa: sa.Table = model.__table__  # type: ignore[attr-defined]
        self.name, self.key = self.sa.name, model.key_column()
        self.columns: tuple[str, ...] = tuple(self.sa.columns.keys())
        self.row: Any = namedtuple(model.__name__, self.columns)  # type: ignore[misc]
        self.optional = [(name, field) for name, field in model.model_fields.items() if not field.is_required()]
        types = [column.type.dialect_impl(ENGINE.dialect) for column in self.sa.columns]
        self._encode = {n: p for n, kind in zip(self.columns, types, strict=True) if (p := kind.bind_processor(ENGINE.dialect))}
        self._decode = [(i, p) for i, kind in enumerate(types) if (p := kind.result_processor(ENGINE.dialect, None))]
        self._spelled = [i for i, column in enumerate(self.sa.columns) if isinstance(column.type, Json)]
        self.pick = f"SELECT rowid, {', '.join(map(quoted, self.columns))} FROM {quoted(self.name)} WHERE rowid"
        self.by_rowid = f"{self.pick} = ?"
        self._sql: dict[Any, tuple[str, list[tuple[str, Any]]]] = {}

    def select(self, equal: Mapping[str, Any], order: str | None, descending: bool) -> tuple[str, list[Any]]:
        """A query and its parameters. Values are matched as they are, spans as ranges, None as NULL."""
        tests = tuple((name, _ends(value)) for name, value in equal.items())
        shape = ("select", tests, order, descending)
        if shape not in self._sql:
            where = [test for name, ends in tests for test in self._tests(name, ends)]
            by = self.sa.c[order or self.key]
            statement = sa.select(self.sa).where(*where).order_by(by.desc() if descending else by, self.sa.c[self.key])
            self._compile(shape, statement)
        values: dict[str, Any] = {}
        for name, value in equal.items():
            values |= {name + "<": value.low, name + ">": value.high} if isinstance(value, Span) else {name: value}
        return self._bound(shape, values)

    def lookup(self, key: Any) -> tuple[str, list[Any]]:
        """The query for the row with a key, and its parameters."""
        if "lookup" not in self._sql:
            self._compile("lookup", sa.select(self.sa).where(self.sa.c[self.key] == sa.bindparam(self.key)))
        return self._bound("lookup", {self.key: key})

    def write(self, verb: str, values: Mapping[str, Any], key: Any = None) -> tuple[str, list[Any]]:
        """An insert, update or delete and its parameters."""
        shape = (verb, tuple(values))
        if shape not in self._sql:
            new: dict[str, Any] = {name: sa.bindparam("=" + name) for name in values}
            own = self.sa.c[self.key] == sa.bindparam(self.key)
            verbs: dict[str, sa.Executable] = {
                "insert": sa.insert(self.sa).values(new), "delete": sa.delete(self.sa).where(own),
                "update": sa.update(self.sa).where(own).values(new),
            }
            self._compile(shape, verbs[verb])
        return self._bound(shape, {self.key: key, **{"=" + name: value for name, value in values.items()}})

    def matches(self) -> str:
        """The query for the rows that have a phrase, each with its rank among them."""
        index = quoted(f"{self.name}_fts")
        return f"SELECT rowid, rank FROM {index} WHERE {index} MATCH ?"

    def size(self) -> str:
        """The query for the number of rows."""
        return f"SELECT count(*) FROM {quoted(self.name)}"

    def among(self, equal: Mapping[str, Any]) -> str:
        """The query for rows by a JSON list of rowids and the values of `equal`, ordered by key."""
        also = "".join(f" AND {quoted(name)} IS ?" for name in equal)
        return f"{self.pick} IN (SELECT value FROM json_each(?)){also} ORDER BY {quoted(self.key)}"

    def load(self, values: Sequence[Any]) -> Any:
        """Stored values as a read-only row."""
        if self._decode:
            values = list(values)
            for i, process in self._decode:
                values[i] = process(values[i])
        return self.row._make(values)

    def shown(self, row: Any) -> dict[str, Any]:
        """A row as agents see it."""
        return self.model.shown(row)

    def digest(self, values: Sequence[Any]) -> bytes:
        """The hash of stored values, whatever their spelling."""
        parts = [canonical(value) for value in values]
        for i in self._spelled:
            parts[i] = "null" if values[i] is None else respell(values[i])
        return hashlib.sha256(",".join(parts).encode()).digest()

    def ddl(self) -> Iterator[str]:
        """Table, indexes, and triggers that mark changed rows and keep the search index, whoever writes."""
        yield str(sa.schema.CreateTable(self.sa).compile(dialect=ENGINE.dialect))
        for index in sorted(self.sa.indexes, key=lambda one: str(one.name)):
            yield str(sa.schema.CreateIndex(index).compile(dialect=ENGINE.dialect))
        mark, add, drop = f"INSERT INTO _dirty VALUES ({self.number}, %s.rowid);", "", ""
        t, fts, on_text, on_insert, on_update, on_delete = (
            quoted(self.name + suffix) for suffix in ("", "_fts", "_text", "_insert", "_update", "_delete")
        )
        if weights := self.model.searched:
            names, new, old = (", ".join(form % quoted(n) for n in weights) for form in ("%s", "spaced(new.%s)", "spaced(old.%s)"))
            yield f"CREATE VIRTUAL TABLE {fts} USING fts5({names}, content='', tokenize='porter unicode61 remove_diacritics 2')"
            rank = ", ".join(f"{weight:g}" for weight in weights.values())
            yield f"INSERT INTO {fts}({fts}, rank) VALUES ('rank', 'bm25({rank})')"
            add = f"INSERT INTO {fts}(rowid, {names}) VALUES (new.rowid, {new});"
            drop = f"INSERT INTO {fts}({fts}, rowid, {names}) VALUES ('delete', old.rowid, {old});"
            yield f"CREATE TRIGGER {on_text} AFTER UPDATE OF {quoted(self.key)}, {names} ON {t} BEGIN {drop} {add} END"
        yield f"CREATE TRIGGER {on_insert} AFTER INSERT ON {t} BEGIN {mark % 'new'} {add} END"
        yield f"CREATE TRIGGER {on_update} AFTER UPDATE ON {t} BEGIN {mark % 'old'} {mark % 'new'} END"
        yield f"CREATE TRIGGER {on_delete} AFTER DELETE ON {t} BEGIN {mark % 'old'} {drop} END"

    def _tests(self, name: str, ends: tuple[bool, ...]) -> list[Any]:
        column = self.sa.c[name]
        if not ends:
            return [column.is_not_distinct_from(sa.bindparam(name))]
        low, high = ends
        return [column >= sa.bindparam(name + "<")] * low + [column <= sa.bindparam(name + ">")] * high

    def _bound(self, shape: Any, values: Mapping[str, Any]) -> tuple[str, list[Any]]:
        """A compiled statement, and values by parameter as SQLite stores them."""
        text, parameters = self._sql[shape]
        return text, [values[name] if process is None else process(values[name]) for name, process in parameters]

    def _compile(self, shape: Any, statement: Any) -> None:
        """Parameters are columns; `=name` is a new value, `name<` and `name>` are the ends of a span."""
        compiled = statement.compile(dialect=ENGINE.dialect)
        self._sql[shape] = str(compiled), [(name, self._encode.get(name.strip("=<>"))) for name in compiled.positiontup]


def _ends(value: Any) -> tuple[bool, ...]:
    """Which ends of a span are closed; nothing for a plain value."""
    return (value.low is not None, value.high is not None) if isinstance(value, Span) else ()
