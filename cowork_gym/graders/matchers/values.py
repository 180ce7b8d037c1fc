"""Matchers of values: equality, numbers, sets, dates, presence. Exact, and blind to spelling."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from cowork_gym.core.clock import parse_time
from cowork_gym.graders.matchers.matcher import MatcherError, same, show, spelling
from cowork_gym.graders.numerals import exact, near, numbers_in, whole_number

__all__ = ["Date", "Equals", "MentionsNumber", "Number", "OneOf", "Present", "SetOf", "read_date"]


@dataclass(frozen=True, slots=True)
class Equals:
    """The value itself, under canonical equality."""

    expected: Any
    text: str | None = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", spelling(self.expected))
        if self.text is None:
            raise MatcherError(f"a {type(self.expected).__name__} has no JSON form: quote it")

    def matches(self, value: Any) -> bool:
        """Whether both have one canonical text."""
        return spelling(value) == self.text

    def describe(self) -> str:
        """The value."""
        return show(self.expected)


@dataclass(frozen=True, slots=True)
class Number:
    """A number, or a text that consists of one, with a tolerance."""

    expected: Decimal
    tolerance: Decimal

    def matches(self, value: Any) -> bool:
        """Whether the value is a number near enough; null, NaN and the empty text are no numbers."""
        found = whole_number(value) if isinstance(value, str) else exact(value)
        return found is not None and near(found, self.expected, self.tolerance)

    def describe(self) -> str:
        """The number."""
        return f"the number {_range(self.expected, self.tolerance)}"


@dataclass(frozen=True, slots=True)
class MentionsNumber:
    """A text in which some number is the expected one."""

    expected: Decimal
    tolerance: Decimal

    def matches(self, value: Any) -> bool:
        """Whether a number in the text is near enough."""
        return isinstance(value, str) and any(near(found, self.expected, self.tolerance) for found in numbers_in(value))

    def describe(self) -> str:
        """The number."""
        return f"a text that mentions {_range(self.expected, self.tolerance)}"


@dataclass(frozen=True, slots=True)
class SetOf:
    """The items of a list in any order; repeated items count."""

    items: tuple[Any, ...]

    def matches(self, value: Any) -> bool:
        """Whether the value is a list of the same items."""
        if not isinstance(value, list | tuple) or len(value) != len(self.items):
            return False
        return Counter(map(spelling, value)) == Counter(map(spelling, self.items))

    def describe(self) -> str:
        """The items."""
        return f"{show(list(self.items))} in any order"


@dataclass(frozen=True, slots=True)
class Date:
    """A day, which any moment of it in UTC matches, or a moment, which the same instant in another zone matches."""

    moment: date | datetime

    def matches(self, value: Any) -> bool:
        """Whether the text is an ISO 8601 spelling of the day or the moment."""
        found = read_date(value)
        if isinstance(self.moment, datetime):
            return isinstance(found, datetime) and found == self.moment
        return (found.date() if isinstance(found, datetime) else found) == self.moment

    def describe(self) -> str:
        """The day or the moment."""
        return f"the {'time' if isinstance(self.moment, datetime) else 'date'} {self.moment.isoformat()}"


def read_date(value: Any) -> date | datetime | None:
    """A text as a day, or as a moment in UTC; None when it is neither."""
    if not isinstance(value, str):
        return None
    try:
        return date.fromisoformat(value.strip())
    except ValueError:
        pass
    try:
        return parse_time(value.strip())
    except (ValueError, OverflowError):
        return None


@dataclass(frozen=True, slots=True)
class OneOf:
    """Any of a few values."""

    choices: tuple[Any, ...]

    def matches(self, value: Any) -> bool:
        """Whether the value is one of the choices."""
        return any(same(value, one) for one in self.choices)

    def describe(self) -> str:
        """The choices."""
        return f"one of {show(list(self.choices))}"


@dataclass(frozen=True, slots=True)
class Present:
    """Whether there is a value at all: null and what is empty are none, 0 and false are values."""

    expected: bool

    def matches(self, value: Any) -> bool:
        """Whether presence is as expected."""
        empty = value is None or (isinstance(value, str | list | tuple | Mapping) and not value)
        return empty is not self.expected

    def describe(self) -> str:
        """Presence or absence."""
        return "a value" if self.expected else "no value"


def _range(expected: Decimal, tolerance: Decimal) -> str:
    return show(expected) + (f" ± {show(tolerance)}" if tolerance else "")
