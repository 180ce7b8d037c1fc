"""Every row that changed held against the calls: which of them could have changed it."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from cowork_gym.core.canonical import encode
from cowork_gym.core.errors import ErrorKind
from cowork_gym.core.ledger import AGENT, Effect, Entry
from cowork_gym.core.snapshot import Change
from cowork_gym.graders.evidence import FILES, Evidence

__all__ = ["unexplained"]

_BEFORE, _BEHIND = r"(?:(?<![\w./-])|(?<=\\[nrt]))", r"(?![\w/-]|\.\w)"
"""What ends a path within a text; escapes of line ends and tabs are letters in JSON."""
_Call = tuple[Entry, str]
"""An entry and its sealed text."""


def unexplained(evidence: Evidence) -> str | None:
    """The first change that no call of the agent explains, or None. What the world changes by itself is none of the agent's changes.

    A change is explained by a writing call that did its work, is of the service that has the table, and names the row: the row's key
    is a value in the arguments, the result or the audit record. A file is everybody's: a tool of any service may change it whose call
    has its path, whole, somewhere in its text. A tool that keeps no audit record may not tell what it changed: where its call names no row of
    a table at all, it may have changed any of them. Of a row of which nothing but marks differs, any call of the service is held to the
    same; the answer of one that read may have been lost.

    So a row that was changed past the tools is seen unless a call names it: what else was changed in a row that the agent wrote to, or
    in one that a writing call of the same service only mentions, is not told apart.
    """
    if not (own := evidence.own):
        return None
    calls = [(entry, link.body) for link, entry in zip(reversed([*evidence.ledger.links()]), evidence.ledger.entries, strict=True)]
    writes = [one for one in calls if one[0].effect is Effect.WRITE and one[0].done and one[0].actor == AGENT]
    for change in own:
        if _named(change, writes):
            continue
        marked = {(change.table, field) for field in change.fields()} <= evidence.marks
        able = [one for one in calls if _may_mark(one[0])] if marked else writes
        if not (marked and _named(change, able)) and not _possible(change, able, evidence):
            told = "was marked, though no call" if marked else "changed, though no writing call that succeeded"
            return f"{change.table}/{change.key} {told} names it"
    return None


def _may_mark(entry: Entry) -> bool:
    """Whether a call may have set marks: a reading one whose answer was lost has left nothing else."""
    return entry.actor == AGENT and (entry.done or entry.refusal == ErrorKind.TIMEOUT)


def _named(change: Change, calls: list[_Call]) -> bool:
    """Whether the row's key stands in the text of a call. It has its quotes there: those within a longer text are escaped."""
    text = encode(change.key)
    if change.table == FILES:
        return any(text in body for _, body in calls) or any(_mentions(body, change.key, text[1:-1]) for _, body in calls)
    service = change.table.partition(".")[0]
    return any(text in body for entry, body in calls if entry.service == service)


def _mentions(body: str, path: str, written: str) -> bool:
    """Whether a path stands whole within a longer text. A name without folder and ending is a word like any other, and mentions nothing."""
    if written not in body or not ("." in path or "/" in path):
        return False
    return re.search(f"{_BEFORE}{re.escape(written)}{_BEHIND}", body) is not None


def _possible(change: Change, calls: list[_Call], evidence: Evidence) -> bool:
    """Whether a call names the row by a number, or may have changed it without telling."""
    service = change.table.partition(".")[0]
    told = [(entry, {*_values(entry)}) for entry, _ in calls if entry.service == service or change.table == FILES]
    return any(change.key in values or (entry.audit is None and _names_none(values, change.table, evidence)) for entry, values in told)


def _names_none(values: set[str], table: str, evidence: Evidence) -> bool:
    """Whether none of these values is the key of a row. A whole number may be anything."""
    changed = {one.key for one in evidence.changes if one.table == table}
    return not any(one in changed or one in evidence.start.get(table, {}) for one in values if not one.isdigit())


def _values(entry: Entry) -> Iterator[str]:
    """The texts and numbers in a call, its result and its audit record, as keys are written."""
    left: list[Any] = [entry.arguments, entry.outcome, entry.record]
    while left:
        value = left.pop()
        if isinstance(value, Mapping):
            left += [*value, *value.values()]
        elif isinstance(value, list | tuple):
            left += value
        elif value is not None:
            yield str(value)
