"""Regular expressions that an agent's text cannot stall: those that may try a text in too many ways are refused when they are read.

At most one repetition has no bound, nothing that has several readings is itself repeated, and the counts of all other repetitions
together are few. What remains takes a time that grows with the square of a text at worst. A chain of dozens of `?` is not looked for.
"""

import re

from cowork_gym.graders.matchers.matcher import MatcherError

__all__ = ["compile_pattern"]

_PIECE = re.compile(
    r"\(\?#[^)]*\)|\\.|\[\^?\]?(?:\\.|[^\\\]])*\]|(?P<open>\(\??)|(?P<close>\))|(?P<choice>\|)"
    r"|(?P<count>(?:[*+?]|\{(?:\d+,?\d*|,\d*)\})[?+]?)|.",
    re.DOTALL,
)
_READINGS = 10_000
"""Ways in which the repetitions of an expression may share one stretch of text among them."""
_UNBOUNDED = 100
"""What a repetition without bound counts for among them."""


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """A regular expression that is safe to search an agent's text with.

    Raises:
        MatcherError: It is none, or it repeats what has several readings, or repeats too much.
    """
    try:
        compiled = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise MatcherError(f"not a regular expression: {error}") from None
    nested, unbounded, readings = _repeats(pattern)
    if nested:
        raise MatcherError("repeats a group with a repetition or a choice in it, which may take for ever: write (?:ab+c)? or [ab]+, not (a|b)+")
    if unbounded > 1:
        raise MatcherError("has several repetitions without a bound, which may take very long: give them one, such as .{0,60}")
    if readings > _READINGS:
        raise MatcherError("has repetitions with too wide bounds, which may take very long: give them narrower ones")
    return compiled


def _repeats(pattern: str) -> tuple[bool, int, int]:
    """Whether what has several readings is repeated, how many repetitions have no bound, and the readings of all together."""
    loose, before, nested, unbounded, readings = [False], "", False, 0, 1  # for each open group, whether it has several readings
    for piece in _PIECE.finditer(pattern):
        kind = piece.lastgroup or ""
        if kind == "open":
            loose.append(False)
        elif kind == "close":
            kind, loose = "loose" if loose[-1] else "", loose[:-1] or [False]
            loose[-1] |= kind == "loose"
        elif kind == "choice":
            loose[-1] = True
        elif kind == "count":
            least, most = _bounds(piece[0])
            nested |= before == "loose" and most != 1
            loose[-1] |= most != least
            unbounded += most is None
            readings *= 1 if piece[0][0] == "?" else _UNBOUNDED if most is None else max(most - least + 1, 1)
        before = kind
    return nested, unbounded, readings


def _bounds(count: str) -> tuple[int, int | None]:
    """The least and the most that a piece is there; None for no bound."""
    if count[0] in "*+?":
        return int(count[0] == "+"), 1 if count[0] == "?" else None
    least, comma, most = count.rstrip("?+").strip("{}").partition(",")
    return int(least or 0), (int(most) if most else None) if comma else int(least)
