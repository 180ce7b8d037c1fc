"""What an author may write as a service or a record. A mistake is told in one line, wherever the class is first used."""

import ipaddress
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any, get_args

import sqlalchemy as sa

from cowork_gym.core.errors import UserError, nearest
from cowork_gym.mock_services.kit.records import Record

__all__ = ["check_record", "check_service_class"]

_TAKEN = {
    **dict.fromkeys(("order", "descending", "limit"), "is an argument of the store's methods"),
    "rowid": "is SQLite's own",
    **dict.fromkeys(Record.__annotations__.keys() - Record.model_fields.keys(), "is a part of Record"),
}
_KEPT = (sa.String, sa.Integer, sa.Float, sa.Boolean)
_AS_TEXT = (PurePath, ipaddress._IPAddressBase)
"""Types that SQLModel takes for text and SQLite does not."""
_ADVICE = "a column is str, int, float or bool; write days and times as ISO text, decimals with sa_type=Exact, other JSON with sa_type=Json"


def check_service_class(service: Any) -> None:
    """See that the name and the tables of a service class, where it gives them, are what they should be.

    Raises:
        UserError: They are not.
    """
    own, title = vars(service), service.__name__
    if "name" in own and not isinstance(own["name"], str):
        raise UserError(f"{title}.name: should be a text, which is the prefix of its tools, not {_said(own['name'])}")
    tables = own.get("tables", ())
    if not isinstance(tables, list | tuple):
        raise UserError(f"{title}.tables: should be a list of record classes, not {_said(tables)}")
    for one in tables:
        if not (isinstance(one, type) and issubclass(one, Record)):
            raise UserError(f"{title}.tables: {_said(one)} is no record class; write class …(Record, table=True)")
        if not hasattr(one, "__table__"):
            raise UserError(f"{title}.tables: {one.__name__} is no table; write class {one.__name__}(Record, table=True)")


def check_record(model: type[Record]) -> None:
    """See that a record class can be a table: one key, names that are free, and types that SQLite keeps exactly.

    Raises:
        UserError: It cannot; one line names record and column.
    """
    table: sa.Table = model.__table__  # type: ignore[attr-defined]
    title = model.__name__
    if table.name.lower().startswith(("_", "sqlite_")):
        raise UserError(f"{title}: an SQL table may not be called {table.name!r}; set __tablename__")
    if len(table.primary_key.columns) != 1:
        raise UserError(f"{title}: a record has one primary key, not {', '.join(table.primary_key.columns.keys())}")
    for name, column in table.columns.items():
        if reason := _TAKEN.get(name.lower()):
            raise UserError(f"{title}.{name}: this name {reason}; take another, and keep it for agents and fixtures by `wire`")
        if not _is_kept(column.type, model.model_fields[name].annotation):
            raise UserError(f"{title}.{name}: SQLite cannot keep {_type_name(model.model_fields[name].annotation)}; {_ADVICE}")
    if "rank" in model.searched:
        raise UserError(f"{title}.rank: a column of this name cannot be searched; take another, and keep it for agents and fixtures by `wire`")
    for part, names in _named(model):
        if unknown := [one for one in names if one not in table.columns]:
            raise UserError(f"{title}.{part}: there is no column {unknown[0]!r}, {nearest(unknown[0], table.columns.keys())}")


def _named(model: type[Record]) -> Iterable[tuple[str, Iterable[str]]]:
    """The columns that the parts of a record class name."""
    return ("wire", model.wire), ("searched", model.searched), ("money", [*model.money, *model.money.values()]), ("stamps", model.stamps)


def _is_kept(kind: Any, hint: Any) -> bool:
    """Whether what comes out of a column is what went in."""
    inner = kind.impl if isinstance(kind, sa.TypeDecorator) else kind
    of_author = inner is not kind and isinstance(inner, sa.LargeBinary)
    as_text = any(isinstance(one, type) and issubclass(one, _AS_TEXT) for one in (hint, *get_args(hint)))
    return of_author or (isinstance(inner, _KEPT) and not isinstance(inner, sa.Enum) and not as_text)


def _type_name(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint)


def _said(value: Any) -> str:
    return str(getattr(value, "__name__", None) or repr(value)[:60])
