"""The blueprint of a world: its services, tables and first state. Built once, opened as often as one likes."""

import sqlite3
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from pydantic import ValidationError

from cowork_gym.core.clock import Clock
from cowork_gym.core.errors import PackageError, ToolError, nearest
from cowork_gym.core.ledger import Ledger
from cowork_gym.core.snapshot import Changes, Snapshot
from cowork_gym.core.task import PlannedFault
from cowork_gym.envs.database import EMPTY, Database, connect, state_hash
from cowork_gym.envs.start_rows import StartRows
from cowork_gym.mock_services.kit.files import File
from cowork_gym.mock_services.kit.records import Record
from cowork_gym.mock_services.kit.service import Service
from cowork_gym.mock_services.kit.store import Moment
from cowork_gym.mock_services.kit.tables import Table
from cowork_gym.mock_services.kit.tools import Tool

__all__ = ["Blueprint", "Permitted", "Records"]

Records = Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]]
"""Fixtures by service and collection."""


class Permitted(NamedTuple):
    """A tool and the service that runs it."""

    tool: Tool
    service: type[Service]


@dataclass(frozen=True)
class Blueprint:
    """What all worlds of one task share."""

    services: tuple[type[Service], ...]
    tables: Mapping[type[Record], Table]
    tools: Mapping[str, Permitted]
    """The permitted tools, by name."""
    clock: Clock
    start: Snapshot
    faults: Mapping[tuple[str, int], str] = field(default_factory=dict)
    """What kind of fault a tool's n-th executed call meets, by tool and n."""
    given: tuple[Changes, ...] = ()
    """What differs from the first state after each move of the world, if nobody does anything."""
    _readers: threading.local = field(default_factory=threading.local, init=False, repr=False, compare=False)

    @property
    def origin(self) -> str:
        """What tells its snapshots from those of other blueprints."""
        return self.start.origin

    @classmethod
    def build(
        cls, services: Iterable[type[Service]], records: Records | None = None, files: Mapping[str, bytes] | None = None,
        *, start: date, tools: Iterable[str] | None = None, faults: Iterable[PlannedFault] = (),
    ) -> "Blueprint":
        """Lay out the tables and fill them.

        Args:
            services: The service classes.
            records: Fixtures by service and collection.
            files: The workspace, by path.
            start: The simulated day on which episodes begin.
            tools: The permitted tools; None permits all.
            faults: Calls that fail by plan.

        Raises:
            PackageError: A fixture names an unknown collection, misses a field, has a wrong type or repeats an id; or a tool is unknown.
        """
        services = tuple(services)
        tables, image = _lay_out(services)
        doors = {name: Permitted(tool, service) for service in services for name, tool in service.tools().items()}
        permitted = doors if tools is None else {name: _choose(doors, name) for name in tools}
        clock = Clock.on(start)
        snapshot = _fill(tables, image, _checked(services, records or {}), files or {}, clock)
        return cls(services, tables, permitted, clock, snapshot, {(one.tool, one.call): one.kind for one in faults})

    @property
    def reader(self) -> Database:
        """The first state, open for reading; one for each thread, since worlds of one task may play in several."""
        readers = self._readers
        if not hasattr(readers, "database"):
            readers.database = Database(self.tables, self.start)
        database: Database = readers.database
        return database

    @cached_property
    def start_rows(self) -> StartRows:
        """The first state's rows by table and key."""
        return StartRows(self.tables.values(), lambda: self.reader)

    @cached_property
    def marks(self) -> frozenset[tuple[str, str]]:
        """The (table, field) pairs that reading may set, and the stamps that change with whatever else is written."""
        free = set()
        for service in self.services:
            marked = frozenset[str]().union(*(tool.marks for tool in service.tools().values()))
            for model in service.tables:
                free |= {(self.tables[model].public, model.wire.get(one, one)) for one in (marked & model.model_fields.keys()) | model.stamps}
        return frozenset(free)

    @cached_property
    def aliases(self) -> Mapping[str, str]:
        """Audit collections' other names, such as `gmail.sent` → `gmail.sent_messages`."""
        return {f"{one.name}.{alias}": f"{one.name}.{real}" for one in self.services for alias, real in one.aliases.items()}


def _choose(doors: Mapping[str, Permitted], name: str) -> Permitted:
    if name not in doors:
        raise PackageError("task.yaml", "tools", f"unknown tool {name!r}, {nearest(name, doors)}")
    return doors[name]


@lru_cache(maxsize=64)
def _lay_out(services: tuple[type[Service], ...]) -> tuple[Mapping[type[Record], Table], bytes]:
    """The tables of all services and an image of them without rows, for all tasks that use these services; the workspace's files are the last one."""
    models = [(service.name, model) for service in services for model in service.tables] + [("workspace", File)]
    tables: dict[type[Record], Table] = {}
    owners: dict[str, str] = {}
    for number, (owner, model) in enumerate(models):
        table = Table(model, number, f"{owner}.{model.collection}")
        if table.name in owners:
            raise PackageError("services", table.public, f"the SQL table {table.name!r} is also that of {owners[table.name]}; set __tablename__")
        owners[table.name] = table.public
        tables[model] = table
    with closing(connect()) as connection:
        _create(connection, tables)
        return tables, connection.serialize()


def _checked(services: Sequence[type[Service]], records: Records) -> dict[type[Record], list[Mapping[str, Any]]]:
    """Fixtures as column values, by record class."""
    by_name = {service.name: service for service in services}
    checked: dict[type[Record], list[Mapping[str, Any]]] = {}
    for name, collections in records.items():
        if name not in by_name:
            raise PackageError(f"world/{name}.yaml", "", f"the task has no service {name!r}, {nearest(name, by_name)}")
        models = {model.collection: model for model in by_name[name].tables}
        for collection, fixtures in collections.items():
            if collection not in models:
                raise PackageError(f"world/{name}.yaml", collection, f"unknown collection, {nearest(collection, models)}")
            checked[models[collection]] = _rows(f"world/{name}.yaml", models[collection], fixtures)
    return checked


def _rows(path: str, model: type[Record], fixtures: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    rows: dict[Any, Mapping[str, Any]] = {}
    key = model.key_column()
    for at, fixture in enumerate(fixtures):
        where = f"{model.collection}[{at}]"
        if not isinstance(fixture, Mapping):
            raise PackageError(path, where, f"a record is a mapping of fields, not {type(fixture).__name__}")
        try:
            checked = model.model_validate(model.from_fixture(fixture))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            column, *inside = map(str, first["loc"])
            raise PackageError(path, ".".join([where, model.wire.get(column, column), *inside]), first["msg"]) from None
        except (ValueError, TypeError) as error:
            raise PackageError(path, where, str(error)) from None
        values = {name: getattr(checked, name) for name in model.model_fields}
        if values[key] in rows:
            raise PackageError(path, f"{where}.{model.wire.get(key, key)}", f"duplicate id {values[key]!r}")
        rows[values[key]] = values
    return list(rows.values())


def _fill(
    tables: Mapping[type[Record], Table], image: bytes, rows: Mapping[type[Record], Sequence[Mapping[str, Any]]], files: Mapping[str, bytes],
    clock: Clock,
) -> Snapshot:
    database = Database(tables, Snapshot(image, {table.name: EMPTY for table in tables.values()}, Ledger(), origin=""))
    with database.transaction(Moment(clock, 0, 0)) as store:
        for model, records in rows.items():
            for values in records:
                try:
                    store.insert(model, **values)
                except ToolError as error:  # a key that SQL takes for equal to another's
                    raise PackageError(f"world/{tables[model].public.partition('.')[0]}.yaml", model.collection, str(error)) from None
        for path, content in files.items():
            store.insert(File, path=path, content=content)
    digests = database.digests()
    return Snapshot(database.image(), digests, Ledger(), origin=state_hash(digests))


def _create(connection: sqlite3.Connection, tables: Mapping[type[Record], Table]) -> None:
    connection.execute("CREATE TABLE _dirty (tab INTEGER, row INTEGER)")
    connection.execute("CREATE TABLE _counters (prefix TEXT PRIMARY KEY, number INTEGER NOT NULL)")
    for table in tables.values():
        for statement in table.ddl():
            connection.execute(statement)
