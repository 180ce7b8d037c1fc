"""How an episode left the world, in a form in which two ends can be compared: when something was written does not count."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from cowork_gym.core.canonical import canonical
from cowork_gym.core.episode import Episode

__all__ = ["End", "end_of"]

End: TypeAlias = frozenset[tuple[str, str, str]]
"""Every changed row by table and key, with what it became."""


def end_of(episode: Episode, marks: frozenset[tuple[str, str]]) -> End:
    """What has become of the rows that changed.

    The times of the episode's own calls are all taken for one, since a call more moves those after it; and so are the columns that
    reading may set, stamps among them.

    Args:
        episode: The record.
        marks: Tables and columns that do not count.
    """
    times = {entry.time for entry in episode.ledger.entries}
    found = set()
    for change in episode.changes:
        row = {} if change.after is None else {name: one for name, one in change.after.items() if (change.table, name) not in marks}
        if change.after is None or change.before is None or row != {name: change.before.get(name) for name in row}:
            found.add((change.table, change.key, "gone" if change.after is None else canonical(_timeless(row, times))))
    return frozenset(found)


def _timeless(value: Any, times: set[str]) -> Any:
    if isinstance(value, str):
        return "now" if value in times else value
    if isinstance(value, Mapping):
        return {name: _timeless(item, times) for name, item in value.items()}
    return [_timeless(item, times) for item in value] if isinstance(value, list | tuple) else value
