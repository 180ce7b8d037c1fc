import math
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cowork_gym.graders.numerals import exact, near, numbers_in, whole_number


@pytest.mark.parametrize("value", [None, True, False, "", "33", math.nan, math.inf, Decimal("NaN"), [], {}, 10**60, Decimal("1e99"), 1e-99])
def test_what_is_no_number_has_no_exact_form(value: object) -> None:
    assert exact(value) is None


def test_numbers_are_exact() -> None:
    assert exact(33) == exact(33.0) == exact(Decimal("33.00")) == 33
    assert exact(0.1) == Decimal("0.1")
    assert exact(0) == exact(-0.0) == 0


@pytest.mark.parametrize(("text", "number"), [
    ("33", "33"), ("0.00", "0"), (" 33.50 ", "33.5"), ("1,234,567.89", "1234567.89"), ("$33", "33"), ("-$33.00", "-33"), ("$-33", "-33"),
    ("€ 12", "12"), ("12 EUR", "12"), ("USD 12", "12"), ("33元", "33"), ("−5", "-5"), ("+5", "5"), ("3.3e1", "33"), ("33.", "33"), ("３３", "33"),
])
def test_a_text_may_be_a_number(text: str, number: str) -> None:
    assert whole_number(text) == Decimal(number)


@pytest.mark.parametrize("text", [
    "", " ", "null", "NaN", "inf", "-inf", "Infinity", '__import__("os").getpid()', "33 items", "1,23", "12,34", "1.2.3", "0x10", "T-33", "33%",
    "1" * 200, "1e999999999", "--5", "1_000", "$",
])
def test_other_texts_are_none(text: str) -> None:
    assert whole_number(text) is None


@pytest.mark.parametrize(("text", "numbers"), [
    ("The total is $1,234.50, due in 30 days.", ["1234.50", "30"]),
    ("共33元。", ["33"]),
    ("a loss of -$5 (or -5)", ["-5", "-5"]),
    ("**42**, `7`; 3.14.", ["42", "7", "3.14"]),
    ("a 33-day period", ["33"]),
    ("Total - 33", ["33"]),
])
def test_numbers_in_a_text(text: str, numbers: list[str]) -> None:
    assert numbers_in(text) == tuple(map(Decimal, numbers))


@pytest.mark.parametrize("text", ["T-33 and INV_33", "v33", "33k", "2026-01-05", "10:30", "05/01/2026", "1.33.1", "1,33", "KB-33-2"])
def test_parts_of_names_dates_and_versions_are_no_numbers(text: str) -> None:
    assert Decimal(33) not in numbers_in(text)
    assert Decimal(5) not in numbers_in(text)


def test_long_runs_of_digits_cost_little_and_mean_nothing() -> None:
    assert numbers_in("1" * 200_000 + "x") == ()
    assert numbers_in("1" * 200_000) == ()
    assert numbers_in("1.1" * 60_000) == ()


@given(st.integers(-(10**12), 10**12), st.integers(0, 6))
@settings(max_examples=60)
def test_grouped_digits_read_back(units: int, scale: int) -> None:
    number = Decimal(units).scaleb(-scale)
    assert whole_number(f"{number:,f}") == number
    assert numbers_in(f"It is {number:,f} in all") == (number,)


def test_tolerance_is_exact() -> None:
    assert near(Decimal("0.3"), Decimal("0.2"), Decimal("0.1"))
    assert not near(Decimal("0.30000000000000000000000000000000001"), Decimal("0.2"), Decimal("0.1"))
