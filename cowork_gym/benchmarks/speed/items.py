"""The items of the table: what is done before each measurement, what is measured, and the target."""

from typing import NamedTuple

__all__ = ["HTTP", "ITEMS", "Item"]


class Item(NamedTuple):
    """One line of the table."""

    title: str
    run: str
    """The method that is measured. A contender that has none is left out."""
    target: float | None = None
    """Milliseconds at the median; None for a line that only informs."""
    before: tuple[str, ...] = ("reset", "read", "write", "fingerprint")
    """What is done first, unmeasured: by default, the episode is running, its statements are prepared, and its rows are hashed."""


ITEMS = (
    Item("reset, lazy", "reset_lazily", before=()),
    Item("reset, opened", "reset", 0.15, before=()),
    Item("read call", "read", 0.10),
    Item("write call, ledger included", "write", 0.10),
    Item("read call, world alone", "world_read"),
    Item("write call, world alone", "world_write"),
    Item("search call (FTS5, 50 articles)", "search"),
    Item("fork after a write, lazy", "fork", 0.05, ("reset", "read", "write")),
    Item("fork after a write + first read", "fork_and_read", 0.60, ("reset", "read", "write")),
    Item("fingerprint after one write", "fingerprint", 0.10, ("reset", "read", "fingerprint", "write")),
    Item("diff from the start, one row", "diff", 0.80, ("reset", "read", "write")),
    Item("10-call episode, sealed and graded", "episode", 2.50, ()),
)
HTTP = Item("HTTP door, one read call", "read", 1.50, ("reset", "read"))
