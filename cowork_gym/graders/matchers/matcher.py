"""What a matcher is, and how values look in a reason."""

from collections.abc import Mapping
from typing import Any, Protocol

from cowork_gym.core.canonical import canonical
from cowork_gym.graders.matchers.folding import fold

__all__ = ["LONGEST", "Matcher", "MatcherError", "overlong", "readable", "same", "show", "spelling"]

LONGEST = 20_000
"""Characters of a text that a matcher reads which takes longer than one pass over it."""
_SHOWN = 80


class Matcher(Protocol):
    """A question about one value. It answers for every value, whatever an agent wrote, and never raises."""

    def matches(self, value: Any) -> bool:
        """Whether the value is as required; an absent value is asked about as None."""
        ...

    def describe(self) -> str:
        """What is required, in a phrase that completes `expected …`."""
        ...


class MatcherError(ValueError):
    """A matcher that cannot be read.

    Args:
        problem: What is wrong, with the nearest valid choice where there is one.
        at: Where, seen from the field that holds the matcher, such as `.all[1].date`.
    """

    def __init__(self, problem: str, at: str = "") -> None:
        super().__init__(problem)
        self.at = at


def readable(text: str) -> str | None:
    """The folded text as a slow matcher reads it; None when it is longer than that, folded or not."""
    folded = fold(text) if len(text) <= LONGEST else None
    return folded if folded is not None and len(folded) <= LONGEST else None


def overlong(value: Any) -> bool:
    """Whether a text in the value is longer than a slow matcher reads."""
    inside = [value]
    while inside:
        one = inside.pop()
        if isinstance(one, str) and readable(one) is None:
            return True
        inside += one.values() if isinstance(one, Mapping) else one if isinstance(one, list | tuple) else ()
    return False


def spelling(value: Any) -> str | None:
    """The canonical text of a value; None when it has none, such as NaN or a list nested a thousand times."""
    try:
        return canonical(value)
    except (ValueError, TypeError, RecursionError):
        return None


def same(one: Any, other: Any) -> bool:
    """Canonical equality: 33, 33.0 and Decimal("33.00") are the same, the text "33" and true are not."""
    text = spelling(one)
    return text is not None and text == spelling(other)


def show(value: Any) -> str:
    """A value as a reason shows it: one line, cut when long."""
    if value is None:
        return "nothing"
    if isinstance(value, str):
        text = (spelling(value[: _SHOWN + 1]) or "").encode(errors="replace").decode()
    else:
        text = spelling(value) or f"a {type(value).__name__} that is not JSON"
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
