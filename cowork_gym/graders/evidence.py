"""What a grader may look at: the starting rows, what changed, and what was called and said. Nothing live."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from cowork_gym.core.episode import Dispatch
from cowork_gym.core.ledger import AGENT, Entry, Ledger
from cowork_gym.core.snapshot import Change

__all__ = ["FILES", "Evidence", "Heard", "Row", "label"]

FILES = "workspace.files"
"""The table of the workspace: its keys are paths."""

Row = Mapping[str, Any]
"""A record as agents see it."""


def label(table: str, key: str) -> str:
    """How a check cites a row: `row:helpdesk.tickets/T-1`, or `file:report.csv`."""
    return f"file:{key}" if table == FILES else f"row:{table}/{key}"


class Heard(NamedTuple):
    """A fact that the user told."""

    fact: str
    sequence: int
    """How many entries the ledger had then."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """The sealed record of one episode, as values."""

    start: Mapping[str, Mapping[str, Row]]
    """The starting rows, by table and key. It may read tables only when they are asked for."""
    changes: tuple[Change, ...] = ()
    """Every row that differs between the first and the last state."""
    ledger: Ledger = field(default_factory=Ledger)
    dispatches: tuple[Dispatch, ...] = ()
    answer: str | None = None
    """The final answer; None when the episode was cut off before one."""
    marks: frozenset[tuple[str, str]] = frozenset()
    """Tables and columns that reading may set."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other names of audit collections: `gmail.sent` for `gmail.sent_messages`."""
    heard: tuple[Heard, ...] = ()
    """What the user told, in order."""
    given: tuple[tuple[Change, ...], ...] = ()
    """What differs from the first state after each move of the world, if nobody does anything."""
    closed: tuple["Evidence", ...] = ()
    """The evidence as it was when each earlier part of the task was closed."""
    pristine: bool = False
    """Whether nobody has done anything."""

    def untouched(self) -> "Evidence":
        """The same world without anyone's calling or saying anything: all moves of the world included."""
        given = self.given[-1] if self.given else ()
        return replace(self, changes=given, ledger=Ledger(), dispatches=(), answer=None, heard=(), closed=(), pristine=True)

    def at(self, stage: int) -> "Evidence | None":
        """The evidence as it was at the end of a part of the task, from 1; None when that part was never reached."""
        if self.pristine:
            return replace(self, changes=self.given[stage - 2] if stage > 1 else ())
        if stage <= len(self.closed):
            return self.closed[stage - 1]
        return self if stage == len(self.closed) + 1 else None

    @cached_property
    def own(self) -> tuple[Change, ...]:
        """The changes that are the agent's doing: what would have changed anyway is taken for where they started."""
        if self.pristine:
            return ()
        if not self.closed or not (given := self.given[len(self.closed) - 1]):
            return self.changes
        moved = {(one.table, one.key): one.after for one in given}
        changed = {(one.table, one.key): one for one in self.changes}
        own = []
        for table, key in sorted({*moved, *changed}):
            change = changed.get((table, key))
            if (table, key) in moved:
                before, after = moved[table, key], self.row(table, key)
                change = None if before == after else Change(table, key, before, after)
            own += [] if change is None else [change]
        return tuple(own)

    def row(self, table: str, key: str) -> Row | None:
        """A record in the final state, or None when there is none."""
        change = self._changed.get(table, {}).get(key)
        return change.after if change else self.start.get(table, {}).get(key)

    def rows(self, table: str) -> Mapping[str, Row]:
        """All records of a table in the final state, by key."""
        final = dict(self.start.get(table, {}))
        for key, change in self._changed.get(table, {}).items():
            if change.after is None:
                final.pop(key, None)
            else:
                final[key] = change.after
        return final

    def file(self, path: str) -> str | None:
        """The text of a file in the final state; None when there is no such file, or when it is not text."""
        content = (self.row(FILES, path) or {}).get("content")
        return content if isinstance(content, str) else None

    def calls(self, tool: str) -> tuple[Entry, ...]:
        """The calls of a tool that did their work, in order."""
        return tuple(entry for entry in self.successes if entry.tool == tool)

    def audited(self, collection: str) -> tuple[tuple[Entry, Row], ...]:
        """The records of an audit collection, each with the call that wrote it."""
        service, _, name = self.aliases.get(collection, collection).partition(".")
        return tuple(
            (entry, entry.record) for entry in self.successes
            if entry.record is not None and entry.service == service and entry.audit == name
        )

    @cached_property
    def successes(self) -> tuple[Entry, ...]:
        """The agent's calls that did their work, in order; the answer of one of them may have been lost."""
        return tuple(entry for entry in self.ledger.entries if entry.done and entry.actor == AGENT)

    @cached_property
    def _changed(self) -> Mapping[str, Mapping[str, Change]]:
        tables: dict[str, dict[str, Change]] = {}
        for change in self.changes:
            tables.setdefault(change.table, {})[change.key] = change
        return tables
