"""Amounts: numbers that seeds redraw, and those that follow from them."""

import re
from collections.abc import Collection, Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal, localcontext
from random import Random
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from cowork_gym.core.errors import nearest
from cowork_gym.envs.package_files import Shape
from cowork_gym.envs.variation.names import Pairs
from cowork_gym.graders.matchers import show
from cowork_gym.graders.numerals import exact
from cowork_gym.graders.problems import Problem

__all__ = ["Amount", "Operand", "amount_pairs", "amount_problems", "draw_amounts"]

_TRIES, _DRAWS = 100, 50
_MOST_DECIMALS = 6
_TOO_MUCH, _DIGITS = Decimal(10) ** 15, 500
_PLAIN = re.compile(r"-?\d{1,30}(\.\d{1,10})?")


def _number(value: Any) -> Decimal:
    """A number as it was written, so that its decimals say what a unit is."""
    number = Decimal(value) if isinstance(value, str) and _PLAIN.fullmatch(value) else exact(value)
    if number is None:
        raise ValueError(f"expected a number such as 1240.50, not {show(value)}")
    return number


def _positive(value: Any) -> Decimal:
    number = _number(value)
    if not 0 < number < _TOO_MUCH or int(number.as_tuple().exponent) < -_MOST_DECIMALS:
        raise ValueError(f"expected a number above 0 and under 10^15, with at most {_MOST_DECIMALS} decimals, not {show(value)}")
    return number


def _operand(value: Any) -> "str | Decimal":
    try:
        return _number(value)
    except ValueError:
        if isinstance(value, str) and value:
            return value
        raise ValueError(f"expected the name of an amount or a number, not {show(value)}") from None


Operand = Annotated[str | Decimal, BeforeValidator(_operand)]
"""The name of another amount, or a number."""
_Positive = Annotated[Decimal, BeforeValidator(_positive)]
_Pair = Annotated[list[Operand], Field(min_length=2, max_length=2)]


class Amount(Shape):
    """A number of the package: redrawn between two others, or computed from other amounts."""

    value: _Positive
    """What stands in the package. It has as many decimals as it is written with."""
    low: _Positive | None = None
    high: _Positive | None = None
    sum: Annotated[list[Operand], Field(min_length=2)] | None = None
    difference: _Pair | None = None
    product: _Pair | None = None

    @model_validator(mode="after")
    def _one_way(self) -> "Amount":
        ways = [name for name in ("low", "sum", "difference", "product") if getattr(self, name) is not None]
        if len(ways) != 1 or (self.low is None) is not (self.high is None):
            raise ValueError("an amount has low and high, or one of sum, difference and product")
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise ValueError(f"low is {self.low}, which is not less than {self.high}")
        return self

    @property
    def operands(self) -> tuple[str | Decimal, ...]:
        """What it is computed from; nothing when it is drawn."""
        return tuple(self.sum or self.difference or self.product or ())

    @property
    def unit(self) -> Decimal:
        """The smallest step that it can be written with."""
        return Decimal(1).scaleb(min(0, int(self.value.as_tuple().exponent)))

    def computed(self, known: Mapping[str, Decimal]) -> Decimal:
        """Its value, rounded half up to its decimals."""
        first, *rest = (known[one] if isinstance(one, str) else one for one in self.operands)
        with localcontext(prec=_DIGITS):
            if self.sum is not None:
                return sum(rest, first).quantize(self.unit, ROUND_HALF_UP)
            return (first * rest[0] if self.product is not None else first - rest[0]).quantize(self.unit, ROUND_HALF_UP)

    def drawn(self, generator: Random) -> Decimal:
        """A value between its bounds."""
        low, high = (int((bound or Decimal(0)) / self.unit) for bound in (self.low, self.high))
        return generator.randint(low, high) * self.unit


def amount_problems(amounts: Mapping[str, Amount]) -> Iterator[Problem]:
    """What is wrong with how amounts follow from each other."""
    known, owners = {name: one.value for name, one in amounts.items()}, dict[Decimal, str]()
    for name, one in amounts.items():
        if (owner := owners.setdefault(one.value, name)) != name:
            yield f"amounts.{name}.value", f"is that of {owner}, too: nothing would tell which of them is meant"
        for operand in one.operands:
            if isinstance(operand, str) and operand not in known:
                yield f"amounts.{name}", f"no amount {operand!r}, {nearest(operand, known)}"
                return
    ordered = _ordered(amounts)
    for name, one in amounts.items():
        if name not in ordered:
            yield f"amounts.{name}", "is computed from itself"
        elif one.operands and (found := one.computed(known)) != one.value:
            yield f"amounts.{name}.value", f"is {one.value}, but what it is computed from gives {found}"


def draw_amounts(amounts: Mapping[str, Amount], generator: Random, taken: Collection[Decimal]) -> dict[str, Decimal] | None:
    """Other values: none that the package has, none twice, and computed ones above 0 and under 10^15.

    Args:
        amounts: What is declared.
        generator: Where chance comes from.
        taken: The numbers of the package.

    Returns:
        The values by name; None when there are none.
    """
    for _ in range(_TRIES):
        values = dict[str, Decimal]()
        for name in _ordered(amounts):
            one = amounts[name]
            for _ in range(1 if one.operands else _DRAWS):
                values[name] = one.computed(values) if one.operands else one.drawn(generator)
                if values[name] not in taken:
                    break
        new = set(values.values())
        if len(new) == len(values) and new.isdisjoint(taken) and all(0 < one < _TOO_MUCH for one in new):
            return values
    return None


def amount_pairs(amount: Amount, new: Decimal) -> Pairs:
    """The ways to write an amount: with all its decimals or without zeros at their end, with and without commas."""
    least = max(0, -int(amount.value.normalize().as_tuple().exponent))
    needed = max(0, -int(new.normalize().as_tuple().exponent))
    for decimals in range(max(2, -int(amount.unit.as_tuple().exponent)), least - 1, -1):
        shown = max(decimals, needed)
        yield f"{amount.value:.{decimals}f}", f"{new:.{shown}f}"
        yield f"{amount.value:,.{decimals}f}", f"{new:,.{shown}f}"


def _ordered(amounts: Mapping[str, Amount]) -> list[str]:
    """The names in an order in which each can be computed, without those that cannot."""
    done, left = list[str](), sorted(amounts)
    while ready := [name for name in left if all(operand in done for operand in amounts[name].operands if isinstance(operand, str))]:
        done += ready
        left = [name for name in left if name not in ready]
    return done
