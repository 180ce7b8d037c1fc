"""The items of the table: what is done before each measurement, what is measured, and the target."""

from typing import NamedTuple

__all__ = ["HTTP", "ITEMS", "MOST_RECORDED", "RECORDING", "TOKENS", "Item"]


class Item(NamedTuple):
    """One line of the table."""

    title: str
    run: str
    """The method that is measured. A contender that has none is left out."""
    target: float | None = None
    """Milliseconds at the median; None for a line that only informs."""
    before: tuple[str, ...] = ("reset", "read", "write")
    """Done first, unmeasured: by default, an episode is running and its statements are prepared."""
    between: tuple[str, ...] = ()
    """Done before each measured run, unmeasured."""
    times: int = 10
    """Runs in a row, of which the mean is one sample: a single run between those of other contenders would measure cold caches."""


_AFTER_WRITE = ("write",)

ITEMS = (
    Item("reset, lazy, after a read call", "reset_lazily", None, (), ("read",)),
    Item("reset, opened", "reset", 0.15, ()),
    Item("read call", "read", 0.10),
    Item("write call, ledger included", "write", 0.10),
    Item("read call, world alone", "world_read"),
    Item("write call, world alone", "world_write"),
    Item("search call, 5 hits of 50 articles", "search"),
    Item("fork after a write, lazy, world alone", "world_fork", 0.05, between=_AFTER_WRITE),
    Item("fork after a write, lazy", "fork", None, between=_AFTER_WRITE),
    Item("fork after a write + first read", "fork_and_read", 0.60, between=_AFTER_WRITE),
    Item("fingerprint after one write", "fingerprint", 0.10, ("reset", "write", "fingerprint"), _AFTER_WRITE),
    Item("diff from the start, one row", "diff", 0.80, between=_AFTER_WRITE),
    Item("10-call episode, sealed and graded", "episode", 2.50, (), (), 3),
)
HTTP = Item("HTTP door, one read call", "read", 1.50)
MOST_RECORDED = 1.10
"""What an episode may take with its record, as a share of what it takes without."""
RECORDING = (
    Item("10 calls, sealed and graded", "scripted", None, (), (), 3),
    Item("the same, written to a file", "written", None, (), (), 3),
)
TOKENS = Item("the same with 300 sampled tokens a turn", "tokens", None, (), (), 3)
"""Needs the library that writes tokens."""
