"""A matcher of durations, however they are written: 36 hours, 36h, 1.5 days, 1 day and 12 hours, thirty-six hours."""

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from cowork_gym.graders.matchers.folding import normalise
from cowork_gym.graders.matchers.matcher import show

__all__ = ["Duration", "read_duration"]

_LONGEST = 80
"""Characters of a duration that anyone would write."""
_TOKEN = re.compile(r"\d{1,9}(?:\.\d{1,9})?|[^\W\d_]+|\S")
_UNITS = {
    **dict.fromkeys(("d", "day", "days"), 86400), **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), 60), **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1),
}
_SMALL = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen",
    "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_WORDS = {word: at for at, word in enumerate(_SMALL)} | {word: 10 * at for at, word in enumerate(_TENS, 2)}


@dataclass(frozen=True, slots=True)
class Duration:
    """A text that is a duration of a certain length, and nothing else."""

    written: str
    seconds: Fraction

    def matches(self, value: Any) -> bool:
        """Whether the text is a duration as long as this."""
        return isinstance(value, str) and read_duration(value) == self.seconds

    def describe(self) -> str:
        """The duration."""
        return f"the duration {show(self.written)}"


def read_duration(text: str) -> Fraction | None:
    """A duration in seconds; None when there is anything else in the text, such as a sign or a word too many."""
    total, amount, tens, link = None, None, False, False
    for token in _TOKEN.findall(normalise(text)) if len(text) <= _LONGEST else ():
        if token[0].isdecimal() and amount is None:
            amount, link = Fraction(token), False
        elif token in _WORDS and (amount is None or (tens and 0 < _WORDS[token] < 10)):
            amount, tens, link = (amount or 0) + Fraction(_WORDS[token]), token in _TENS, False
        elif token in _UNITS and amount is not None:
            total, amount, tens, link = (total or 0) + amount * _UNITS[token], None, False, False
        elif _links(token, total, amount):
            link = True
        else:
            return None
    return total if amount is None and not link else None


def _links(token: str, total: Fraction | None, amount: Fraction | None) -> bool:
    """Whether a token may stand between two parts: a hyphen behind a number, `and` or a comma behind a unit."""
    return amount is not None if token == "-" else token in ("and", ",") and total is not None and amount is None
