"""Matchers of what is written in an agreed form: labelled lines, and names in an order."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cowork_gym.graders.matchers.matcher import LONGEST, Matcher, show
from cowork_gym.graders.matchers.texts import normalise

__all__ = ["Labelled", "SequenceOf"]

_LONGEST_LABEL = 80
_ITEM = re.compile(r"[\s>#|]*(?:-+$|[•*+-]\s+)?(?:\(?\d{1,2}[.)]\s)?")
"""How a line may begin: `-`, `*`, `>`, `##`, `3.`, `(3)`; and a rule, `---`, as a whole."""
_FENCE = re.compile(r"\s*```\w{0,12}\s*")
_WRAPPING = " \t*_`\"'“”‘’"
_COLON = re.compile("[:：]")
_SEPARATOR = re.compile(r"&&|[-=]{0,2}>|[→⇒➔➜;,\n]")


@dataclass(frozen=True, slots=True)
class Labelled:
    """A text with a line `Label: value` for each label.

    Case, emphasis, bullets and a final dot do not matter. A value that does not stand behind its label stands in the lines below it,
    up to an empty line. A label that comes twice must have a right value twice.
    """

    lines: Mapping[str, Matcher]
    only: bool = False
    """Whether nothing but these lines may be there."""
    labels: Mapping[str, Matcher] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", {normalise(label): matcher for label, matcher in self.lines.items()})

    def matches(self, value: Any) -> bool:
        """Whether every label is there, each time with a value that its matcher matches."""
        if not isinstance(value, str) or len(value) > LONGEST:
            return False
        values, rest = self._read(value)
        if rest and self.only:
            return False
        return all(values[label] and all(map(matcher.matches, values[label])) for label, matcher in self.labels.items())

    def _read(self, text: str) -> tuple[dict[str, list[str]], bool]:
        """The values of each label, and whether there is anything else."""
        values: dict[str, list[str]] = {label: [] for label in self.labels}
        below, rest = "", False
        for line in text.splitlines():
            if _FENCE.fullmatch(line):
                continue
            item = _item(line)
            head, *tail = _COLON.split(item, maxsplit=1)
            label = normalise(_plain(head)) if tail and len(head) <= _LONGEST_LABEL else ""
            if label in values:
                values[label].append(_plain(tail[0]))
                below = "" if values[label][-1] else label
            elif below and item:
                values[below][-1] += f"\n{item}" if values[below][-1] else item
            elif below and values[below][-1]:
                below = ""
            elif item:
                rest = True
        return values, rest

    def describe(self) -> str:
        """The lines."""
        listed = "; ".join(f"{label}: {matcher.describe()}" for label, matcher in self.lines.items())
        return f"a text of up to {LONGEST:,} characters with {'nothing but ' if self.only else ''}the lines ({listed})"


@dataclass(frozen=True, slots=True)
class SequenceOf:
    """Names in order: the items of a list, or of a text that separates them by `>`, `→`, `;`, `,`, `&&` or line ends."""

    items: tuple[str, ...]
    folded: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "folded", tuple(map(normalise, self.items)))

    def matches(self, value: Any) -> bool:
        """Whether these names are there and no others, in this order."""
        if isinstance(value, str):
            value = _SEPARATOR.split(value) if len(value) <= LONGEST else ()
        if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
            return False
        return tuple(normalise(item) for item in map(_item, value) if item) == self.folded

    def describe(self) -> str:
        """The names."""
        return f"{' > '.join(map(show, self.items))} in this order"


def _item(line: str) -> str:
    """A line of a list without its bullet or number."""
    start = _ITEM.match(line)
    return _plain(line[start.end():] if start else line)


def _plain(text: str) -> str:
    """A text without emphasis, quotes, and what ends a line."""
    return text.strip(_WRAPPING).rstrip(_WRAPPING + ".,;")
