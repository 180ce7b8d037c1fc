"""Money: exact amounts in and out, whole minor units inside."""

from decimal import Decimal, InvalidOperation
from fractions import Fraction

__all__ = ["exponent", "from_minor", "to_minor"]

_EXPONENTS = {  # ISO 4217; every other currency has two
    **dict.fromkeys(("BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND", "VUV", "XAF", "XOF", "XPF"), 0),
    **dict.fromkeys(("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"), 3),
}


def exponent(currency: str) -> int:
    """How many decimals a currency has (ISO 4217)."""
    return _EXPONENTS.get(currency.upper(), 2)


def to_minor(amount: Decimal | int | float | str, currency: str) -> int:
    """An amount in minor units. A float counts as the number that its shortest text names.

    Raises:
        ValueError: It is no number, has more decimals than the currency, or does not fit into 64 bits.
    """
    if isinstance(amount, bool):
        raise ValueError(f"{amount} is not an amount")
    try:
        exact = Decimal(repr(amount) if isinstance(amount, float) else amount)
    except InvalidOperation:
        raise ValueError(f"{amount!r} is not an amount") from None
    if not exact.is_finite() or (exact and not -40 < exact.adjusted() < 19):
        raise ValueError(f"{exact} is not an amount that can be kept")
    minor = Fraction(exact) * int(10 ** exponent(currency))  # a Decimal would round to its context's 28 digits
    if minor.denominator != 1:
        raise ValueError(f"{exact} has more decimals than {currency or 'an amount'} can have: {exponent(currency)}")
    if minor.numerator.bit_length() > 63:
        raise ValueError(f"{exact} is not an amount that can be kept")
    return minor.numerator


def from_minor(minor: int, currency: str) -> Decimal:
    """Minor units as an amount."""
    return Decimal(minor).scaleb(-exponent(currency))
