"""Records: what a row of a service is, as a table, as its author writes it, and as agents see it."""

import re
from collections.abc import Mapping
from typing import Any, ClassVar, TypeAlias, TypeVar, cast

import sqlalchemy as sa
from pydantic import ConfigDict
from sqlalchemy.orm import registry
from sqlmodel import Field, SQLModel

from cowork_gym.mock_services.kit.columns import Json
from cowork_gym.mock_services.kit.money import from_minor, to_minor

__all__ = ["Field", "Record", "View", "summary"]

View: TypeAlias = dict[str, Any]
"""A record as agents see it: its columns under their wire names, and whatever else its fixture had."""
Summary = TypeVar("Summary")


class Record(SQLModel):
    """A row of a service.

    Subclass it with `table=True` and one primary key. Fields that a fixture has and the class does not are kept in `extra`
    and shown to agents as if they were columns.

    The collection is the class name in the plural (`Ticket` → `tickets`); set `collection` where that is not its plural.
    """

    model_config = ConfigDict(extra="forbid")  # type: ignore[assignment]

    collection: ClassVar[str]
    """The collection's name in fixtures and checks."""
    wire: ClassVar[Mapping[str, str]] = {}
    """Column → the name under which fixtures and agents know it, where the two differ (`sender` → `from`)."""
    searched: ClassVar[Mapping[str, float]] = {}
    """Columns that full-text search covers, with their weight in the ranking."""
    money: ClassVar[Mapping[str, str]] = {}
    """Columns that hold minor units, each with the column that names its currency (`amount` → `currency`)."""
    stamps: ClassVar[frozenset[str]] = frozenset()
    """Columns that say when the record was last written. They change with the others, so no check need allow them."""

    extra: dict[str, Any] | None = Field(default=None, sa_type=Json)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """A registry of its own for each table, so that a notebook cell may be run twice."""
        if "collection" not in cls.__dict__:
            cls.collection = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower() + "s"
        if "__tablename__" not in cls.__dict__:
            cls.__tablename__ = f"{cls.__module__.rpartition('.')[2].strip('_')}_{cls.collection}"
        own = registry()
        cls._sa_registry, cls.metadata = own, own.metadata
        super().__init_subclass__(**kwargs)

    @classmethod
    def from_fixture(cls, fixture: Mapping[str, Any]) -> dict[str, Any]:
        """A fixture's fields as column values; unknown fields go to `extra`.

        Override it where the stored form differs from the written one.

        Raises:
            ValueError: An amount is not one, or has more decimals than its currency, or that is no text.
        """
        columns = {cls.wire.get(column, column): column for column in cls.model_fields if column != "extra"}
        known = {columns[name]: value for name, value in fixture.items() if name in columns}
        extra = {name: value for name, value in fixture.items() if name not in columns}
        for column, currency in cls.money.items():
            if known.get(column) is not None:
                unit = known.get(currency)
                if not isinstance(unit, str | None):
                    raise ValueError(f"{cls.wire.get(currency, currency)}: should be a text such as EUR, not {unit!r}")
                try:
                    known[column] = to_minor(known[column], unit or "")
                except ValueError as error:
                    raise ValueError(f"{cls.wire.get(column, column)}: {error}") from None
        return {**known, **({"extra": extra} if extra else {})}

    @classmethod
    def shown(cls, row: Any) -> View:
        """A row as agents see it: columns under their wire names, empty ones left out, unknown fixture fields included."""
        wire = cls.wire
        view = {wire.get(name, name): value for name, value in zip(row._fields, row, strict=True) if value is not None and name != "extra"}
        for column, currency in cls.money.items():
            if (minor := getattr(row, column)) is not None:
                view[wire.get(column, column)] = from_minor(minor, getattr(row, currency) or "")
        return {**view, **row.extra} if row.extra else view

    @classmethod
    def key_column(cls) -> str:
        """The primary key's column."""
        table: sa.Table = cls.__table__  # type: ignore[attr-defined]
        (column,) = table.primary_key.columns.keys()
        return str(column)


def summary(shape: type[Summary], view: Mapping[str, Any]) -> Summary:
    """The part of a record that a listing shows.

    Args:
        shape: A TypedDict; its keys are the fields to keep.
        view: The record as agents see it. A field that it lacks is left out.
    """
    return cast(Summary, {name: view[name] for name in shape.__annotations__ if name in view})
