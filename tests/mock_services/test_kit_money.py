from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cowork_gym.mock_services.kit.money import exponent, from_minor, to_minor

CURRENCIES = st.sampled_from(["USD", "JPY", "KWD", "usd", ""])


@pytest.mark.parametrize(("currency", "decimals"), [("USD", 2), ("cny", 2), ("JPY", 0), ("krw", 0), ("KWD", 3), ("", 2)])
def test_decimals_of_a_currency(currency, decimals):
    assert exponent(currency) == decimals


@given(st.integers(-(2**63) + 1, 2**63 - 1), CURRENCIES)
def test_minor_units_come_back(minor, currency):
    amount = from_minor(minor, currency)
    assert to_minor(amount, currency) == to_minor(str(amount), currency) == minor


@given(st.integers(-(10**9), 10**9))
def test_a_float_is_the_number_that_it_shows(minor):
    assert to_minor(minor / 100, "USD") == minor


@pytest.mark.parametrize("amount", [
    "1.005", 0.001, Decimal("1e-30"), Decimal("0." + "0" * 50 + "1"), "1e400", "-1e-400", float("nan"), float("-inf"), "", "1,000",
    "12 USD", True, 2**63,
])
def test_what_is_no_amount_is_refused(amount):
    with pytest.raises(ValueError, match=r"amount|decimals"):
        to_minor(amount, "USD")


def test_zero_and_signs():
    assert [to_minor(one, "USD") for one in (0, "-0", "0.000", "-1.10", "+2", "1e2")] == [0, 0, 0, -110, 200, 10000]
