"""Numbers in what agents write: exact and finite, never guessed from a null, a word or an expression."""

import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

__all__ = ["exact", "near", "numbers_in", "whole_number"]

_LONGEST = 80
"""Characters of a number; what is longer is not a number that anyone meant."""
_MAGNITUDE = 40
"""Powers of ten that a number may be away from 1, as in `core.canonical`."""

_DIGITS = r"(?:\d{1,3}(?:,\d{3})++|\d++)(?:\.\d++)?(?:[eE][+-]?\d{1,2})?"
_SIGNS = "$€£¥₹₩"
_PREFIX = rf"(?:[+-]?[{_SIGNS}]\s?|[{_SIGNS}]\s?[+-]|[+-])?"
_CODE = r"(?:USD|EUR|GBP|CHF|JPY|CNY|RMB)"
_WHOLE = re.compile(rf"(?:{_CODE}\s?)?({_PREFIX})({_DIGITS})\s?(?:[{_SIGNS}元円]|{_CODE})?\.?")
_MENTION = re.compile(
    r"(?<![A-Za-z0-9_])(?<![A-Za-z0-9_]-)(?<!\d[.,:/])"  # T-33, v2.1, 2026-01-05 and 10:30 mention no 33, 1, 5 or 30
    rf"({_PREFIX})({_DIGITS})"
    r"(?![A-Za-z0-9_])(?![-.,:/]\d)"
)
_SPELLINGS = str.maketrans({"−": "-", "⁄": "/", "－": "-", "＄": "$", "￥": "¥"})


def exact(value: Any) -> Decimal | None:
    """A number as an exact decimal; None for anything else: booleans, texts, null, NaN, infinities."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    if isinstance(value, int) and value.bit_length() > 4 * _MAGNITUDE:
        return None
    number = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not number.is_finite() or len(number.as_tuple().digits) > _LONGEST:
        return None
    return number if not number or abs(number.adjusted()) <= _MAGNITUDE else None


def whole_number(text: str) -> Decimal | None:
    """The number that a text consists of: `1,234.50`, `$33.00`, `33 EUR`; None when there is anything else in it."""
    if len(text) > _LONGEST:
        return None
    found = _WHOLE.fullmatch(text.translate(_SPELLINGS).strip())
    return _number(found) if found else None


def numbers_in(text: str) -> tuple[Decimal, ...]:
    """Every number that a text mentions, in order; parts of identifiers, dates, times and versions are none."""
    read = (_number(found) for found in _MENTION.finditer(text.translate(_SPELLINGS)))
    return tuple(number for number in read if number is not None)


def near(found: Decimal, expected: Decimal, tolerance: Decimal) -> bool:
    """Whether two numbers differ by no more than the tolerance, computed exactly."""
    return abs(Fraction(found) - Fraction(expected)) <= Fraction(tolerance)


def _number(found: re.Match[str]) -> Decimal | None:
    digits = found[2].replace(",", "")
    if len(digits) > _LONGEST:
        return None
    return exact(Decimal(f"-{digits}" if "-" in found[1] else digits))
