"""The world: the live services of one episode, with their state, files, clock, ids and ledger."""

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

from cowork_gym.core.canonical import check_id, encode, plain
from cowork_gym.core.clock import Clock
from cowork_gym.core.errors import Blame, ErrorKind, Fault, ToolError, UserError, nearest, told
from cowork_gym.core.ledger import ENVIRONMENT, Effect, Ledger, Link
from cowork_gym.core.snapshot import Changes, Snapshot
from cowork_gym.core.task import WorldChange
from cowork_gym.envs.blueprint import Blueprint, Permitted, Records
from cowork_gym.envs.database import Database, differences, state_hash
from cowork_gym.envs.faults import LOST, meet
from cowork_gym.envs.happenings import happen, table_of
from cowork_gym.mock_services.kit.files import File
from cowork_gym.mock_services.kit.service import Service
from cowork_gym.mock_services.kit.store import Moment, Store

__all__ = ["Outcome", "World"]


class Outcome(NamedTuple):
    """What a call came to."""

    status: int
    """200, or the HTTP status of the refusal."""
    text: str
    """What the agent reads: JSON."""
    value: Any
    """The same as a value."""
    sequence: int | None
    """The ledger entry; None when the call was refused at the door."""
    replayed: bool = False
    """Whether the dispatch id came again, so that nothing was executed."""


class World:
    """The live services of one episode. Methods may be called from any thread; those of one world take turns.

    Args:
        blueprint: Services, tables and first state.
        seed: From which the ids of new records are made.
        snapshot: Where to begin, seed included; None for the blueprint's first state.

    Raises:
        UserError: The snapshot is of a world of another blueprint.
    """

    def __init__(self, blueprint: Blueprint, seed: int = 0, snapshot: Snapshot | None = None) -> None:
        if snapshot is not None:
            seed = _of(snapshot, blueprint).seed
        self.blueprint, self.seed = blueprint, seed
        self._lock = threading.RLock()
        self._base = snapshot or blueprint.start
        self._database: Database | None = None
        self._ledger, self._clock = self._base.ledger, _ahead(blueprint, self._base)
        self._dispatches = self._ledger.dispatches()  # so that the chain is walked for a retry only

    @classmethod
    def open(
        cls, services: Iterable[type[Service]], records: Records | None = None, files: Mapping[str, bytes] | None = None,
        *, start: date = date(2026, 1, 5), seed: int = 0, tools: Iterable[str] | None = None,
    ) -> "World":
        """A world of its own, without a task: for notebooks and tests. See `Blueprint.build`."""
        return cls(Blueprint.build(services, records, files, start=start, tools=tools), seed)

    @property
    def ledger(self) -> Ledger:
        """The audit ledger so far."""
        return self._ledger

    @property
    def now(self) -> str:
        """Simulated time, ISO 8601."""
        return self._clock.stamp(len(self._ledger))

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The permitted tools in OpenAI's form."""
        return [door.tool.schema for door in self.blueprint.tools.values()]

    def call(self, tool: str, arguments: Mapping[str, Any], dispatch: str | None = None) -> Outcome:
        """Call a tool.

        Args:
            tool: Its name, such as `crm_get_customer`.
            arguments: As the agent gave them; checked strictly.
            dispatch: An id. One that comes again with equal tool and arguments returns the recorded result and executes nothing.

        Returns:
            The outcome. A refusal is an outcome too; its status and text say why.

        Raises:
            Fault: A handler failed by a defect of its own. The state is as it was before the call.
        """
        with self._lock:
            self._require_idle()
            try:
                door = self._permit(tool)
                check_id(dispatch, "the dispatch id")
                arguments = plain(arguments, what=f"{tool}: the arguments")
                if dispatch in self._dispatches and (link := self._ledger.find(dispatch)):
                    return _replay(link, tool, arguments)
                given = door.tool.validate(arguments)
            except ToolError as error:
                return Outcome(error.kind.status, encode(error.outcome()), error.outcome(), None)
            return self._execute(door, arguments, given, dispatch or f"dispatch_{len(self._ledger) + 1}")

    def move_on(self, until: datetime, changes: Iterable[WorldChange], *, foreseen: bool = False) -> None:
        """Let the world move on by itself: the clock goes to a moment, unless it is past it, and the changes come about.

        Each change has its entry in the ledger, whose actor is the environment, and which has no dispatch.

        Args:
            until: The moment.
            changes: What happens, in order.
            foreseen: Whether all of it fits the world as it would be had nobody done anything. What the agent's work has made
                impossible then does nothing.

        Raises:
            Fault: A change does not fit its table. Nothing has changed then.
        """
        with self._lock:
            self._require_idle()
            clock, length = self._clock, len(self._ledger)
            clock = Clock(clock.start + max(timedelta(0), until - clock.at(length)), clock.tick)
            ledger = self._ledger
            with self._open().transaction(Moment(clock, length + 1, self.seed)) as store:
                for change in changes:
                    model, _ = table_of(self.blueprint.tables, change.table)
                    record = happen(store, model, change, foreseen=foreseen)
                    arguments = {"table": change.table, "key": change.key, "fields": change.fields}
                    ledger = ledger.append(
                        time=clock.stamp(len(ledger) + 1), dispatch="", service=change.table.partition(".")[0],
                        tool=f"{ENVIRONMENT}_{change.op}", effect=Effect.WRITE, arguments=plain(arguments, what="the change"), status=200,
                        outcome=record, audit=None, record=None, refusal=None, actor=ENVIRONMENT,
                    )
            self._clock, self._ledger = clock, ledger

    def snapshot(self) -> Snapshot:
        """This moment as a value: state, files, id counters and the ledger's head."""
        with self._lock:
            self._require_idle()
            if self._database is not None:
                image, ahead = self._database.image(), self._clock.start - self.blueprint.clock.start
                known = (self._base.ledger, self._base.seed, self._base.ahead)
                if image is not self._base.image or self._ledger is not known[0] or (self.seed, ahead) != known[1:]:
                    self._base = Snapshot(image, self._database.known(), self._ledger, self.blueprint.origin, self.seed, ahead)
            elif self.seed != self._base.seed or self._ledger is not self._base.ledger:  # a fault by plan is met before anything is opened
                self._base = replace(self._base, seed=self.seed, ledger=self._ledger)
            return self._base

    def restore(self, snapshot: Snapshot) -> None:
        """Become the snapshot. The old database is closed, never refilled; the next call opens a new one.

        Raises:
            UserError: The snapshot is of a world of another blueprint.
        """
        _of(snapshot, self.blueprint)
        with self._lock:
            self._require_idle()
            self._drop()
            self._base, self._ledger, self.seed, self._clock = snapshot, snapshot.ledger, snapshot.seed, _ahead(self.blueprint, snapshot)
            self._dispatches = self._ledger.dispatches()

    def fork(self, n: int = 1) -> list["World"]:
        """`n` worlds that begin here and go their own ways. Each opens its database when it is first called."""
        here = self.snapshot()
        return [World(self.blueprint, snapshot=here) for _ in range(n)]

    def fingerprint(self) -> str:
        """The hash of all rows and files as values, whatever their order and history. The ledger is no part of it."""
        with self._lock:
            self._require_idle()
            start = self.blueprint.start
            untouched = self._database is None and self._base.image is start.image
            return state_hash(start.digests if untouched else self._open().digests())

    def diff(self, since: Snapshot | None = None) -> Changes:
        """Every row that differs from a snapshot, by default from the first state."""
        with self._lock:
            self._require_idle()
            if since is None or since is self.blueprint.start:
                return differences(self.blueprint.reader, self._open())
            other = Database(self.blueprint.tables, since)
            try:
                return differences(other, self._open())
            finally:
                other.close()

    def rows(self, table: str) -> dict[str, dict[str, Any]]:
        """A table's records as agents see them, by key.

        Raises:
            KeyError: There is no such table.
        """
        found = next((one for one in self.blueprint.tables.values() if one.public == table), None)
        if found is None:
            raise KeyError(f"no table {table!r}, {nearest(table, (one.public for one in self.blueprint.tables.values()))}")
        with self._lock:
            self._require_idle()
            return self._open().rows(found)

    def row(self, table: str, key: str) -> dict[str, Any] | None:
        """A record as agents see it, or None.

        Raises:
            UserError: There is no such table.
        """
        model, _ = table_of(self.blueprint.tables, table)
        with self._visit(writes=False) as store:
            row = store.peek(model, key)
            return None if row is None else model.shown(row)

    def read_file(self, path: str) -> bytes | None:
        """The content of a workspace file, or None."""
        with self._visit(writes=False) as store:
            row = store.peek(File, path)
            return None if row is None else row.content

    def write_file(self, path: str, content: bytes) -> None:
        """Create or replace a workspace file, outside of any tool."""
        with self._visit(writes=True) as store:
            if store.peek(File, path) is None:
                store.insert(File, path=path, content=content)
            else:
                store.update(File, path, content=content)

    def close(self) -> None:
        """Free the database. The state is kept as a snapshot, from which the world goes on when it is called again."""
        with self._lock:
            self.snapshot()
            self._drop()

    def _drop(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def _permit(self, tool: str) -> Permitted:
        door = self.blueprint.tools.get(tool) if isinstance(tool, str) else None
        if door is None:
            name = str(tool)[:80]
            raise ToolError(f"unknown tool {name!r}, {nearest(name, self.blueprint.tools)}", ErrorKind.UNKNOWN_TOOL)
        return door

    def _execute(self, door: Permitted, arguments: Mapping[str, Any], given: Mapping[str, Any], dispatch: str) -> Outcome:
        tool, moment = door.tool, self._moment(len(self._ledger) + 1)
        writable = None if tool.effect == "write" else tool.marks
        call = {
            "time": moment.stamp, "dispatch": dispatch, "service": tool.service, "tool": tool.name, "effect": tool.effect, "arguments": arguments,
        }
        fault = meet(self.blueprint.faults, tool.name, self._ledger) if self.blueprint.faults else None
        try:
            try:
                if fault is not None and not fault.after:
                    raise fault.error()
                with self._open().transaction(moment, writable) as store:
                    value = tool.function(door.service(store), **given)
                    if (store.audited is None) != (tool.audit is None):
                        raise RuntimeError("audit() must be called exactly when the tool declares a collection")
                    record = store.audited
                    ledger, outcome = self._logged(call, value, audit=tool.audit, record=record)  # what cannot be recorded is not done
                if fault is not None:
                    ledger, outcome = self._logged(call, fault.error().outcome(), audit=tool.audit, record=record, refusal=LOST)
            except ToolError as error:
                ledger, outcome = self._logged(call, error.outcome(), refusal=error.kind)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever a handler does, SystemExit included, the process that it runs in goes on
            raise Fault(Blame.ENVIRONMENT, tool.name, told(error)) from error
        self._ledger = ledger
        self._dispatches.add(dispatch)
        return outcome

    def _logged(
        self, call: Mapping[str, Any], value: Any, *, audit: str | None = None, record: Mapping[str, Any] | None = None,
        refusal: ErrorKind | None = None,
    ) -> tuple[Ledger, Outcome]:
        """The ledger with one more entry, and what the call came to."""
        text, status = encode(value), 200 if refusal is None else refusal.status
        ledger = self._ledger.append(**call, status=status, outcome=value, text=text, audit=audit, record=record, refusal=refusal)
        return ledger, Outcome(status, text, value, len(ledger))

    def _moment(self, sequence: int) -> Moment:
        return Moment(self._clock, sequence, self.seed)

    def _open(self) -> Database:
        if self._database is None:
            self._database = Database(self.blueprint.tables, self._base)
        return self._database

    @contextmanager
    def _visit(self, *, writes: bool) -> Iterator[Store]:
        with self._lock:
            self._require_idle()
            with self._open().transaction(self._moment(len(self._ledger)), None if writes else frozenset()) as store:
                yield store

    def _require_idle(self) -> None:
        if self._database is not None and not self._database.idle:
            raise RuntimeError("a handler may not call its own world")


def _ahead(blueprint: Blueprint, snapshot: Snapshot) -> Clock:
    """The clock of a moment. Most have the blueprint's own."""
    return Clock(blueprint.clock.start + snapshot.ahead, blueprint.clock.tick) if snapshot.ahead else blueprint.clock


def _of(snapshot: Snapshot, blueprint: Blueprint) -> Snapshot:
    if snapshot.origin != blueprint.origin:
        raise UserError("the snapshot is of a world of another blueprint")
    return snapshot


def _replay(link: Link, tool: str, arguments: Mapping[str, Any]) -> Outcome:
    """The recorded result of a call that comes again.

    Raises:
        ToolError: The id was used for another call.
    """
    if not link.repeats(tool, arguments):
        raise ToolError(f"the dispatch id {link.dispatch!r} was used for another call", ErrorKind.CONFLICT)
    entry = link.entry()
    return Outcome(entry.status, encode(entry.outcome), entry.outcome, link.sequence, replayed=True)
