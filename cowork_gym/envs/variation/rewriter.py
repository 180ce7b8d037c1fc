"""A package's values with other texts, numbers and days in them. Everything is replaced at once, so that no replacement meets another."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from cowork_gym.envs.variation.dates import moved
from cowork_gym.envs.variation.finder import Finder

__all__ = ["Rewriter"]

_SPECIAL = re.compile(r"([.^$*+?{}\[\]()|])")


@dataclass(frozen=True)
class Rewriter:
    """Writes one form of a package."""

    finder: Finder
    texts: Mapping[str, str] = field(default_factory=dict)
    """What takes the place of each text that the finder looks for; days are moved."""
    numbers: Mapping[Decimal, Decimal] = field(default_factory=dict)
    """What takes the place of each number, for numbers that are no texts. None of them is negative."""
    weeks: int = 0
    """By how much days are moved."""

    def scalar(self, value: Any) -> Any:
        """A text or a number as it is in this form; a number keeps its type where it can."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal) or not self.numbers:
            return value
        exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
        new = self.numbers.get(abs(exact)) if exact.is_finite() else None
        if new is None:
            return value
        new = new.copy_sign(exact)
        if isinstance(value, float):
            return float(new)
        return int(new) if isinstance(value, int) and new == new.to_integral_value() else new

    def text(self, text: str) -> str:
        """A text as it is in this form."""
        pieces = self.finder.split(text)
        if pieces is None:
            return text
        return "".join(self._spelled(piece) if at % 2 else piece for at, piece in enumerate(pieces))

    def day(self, day: date) -> date:
        """A day as it is in this form."""
        return day + timedelta(weeks=self.weeks)

    def _spelled(self, found: str) -> str:
        if found in self.texts:
            return self.texts[found]
        if "\\" in found:  # a regular expression's spelling
            return _SPECIAL.sub(r"\\\1", self._spelled(found.replace("\\", "")))
        return moved(found, self.weeks)
