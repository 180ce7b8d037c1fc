"""Regular expressions that an agent's text cannot stall: what may take exponential or cubic time is refused when it is read."""

import re

from cowork_gym.graders.matchers.matcher import MatcherError

__all__ = ["compile_pattern"]

_PIECE = re.compile(
    r"\(\?#[^)]*\)|(?P<open>\()|(?P<close>\))|\\?[?]|(?P<count>(?:[*+]|\{(?:\d+,?\d*|,\d*)\})[?+]?)"
    r"|(?P<wild>\.|\\[DSW]|\[\^\]?(?:\\.|[^\\\]])*\])|\\.|\[\]?(?:\\.|[^\\\]])*\]|.",
    re.DOTALL,
)
"""The pieces of an expression: of those that stand for one character, the wild ones are told apart."""


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """A regular expression that is safe to search an agent's text with.

    Raises:
        MatcherError: It is none, or it repeats what is itself repeated without bound, or has several wildcards without bound.
    """
    try:
        compiled = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise MatcherError(f"not a regular expression: {error}") from None
    nested, wildcards = _repeats(pattern)
    if nested:
        raise MatcherError("repeats what is already repeated, which may take for ever: write (?:ab+c)? or a+, not (a+)+")
    if wildcards > 1:
        raise MatcherError("has several wildcards without a bound, which may take very long: give them one, such as .{0,60}")
    return compiled


def _repeats(pattern: str) -> tuple[bool, int]:
    """Whether an unbounded repetition is itself repeated, and how many wildcards are repeated without bound."""
    loose, before, nested, wildcards = [False], "", False, 0  # for each open group, whether there is an unbounded repetition in it
    for piece in _PIECE.finditer(pattern):
        kind = piece.lastgroup or ""
        if kind == "open":
            loose.append(False)
        elif kind == "close":
            kind, loose = "loose" if loose[-1] else "", loose[:-1] or [False]
            loose[-1] |= kind == "loose"
        elif kind == "count":
            unbounded = piece[0][0] in "*+" or ",}" in piece[0]
            loose[-1] |= unbounded
            nested |= before == "loose"
            wildcards += unbounded and before == "wild"
        before = kind
    return nested, wildcards
