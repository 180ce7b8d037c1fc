"""What an author may write as a service or a record: every SQL keyword as a column, and one line for each mistake."""

import datetime
import enum
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from cowork_gym.core.errors import PackageError, UserError
from cowork_gym.envs.world import World
from cowork_gym.mock_services.kit import Effect, Field, Json, Record, Service, tool
from cowork_gym.mock_services.kit.store import Moment

DAY = datetime.date(2026, 1, 5)
KEYWORDS = """
abort action add all alter analyze attach begin between by cascade case cast check collate column commit conflict constraint create
cross current_date database default deferrable delete desc detach distinct do drop each end escape exclude exists explain fail filter
first foreign full generated glob group groups having ignore immediate index indexed initially inner insert instead intersect into isnull
join key last left like match materialized natural no nothing notnull null nulls of offset on others outer over partition plan pragma preceding
primary query range recursive references reindex release rename replace restrict returning right rollback row rows savepoint select set table
temp then ties to transaction trigger unbounded union unique update using vacuum values view virtual when where window without model self
"""


class Colour(enum.Enum):
    """No column type."""

    RED = "red"


def _record(key: Any = "id", table_name: Any = "things", attributes: Any = None, **columns: Any) -> type[Record]:
    hints = {key: str, **{name: one[0] if isinstance(one, tuple) else one for name, one in columns.items()}}
    fields = {name: one[1] for name, one in columns.items() if isinstance(one, tuple)}
    space = {"__module__": __name__, "__annotations__": hints, "__tablename__": table_name, key: Field(primary_key=True)}
    return type(Record)("Thing", (Record,), {**space, **fields, **(attributes or {})}, table=True)


def _world(model: type[Record], /, **row: Any) -> World:
    service = type("Shop", (Service,), {"name": "shop", "tables": [model]})
    return World.open([service], {"shop": {model.collection: [row]}} if row else {}, start=DAY)


@pytest.mark.parametrize("word", KEYWORDS.split())
def test_a_keyword_is_a_column_like_any_other(word: str) -> None:
    model = _record(word, table_name="my-shop things", attributes={"searched": {word: 1.0}}, note=str | None)
    world = _world(model, **{word: "steel door", "note": "a"})
    with world.blueprint.reader.transaction(Moment(world.blueprint.clock, 1, 0)) as store:
        assert [getattr(row, word) for row in store.find(model, **{word: "steel door"})] == ["steel door"]
        assert store.search(model, "door", **{word: "steel door"}) and not store.search(model, "window")
        store.update(model, "steel door", **{word: "oak window"})
        store.insert(model, **{word: "lamp", "note": None})
        assert [getattr(row, word) for row in store.search(model, "window")] == ["oak window"]
        store.delete(model, "lamp")
    assert list(world.blueprint.reader.rows(world.blueprint.tables[model])) == ["oak window"]


@pytest.mark.parametrize("kind", [
    datetime.date, datetime.datetime, datetime.time, datetime.timedelta, bytes, uuid.UUID, Decimal, Colour, Path, datetime.date | None, Path | None,
])
def test_a_type_that_sqlite_cannot_keep_is_refused(kind: Any) -> None:
    with pytest.raises(UserError, match=r"Thing\.due: SQLite cannot keep .*; a column is str, int, float or bool; .*sa_type=Exact"):
        _world(_record(due=kind))


def test_types_that_are_kept() -> None:
    model = _record(a=int, b=float | None, c=bool, d=(list[str], Field(sa_type=Json)), e=str | None)
    row = {"id": "x", "a": 1, "b": 0.5, "c": True, "d": ["y"], "e": "z"}
    assert _world(model, **row).rows("shop.things") == {"x": row}


@pytest.mark.parametrize("name", ["order", "descending", "limit", "rowid", "ROWID"])
def test_a_name_that_is_taken_is_refused(name: str) -> None:
    with pytest.raises(UserError, match=rf"Thing\.{name}: this name is .*`wire`"):
        _world(_record(**{name: str}))


def test_a_taken_name_can_be_kept_by_wire() -> None:
    model = _record(order_=str, attributes={"wire": {"order_": "order"}})
    assert _world(model, id="x", order="A-1").rows("shop.things") == {"x": {"id": "x", "order": "A-1"}}


@pytest.mark.parametrize(("model", "problem"), [
    (_record(table_name="_dirty"), "may not be called '_dirty'"),
    (_record(table_name="sqlite_things"), "may not be called 'sqlite_things'"),
    (_record(other=(str, Field(primary_key=True))), "one primary key, not id, other"),
    (_record(rank=str, attributes={"searched": {"rank": 1.0}}), "cannot be searched"),
    (_record(attributes={"searched": {"idd": 1.0}}), r"Thing\.searched: there is no column 'idd', did you mean 'id'\?"),
    (_record(attributes={"wire": {"sender": "from"}}), r"Thing\.wire: there is no column 'sender'"),
])
def test_a_record_that_can_be_no_table_is_refused(model: type[Record], problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        _world(model)


class Untabled(Record):
    """Lacks table=True."""

    id: str


@pytest.mark.parametrize(("part", "value", "problem"), [
    ("name", 5, "X.name: should be a text"), ("name", lambda self: None, "X.name: should be a text"),
    ("tables", None, "X.tables: should be a list of record classes, not None"), ("tables", Untabled, "not Untabled"),
    ("tables", [Untabled], r"Untabled is no table; write class Untabled\(Record, table=True\)"),
    ("tables", [BaseModel], "BaseModel is no record class"),
])
def test_a_class_that_is_no_service_is_refused(part: str, value: Any, problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        type("X", (Service,), {"name": "x", part: value})


@pytest.mark.parametrize("effect", ["reed", "read", None, lambda self: None])
def test_a_tool_has_an_effect(effect: Any) -> None:
    with pytest.raises(UserError, match=r"marked by @tool\(Effect.READ\)"):
        tool(effect)


def test_a_tool_that_cannot_be_read_is_told_in_one_line() -> None:
    class Odd(Service):
        """Odd."""

        name = "odd"

        @tool(Effect.READ)
        def look(self, at: "Nowhere") -> str:  # type: ignore[name-defined]  # noqa: F821
            """Look."""
            return str(at)

    with pytest.raises(UserError, match=r"Odd\.look: name 'Nowhere' is not defined"):
        World.open([Odd], start=DAY)


@pytest.mark.parametrize("currency", [826, ["GBP"], {"code": "GBP"}])
def test_a_currency_is_a_text(currency: Any) -> None:
    model = _record(amount=int, currency=str | None, attributes={"money": {"amount": "currency"}})
    with pytest.raises(PackageError, match=r"things\[0\]: currency: should be a text such as EUR"):
        _world(model, id="x", amount=5, currency=currency)
