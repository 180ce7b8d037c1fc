"""The states that a record ends in, computed anew from the first state and the changes that it tells."""

import hashlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from cowork_gym.core.canonical import canonical, exact
from cowork_gym.core.episode import Episode
from cowork_gym.core.snapshot import Change, Digests
from cowork_gym.envs.blueprint import Blueprint
from cowork_gym.envs.database import state_hash
from cowork_gym.mock_services.kit.columns import Json
from cowork_gym.mock_services.kit.files import File
from cowork_gym.mock_services.kit.money import to_minor
from cowork_gym.mock_services.kit.records import Record
from cowork_gym.mock_services.kit.tables import Table

__all__ = ["contradiction_of_states"]

_OURS = "cowork_gym.mock_services."
"""The services that come with this package. A service of another's making may write files that are no text."""


def contradiction_of_states(episode: Episode, blueprint: Blueprint) -> str | None:
    """Where the states of an episode contradict its changes, or None.

    It begins in the blueprint's first state; each part ends in the state that its changes lead to, row by row from the one that they
    began with; and so does the last turn, where its state was recorded.
    """
    if episode.start != blueprint.origin:
        return "the episode did not begin in the first state of its task"
    for number, stage in enumerate(episode.stages, 1):
        if not 0 <= stage.turns <= len(episode.turns) or not 0 <= stage.entries <= len(episode.ledger):
            return f"part {number} was closed after the end"
        if found := _differs(stage.changes, stage.fingerprint, blueprint):
            return f"part {number}: {found}"
    if found := _differs(episode.changes, episode.end, blueprint):
        return found
    last = episode.turns[-1].state if episode.turns else ""
    return f"the last turn left another state than that of the end: {last[:12]}, not {episode.end[:12]}" if last not in ("", episode.end) else None


def _differs(changes: tuple[Change, ...], fingerprint: str, blueprint: Blueprint) -> str | None:
    start, seen = blueprint.start_rows, set[tuple[str, str]]()
    by_table: dict[str, list[Change]] = {}
    for one in changes:
        if one.table not in start:
            return f"{one.table}/{one.key} changed, but there is no such table"
        if (one.table, one.key) in seen:
            return f"{one.table}/{one.key} is told twice"
        if not _same(one.before, start[one.table].get(one.key)):
            return f"{one.table}/{one.key} did not begin as its change says"
        if one.after is not None and not _possible(one.key, one.after, blueprint.start_rows.table(one.table), blueprint):
            return f"{one.table}/{one.key} is told as no tool could have stored it"
        seen.add((one.table, one.key))
        by_table.setdefault(one.table, []).append(one)
    try:
        reached = _reached(by_table, blueprint)
    except (ValueError, TypeError, AttributeError) as error:
        return f"a record is told that cannot be stored: {error}"
    return None if reached in (None, fingerprint) else f"the changes lead to another state than that of the end: {fingerprint[:12]}"


def _possible(key: str, after: Mapping[str, Any], table: Table, blueprint: Blueprint) -> bool:
    """Whether a row has its key, and, for a file, is one that tools write: our own write text."""
    model = table.model
    if model is File:
        content, size = after.get("content"), after.get("bytes")
        binary = type(size) is int and size > 0 and any(not one.__module__.startswith(_OURS) for one in blueprint.services)
        kept = {"content"} if isinstance(content, str) else {"bytes"} if binary else None
        return kept is not None and after.keys() == {"path", *kept} and after["path"] == key
    return _of_its_own(model) or str(after.get(model.wire.get(table.key, table.key))) == key


def _of_its_own(model: type[Record]) -> bool:
    """Whether a service shows these records in a way of its own."""
    return model.shown.__func__ is not Record.shown.__func__  # type: ignore[attr-defined]


def _same(one: Mapping[str, Any] | None, other: Mapping[str, Any] | None) -> bool:
    """Whether two records are the same in the file of an episode."""
    return one == other or (one is not None and other is not None and canonical(exact(one)) == canonical(exact(other)))


def _reached(changes: Mapping[str, Iterable[Change]], blueprint: Blueprint) -> str | None:
    """The fingerprint of the state that changes lead to; None where a record does not tell how it is stored.

    Raises:
        ValueError: A record has a value that cannot be stored, or, as a TypeError or an AttributeError, one of another type.
    """
    if not changes:
        return blueprint.origin
    digests = dict(blueprint.start.digests)
    for name, ones in changes.items():
        table, rows = blueprint.start_rows.table(name), {**blueprint.start_rows.digests(name)}
        for one in ones:
            if one.after is None:
                rows.pop(one.key, None)
            elif (stored := _stored(table, one.after)) is None:
                return None
            else:
                rows[one.key] = table.digest(stored)
        digests[table.name] = Digests({}, hashlib.sha256(b"".join(sorted(rows.values()))).hexdigest())
    return state_hash(digests)


def _stored(table: Table, view: Mapping[str, Any]) -> list[Any] | None:
    """The values that a record is stored with, as its digest is made of them: the other way round than `Record.shown`.

    Returns:
        None where the record does not tell: of a file that is no text, which only a service of another's making can have written, and of a
        service that shows its records in a way of its own.
    """
    model = table.model
    if model is File:
        content = view.get("content")
        if not isinstance(content, str):
            return None
        view = {**view, "content": content.encode()}
    elif _of_its_own(model):
        return None
    left, wire, spelled = dict(view), model.wire, _spelled(model)
    values = {column: left.pop(wire.get(column, column), None) for column in table.columns if column != "extra"}
    values["extra"] = left or None
    for column, currency in model.money.items():
        if values[column] is not None:
            values[column] = to_minor(values[column], values[currency] or "")
    for column, value in values.items():
        if isinstance(value, bool):
            values[column] = int(value)
        elif value is not None and column in spelled:
            values[column] = canonical(value)
    return [values[column] for column in table.columns]


@lru_cache(256)
def _spelled(model: type[Record]) -> frozenset[str]:
    """The columns that are stored as JSON text."""
    columns: sa.Table = model.__table__  # type: ignore[attr-defined]
    return frozenset(column.key for column in columns.columns if isinstance(column.type, Json))
