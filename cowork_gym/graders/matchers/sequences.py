"""Matchers of names in an order or in any, and of commands in an order."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cowork_gym.graders.matchers.folding import fold, normalise
from cowork_gym.graders.matchers.lines import Item, count_up, read_command, read_item
from cowork_gym.graders.matchers.matcher import readable, show

__all__ = ["Commands", "NamesOf", "SequenceOf"]

_SEPARATOR = re.compile(r"&&|[-=]{0,2}>|[→⇒➔➜;,、\n]")
_COMMAND_END = re.compile(r"&&|[;\n]")


@dataclass(frozen=True, slots=True)
class SequenceOf:
    """Names in order: the items of a list, or of a text that separates them by `>`, `→`, `;`, `,`, `&&` or line ends."""

    items: tuple[str, ...]
    folded: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "folded", tuple(map(normalise, self.items)))

    def matches(self, value: Any) -> bool:
        """Whether these names are there and no others, in this order; where they are numbered, the numbers go up."""
        found = _read(value, _SEPARATOR, read_item)
        return count_up(found) and tuple(normalise(item.text) for item in found) == self.folded

    def describe(self) -> str:
        """The names."""
        return f"{' > '.join(map(show, self.items))} in this order"


@dataclass(frozen=True, slots=True)
class NamesOf:
    """Names in any order, each as often as it is listed: the items of a list or of a text, as for `SequenceOf`."""

    items: tuple[str, ...]
    folded: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "folded", tuple(sorted(map(normalise, self.items))))

    def matches(self, value: Any) -> bool:
        """Whether these names are there and no others."""
        return tuple(sorted(normalise(item.text) for item in _read(value, _SEPARATOR, read_item))) == self.folded

    def describe(self) -> str:
        """The names."""
        return f"{', '.join(map(show, self.items))} in any order"


@dataclass(frozen=True, slots=True)
class Commands:
    """Commands in order, letter by letter: the items of a list, or of a text that separates them by `;`, `&&` or line ends."""

    items: tuple[str, ...]
    folded: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "folded", tuple(" ".join(fold(item).split()) for item in self.items))

    def matches(self, value: Any) -> bool:
        """Whether these commands are there and no others, in this order; where they are numbered, the numbers go up."""
        found = _read(value, _COMMAND_END, read_command)
        return count_up(found) and tuple(" ".join(item.text.split()) for item in found) == self.folded

    def describe(self) -> str:
        """The commands."""
        return f"the commands {'; '.join(map(show, self.items))}"


def _read(value: Any, separator: re.Pattern[str], read: Callable[[str], Item]) -> list[Item]:
    """The items of a list or a text that are not empty; none when there is anything but texts, or too much."""
    if isinstance(value, str):
        value = separator.split(readable(value) or "")
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        return []
    return [item for one in value if (item := read(fold(one))).text]
