"""The matcher of labelled lines, a form that an answer or a record keeps to."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cowork_gym.graders.matchers.folding import normalise
from cowork_gym.graders.matchers.lines import plain, read_command, read_item
from cowork_gym.graders.matchers.matcher import LONGEST, Matcher, readable

__all__ = ["Labelled"]

_LONGEST_LABEL = 80
_FENCE = re.compile(r"\s*```\w{0,12}\s*")
_QUOTE = re.compile(r"[\s>|]*")


@dataclass(frozen=True, slots=True)
class Labelled:
    """A text with a line `Label: value` for each label.

    Case, emphasis, bullets and a final dot do not matter. A value that does not stand behind its label stands in the lines below it,
    up to an empty line. A label that comes twice must have a right value twice. Values are seen folded.
    """

    lines: Mapping[str, Matcher]
    only: bool = False
    """Whether nothing but these lines may be there."""
    labels: Mapping[str, Matcher] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", {normalise(label): matcher for label, matcher in self.lines.items()})

    def matches(self, value: Any) -> bool:
        """Whether every label is there, each time with a value that its matcher matches."""
        text = readable(value) if isinstance(value, str) else None
        if text is None:
            return False
        values, rest = self._read(text)
        if rest and self.only:
            return False
        return all(values[label] and all(map(matcher.matches, map(_value, values[label]))) for label, matcher in self.labels.items())

    def _read(self, text: str) -> tuple[dict[str, list[list[str]]], bool]:
        """The lines of each label's values, the first the one behind the label, and whether there is anything else."""
        values: dict[str, list[list[str]]] = {label: [] for label in self.labels}
        below, rest = "", False
        for line in text.splitlines():
            if _FENCE.fullmatch(line):
                continue
            item = read_item(line).text
            head, *tail = item.split(":", maxsplit=1)
            label = normalise(plain(head)) if tail and len(head) <= _LONGEST_LABEL else ""
            if label in values:
                values[label].append([plain(tail[0])])
                below = "" if values[label][-1][0] else label
            elif below and item:
                values[below][-1].append(_QUOTE.sub("", line, count=1))
            elif below and len(values[below][-1]) > 1:
                below = ""
            elif item:
                rest = True
        return values, rest

    def describe(self) -> str:
        """The lines."""
        listed = "; ".join(f"{label}: {matcher.describe()}" for label, matcher in self.lines.items())
        return f"a text of up to {LONGEST:,} characters with {'nothing but ' if self.only else ''}the lines ({listed})"


def _value(lines: list[str]) -> str:
    """What stands behind a label, or below it: of several lines the numbers stay, since they may say an order."""
    behind, *below = lines
    if len(below) != 1:
        return behind or "\n".join(below)
    item = read_command(below[0])
    return item.text if item.number in (None, 1) else below[0]
