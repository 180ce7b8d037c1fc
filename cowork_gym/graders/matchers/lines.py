"""Lines of a list: what stands behind a bullet or a number, and what the number is."""

import re
from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["Item", "count_up", "plain", "read_command", "read_item"]

_BULLET_AND_NUMBER = r"(?:-+$|[•·●○◦‣▪*+-]\s+)?[*_]{0,3}(?:\(?(\d{1,2})[.)][*_]{0,3}(?:\s|(?=[^\W\d_])))?"
_ITEM = re.compile(rf"[\s>#|]*{_BULLET_AND_NUMBER}")
"""How a line may begin: `-`, `*`, `>`, `##`, `3.`, `(3)`, `**3.`; and a rule, `---`, as a whole."""
_COMMAND = re.compile(rf"\s*{_BULLET_AND_NUMBER}")
"""The same for commands, of which `#` and `>` would be a part."""
_WRAPPING = " \t*_`\"'“”‘’"


class Item(NamedTuple):
    """A line of a list."""

    number: int | None
    text: str
    """Without bullet, number, emphasis, quotes, and what ends a line."""


def read_item(line: str) -> Item:
    """A folded line without its bullet or number."""
    return _read(_ITEM, line)


def read_command(line: str) -> Item:
    """A folded line with a command, without its bullet or number."""
    return _read(_COMMAND, line)


def count_up(items: Iterable[Item]) -> bool:
    """Whether the numbers that are there go up: a list numbered backwards says another order than it is written in."""
    numbers = [item.number for item in items if item.number is not None]
    return numbers == sorted(set(numbers))


def plain(text: str) -> str:
    """A text without emphasis, quotes, and what ends a line."""
    return text.strip(_WRAPPING).rstrip(_WRAPPING + ".,;")


def _read(beginning: re.Pattern[str], line: str) -> Item:
    start = beginning.match(line)
    if start is None:
        return Item(None, plain(line))
    return Item(int(start[1]) if start[1] else None, plain(line[start.end():]))
