"""Matchers made of matchers: all, any, not, the fields of a record, and JSON inside a text."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cowork_gym.core.canonical import decode
from cowork_gym.graders.matchers.matcher import Matcher, overlong, show

__all__ = ["AllOf", "AnyOf", "Fields", "Json", "NotThat", "mismatches"]

_FENCE = "```"


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every one of the parts."""

    parts: tuple[Matcher, ...]

    def matches(self, value: Any) -> bool:
        """Whether all parts match."""
        return all(part.matches(value) for part in self.parts)

    def describe(self) -> str:
        """The parts."""
        return " and ".join(part.describe() for part in self.parts)


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one of the parts."""

    parts: tuple[Matcher, ...]

    def matches(self, value: Any) -> bool:
        """Whether some part matches."""
        return any(part.matches(value) for part in self.parts)

    def describe(self) -> str:
        """The parts."""
        return "either " + " or ".join(part.describe() for part in self.parts)


@dataclass(frozen=True, slots=True)
class NotThat:
    """Anything that the part does not match, an absent value included, but nothing that is too long to be looked at."""

    part: Matcher

    def matches(self, value: Any) -> bool:
        """Whether the part does not match."""
        return not self.part.matches(value) and not overlong(value)

    def describe(self) -> str:
        """The part."""
        return f"anything but {self.part.describe()}"


@dataclass(frozen=True, slots=True)
class Fields:
    """A record some of whose fields are as required; the others do not matter."""

    fields: Mapping[str, Matcher]

    def matches(self, value: Any) -> bool:
        """Whether the value is a record whose named fields match."""
        return isinstance(value, Mapping) and not mismatches(self.fields, value)

    def describe(self) -> str:
        """The fields."""
        return "a record with " + ", ".join(f"{name}: {matcher.describe()}" for name, matcher in self.fields.items())


@dataclass(frozen=True, slots=True)
class Json:
    """A text that is one JSON value, in a code fence or not, which the part matches."""

    part: Matcher

    def matches(self, value: Any) -> bool:
        """Whether the text is JSON and the part matches what it says."""
        if not isinstance(value, str):
            return False
        try:
            return self.part.matches(decode(_unfenced(value.strip().lstrip("\ufeff"))))
        except ValueError:
            return False

    def describe(self) -> str:
        """The part."""
        return f"JSON that is {self.part.describe()}"


def _unfenced(text: str) -> str:
    """What stands between code fences, if the text stands between some."""
    head, line_end, body = text.partition("\n")
    fenced = line_end and head.strip().casefold() in (_FENCE, f"{_FENCE}json") and body.endswith(_FENCE)
    return body.removesuffix(_FENCE) if fenced else text


def mismatches(fields: Mapping[str, Matcher], record: Mapping[str, Any]) -> tuple[str, ...]:
    """What keeps a record from matching: one `field: expected …, found …` for each field that differs."""
    return tuple(
        f"{name}: expected {matcher.describe()}, found {show(record.get(name))}"
        for name, matcher in fields.items() if not matcher.matches(record.get(name))
    )
