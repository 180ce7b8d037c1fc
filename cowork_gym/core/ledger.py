"""The audit ledger: one hash-chained entry for each call that reached a service.

Links never change, so snapshots hold the head alone, forks share their past, and a restore moves the head back.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, overload

from cowork_gym.core.canonical import canonical, decode, encode
from cowork_gym.core.errors import ErrorKind
from cowork_gym.core.html import shorten, table

__all__ = ["AGENT", "ENVIRONMENT", "Effect", "Entry", "Ledger", "Link"]

AGENT = "agent"
ENVIRONMENT = "environment"
"""Who acts when the world moves on by itself."""


class Effect(StrEnum):
    """What a tool does to the world."""

    READ = "read"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class Entry:
    """One call, as the ledger tells it."""

    sequence: int
    """1 for the first call of the episode."""
    time: str
    """Simulated time, ISO 8601."""
    dispatch: str
    """The id under which the call was made; empty for what the world did by itself."""
    service: str
    tool: str
    effect: Effect
    arguments: Mapping[str, Any]
    """As the agent gave them; defaults are not filled in."""
    status: int
    """200 when the tool answered, else the refusal's HTTP status."""
    outcome: Any
    """The result, or `{"error", "type"}` for a refusal."""
    audit: str | None
    """The audit collection that the call wrote to, such as `updated_tickets`."""
    record: Mapping[str, Any] | None
    """The audit record."""
    refusal: str | None = None
    """Why the tool refused: the `ErrorKind`'s value; a record that was not found is a refusal too. None when it answered."""
    actor: str = AGENT
    """Who did it: `agent`, or `environment` for what happens between two parts of a task."""

    @property
    def failed(self) -> bool:
        """Whether the tool refused, or its answer was lost."""
        return self.refusal is not None

    @property
    def done(self) -> bool:
        """Whether the call did its work. One that timed out may have done it, and then has its audit record."""
        return self.refusal is None or (self.refusal == ErrorKind.TIMEOUT and self.record is not None)


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """A link of the chain: the entry's text, sealed with everything before it."""

    previous: "Link | None"
    sequence: int
    dispatch: str
    body: str
    """The entry as JSON."""
    hash: str
    """sha256 of the previous link's hash and the body, in hex."""

    def entry(self) -> Entry:
        """The entry, read from the sealed text."""
        fields = decode(self.body)
        fields["effect"] = Effect(fields["effect"])
        return Entry(**fields)

    def repeats(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        """Whether this call comes again: the same tool with equal arguments, whatever their spelling."""
        entry = self.entry()
        return entry.tool == tool and canonical(entry.arguments) == canonical(arguments)


class Ledger(Sequence[Entry]):
    """The ledger as a value, first entry first.

    Args:
        head: The last link, or None for an empty ledger.
    """

    def __init__(self, head: Link | None = None) -> None:
        self.head = head

    def append(self, *, outcome: Any, text: str | None = None, **fields: Any) -> "Ledger":
        """A ledger with one more entry; this one stays as it is.

        Args:
            outcome: As in `Entry`.
            text: The outcome as `encode` writes it, where the caller has it already.
            **fields: The others of `Entry` except `sequence`, which follows from the chain. The agent is not written out as the actor.
        """
        sequence = len(self) + 1
        if fields.get("actor") == AGENT:
            del fields["actor"]
        body = f'{encode({"sequence": sequence, **fields})[:-1]},"outcome":{encode(outcome) if text is None else text}}}'
        return Ledger(Link(self.head, sequence, fields["dispatch"], body, _seal(self.head, body)))

    @property
    def hash(self) -> str:
        """The head's hash; empty for an empty ledger."""
        return self.head.hash if self.head else ""

    def links(self) -> Iterator[Link]:
        """The chain, last link first."""
        link = self.head
        while link is not None:
            yield link
            link = link.previous

    def dispatches(self) -> set[str]:
        """The dispatch ids; what the world did by itself has none."""
        return {link.dispatch for link in self.links() if link.dispatch}

    def find(self, dispatch: str) -> Link | None:
        """The link that was made under a dispatch id."""
        return next((link for link in self.links() if link.dispatch == dispatch), None)

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """All entries, first one first."""
        return tuple(link.entry() for link in reversed([*self.links()]))

    def until(self, length: int) -> "Ledger":
        """The ledger as it was when it had so many entries.

        Raises:
            ValueError: It never had as many.
        """
        if not 0 <= length <= len(self):
            raise ValueError(f"the ledger has {len(self)} entries, not {length}")
        link = self.head
        while link is not None and link.sequence > length:
            link = link.previous
        return Ledger(link)

    def verify(self) -> bool:
        """Whether every link seals the one before it and sequences have no gap."""
        return all(
            link.hash == _seal(link.previous, link.body) and link.sequence == (link.previous.sequence if link.previous else 0) + 1
            for link in self.links()
        )

    @classmethod
    def read(cls, bodies: Iterable[str]) -> "Ledger":
        """The ledger whose entries have these texts, first one first."""
        ledger = cls()
        for body in bodies:
            fields = decode(body)
            ledger = cls(Link(ledger.head, fields["sequence"], fields["dispatch"], body, _seal(ledger.head, body)))
        return ledger

    def __reduce__(self) -> tuple[Any, ...]:
        """By its texts: a chain of links is too deep for pickle and copy to follow."""
        return Ledger.read, ([link.body for link in reversed([*self.links()])],)

    def __deepcopy__(self, memo: Any) -> "Ledger":
        return self

    def __len__(self) -> int:
        return self.head.sequence if self.head else 0

    @overload
    def __getitem__(self, at: int) -> Entry: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Entry, ...]: ...
    def __getitem__(self, at: int | slice) -> Entry | tuple[Entry, ...]:
        return self.entries[at]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ledger) and self.hash == other.hash

    def __hash__(self) -> int:
        return hash(self.hash)

    def _repr_html_(self) -> str:
        rows = [(one.sequence, one.time, one.tool, one.effect, shorten(encode(one.arguments)), one.status, one.audit or "") for one in self]
        return table(("#", "time", "tool", "effect", "arguments", "status", "audit"), rows, repr(self))

    def __repr__(self) -> str:
        return f"<Ledger: {len(self)} entries, {self.hash[:12] or 'empty'}>"


def _seal(previous: Link | None, body: str) -> str:
    return hashlib.sha256(((previous.hash if previous else "") + body).encode()).hexdigest()
