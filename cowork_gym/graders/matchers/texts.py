"""Matchers of texts. All see texts folded, and all but `regex` without regard to case and white space."""

import re
from dataclasses import dataclass, field
from typing import Any

from cowork_gym.graders.matchers.folding import normalise
from cowork_gym.graders.matchers.matcher import LONGEST, readable, show

__all__ = ["ContainsAll", "ContainsAny", "ContainsNone", "Regex", "Text"]


@dataclass(frozen=True, slots=True)
class Text:
    """The same text, however it is spelled."""

    expected: str

    def matches(self, value: Any) -> bool:
        """Whether both texts are equal once normalised."""
        return isinstance(value, str) and normalise(value) == normalise(self.expected)

    def describe(self) -> str:
        """The text."""
        return f"the text {show(self.expected)}"


@dataclass(frozen=True, slots=True)
class _Needles:
    needles: tuple[str, ...]
    folded: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "folded", tuple(map(normalise, self.needles)))

    def found(self, value: Any) -> list[bool]:
        """For each needle, whether the text contains it, or the list has it as an item."""
        if isinstance(value, str):
            hay = normalise(value)
            return [needle in hay for needle in self.folded]
        items = {normalise(item) for item in value if isinstance(item, str)} if isinstance(value, list | tuple) else set()
        return [needle in items for needle in self.folded]

    def listed(self) -> str:
        """The needles as a reason shows them."""
        return ", ".join(map(show, self.needles))


class ContainsAll(_Needles):
    """A text with all passages, or a list with all items."""

    __slots__ = ()

    def matches(self, value: Any) -> bool:
        """Whether every passage is there."""
        return all(self.found(value))

    def describe(self) -> str:
        """The passages."""
        return f"something that contains {'all of ' if len(self.needles) > 1 else ''}{self.listed()}"


class ContainsAny(_Needles):
    """A text with one passage at least, or a list with one item at least."""

    __slots__ = ()

    def matches(self, value: Any) -> bool:
        """Whether some passage is there."""
        return any(self.found(value))

    def describe(self) -> str:
        """The passages."""
        return f"something that contains one of {self.listed()}"


class ContainsNone(_Needles):
    """A text with none of the passages, or a list with none of the items; what is absent contains nothing."""

    __slots__ = ()

    def matches(self, value: Any) -> bool:
        """Whether no passage is there."""
        return not any(self.found(value))

    def describe(self) -> str:
        """The passages."""
        return f"nothing that contains {self.listed()}"


@dataclass(frozen=True, slots=True)
class Regex:
    """A text in which a regular expression finds something; the text is seen folded, and none that is too long is."""

    pattern: re.Pattern[str]

    def matches(self, value: Any) -> bool:
        """Whether the expression finds something."""
        text = readable(value) if isinstance(value, str) else None
        return text is not None and self.pattern.search(text) is not None

    def describe(self) -> str:
        """The expression."""
        return f"a text of up to {LONGEST:,} characters that matches /{self.pattern.pattern}/"
