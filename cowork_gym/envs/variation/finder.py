"""Where the variable texts of a package stand: whole words of a text, all at once, the longest first. Latin words have ends, Chinese ones none."""

import re
from collections.abc import Iterable, Iterator

from cowork_gym.envs.dialogue.spelling import CJK
from cowork_gym.envs.variation.dates import date_end

__all__ = ["Finder", "has_words"]

_UNIT = re.compile(rf"[^\W_{CJK}]+|[{CJK}]")
"""A Latin word or number, or a single letter of a script without blanks: each variable text is looked up by its first one."""
_WORDY = re.compile(rf"[^\W_{CJK}]")
_BLANK = re.compile(r"(\$\{[^}]*\})")
_CLASS = "bBdDsSwWnrt"
"""Letters after a backslash that are no part of the word behind them, in a regular expression."""
_BEFORE_NUMBER = re.compile(r"(?:\d[.,:]|[A-Za-z0-9]-)\Z")
_AFTER_NUMBER = re.compile(r"[.,:-]\d")
_ENDS_AS_NUMBER = re.compile(r"(?:^|[^\w.,-])\d[\d.,]*\Z")


def has_words(text: str) -> bool:
    """Whether a text can be found at all: it has a letter or a digit."""
    return _UNIT.search(text) is not None


class Finder:
    """Finds variable texts.

    Args:
        texts: What is looked for.
        dates: Whether days are looked for, too.
    """

    def __init__(self, texts: Iterable[str], *, dates: bool = False) -> None:
        self._dates, self._by_unit, self._split = dates, dict[str, list[_Text]](), dict[str, tuple[str, ...] | None]()
        for text in sorted(set(texts), key=lambda one: (-len(one), one)):
            one = _Text(text)
            self._by_unit.setdefault(one.unit, []).append(one)

    def split(self, text: str) -> tuple[str, ...] | None:
        """A text in pieces, every second of which was looked for; None when nothing was found. Blanks (`${…}`) are left whole."""
        if text not in self._split:
            pieces = self._pieces(text)
            self._split[text] = tuple(pieces) if len(pieces) > 1 else None
        return self._split[text]

    def found(self, text: str) -> Iterator[str]:
        """What was found in a text, as it would be declared."""
        return (one.replace("\\", "") for one in (self.split(text) or ())[1::2])

    def _pieces(self, text: str) -> list[str]:
        pieces, last = list[str](), 0
        for start, end in self._spans(text):
            pieces += [text[last:start], text[start:end]]
            last = end
        return [*pieces, text[last:]]

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        blanks, last = [one.span() for one in _BLANK.finditer(text)] if "${" in text else [], 0
        for unit in _UNIT.finditer(text):
            at, word = unit.start(), unit[0]
            if at < last or any(start <= at < end for start, end in blanks):
                continue
            if at and text[at - 1] == "\\" and word[0] in _CLASS:
                at, word = at + 1, word[1:]
            start, end = self._longest(text, at, word, last)
            if end:
                yield start, end
                last = end

    def _longest(self, text: str, at: int, word: str, last: int) -> tuple[int, int]:
        """Where the longest find begins and ends whose first word stands here; zeros when there is none."""
        start, end = at, (date_end(text, at) if self._dates else 0)
        for one in self._by_unit.get(word, ()):
            here = at - one.offset
            if here >= last and (found := one.end(text, here)) and found - here > end - start:
                start, end = here, found
        return (start, end) if end else (0, 0)


class _Text:
    """A text that is looked for."""

    __slots__ = ("_escaped", "_left", "_number", "_right", "_text", "offset", "unit")

    def __init__(self, text: str) -> None:
        first = _UNIT.search(text)
        self._text, self.unit, self.offset = text, first[0] if first else text, first.start() if first else 0
        self._left, self._right = text[0].isdigit(), _WORDY.match(text[-1]) is not None
        self._number = _ENDS_AS_NUMBER.search(text) is not None
        self._escaped = re.compile("".join(one if one.isalnum() else rf"\\?{re.escape(one)}" for one in text))  # as an expression spells it

    def end(self, text: str, start: int) -> int:
        """Where it ends if it stands here as a whole; else 0."""
        if text.startswith(self._text, start):
            end = start + len(self._text)
        elif "\\" in text and (found := self._escaped.match(text, start)):
            end = found.end()
        else:
            return 0
        if self._right and end < len(text) and _WORDY.match(text[end]):
            return 0
        if self._left and _BEFORE_NUMBER.search(text, max(0, start - 2), start):
            return 0
        return 0 if self._number and _AFTER_NUMBER.match(text, end) else end
