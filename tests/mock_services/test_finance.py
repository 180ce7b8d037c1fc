import json
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from office import ask, office, refusal, world_of

from cowork_gym.core.errors import PackageError
from cowork_gym.mock_services.finance import Finance


def booking(transaction_id, amount, currency="USD", **fields):
    record = {"transaction_id": transaction_id, "date": "2026-03-10", "amount": amount, "description": "d", **fields}
    return record if currency is None else {**record, "currency": currency}


def books(*records):
    return world_of(Finance, transactions=[*records])


def ids(answer):
    return [one["transaction_id"] for one in answer["transactions"]]


def report(world, transactions, total, **fields):
    return ask(world, "finance_submit_report", title="t", transactions=transactions, total_amount=total, **fields)["report"]


def refused(world, transactions, total):
    return refusal(world, "finance_submit_report", title="t", transactions=transactions, total_amount=total)


def test_the_list_has_every_field_ordered_by_date():
    answer = ask(office(), "finance_list_transactions")
    assert ids(answer) == ["X-1", "X-3", "X-2"] and answer["total"] == 3
    assert answer["transactions"][0]["supplier"] == "Müller & Söhne"


@pytest.mark.parametrize(("filters", "found"), [
    ({"end_date": "2026-03-10"}, ["X-1", "X-3", "X-2"]), ({"end_date": "2026-03-09"}, ["X-1", "X-3"]),
    ({"start_date": "2026-03-10"}, ["X-2"]), ({"start_date": "2026-03-10", "end_date": "2026-03-10"}, ["X-2"]),
    ({"min_amount": 100.1}, ["X-1", "X-3"]), ({"max_amount": 100.1}, ["X-1", "X-2"]), ({"min_amount": 0.2, "max_amount": 0.2}, ["X-2"]),
    ({"min_amount": 100.101}, ["X-3"]), ({"max_amount": 0}, []), ({"status": "pending"}, ["X-2"]), ({"category": "SOFTWARE"}, ["X-1"]),
    ({"customer_id": "C-1", "min_amount": 1000}, []),
])
def test_filters(filters, found):
    assert ids(ask(office(), "finance_list_transactions", **filters)) == found


@pytest.mark.parametrize("filters", [
    {"start_date": "2026-03-10", "end_date": "2026-03-09"}, {"min_amount": 2, "max_amount": 1}, {"start_date": "10.3.2026"},
    {"end_date": "2026-02-30"}, {"min_amount": "5"}, {"min_amount": True},
])
def test_ranges_that_are_none_are_refused(filters):
    assert refusal(office(), "finance_list_transactions", **filters).status == 422


@pytest.mark.parametrize(("written", "currency", "shown"), [
    (1234.56, "USD", "1234.56"), ("1234.50", "EUR", "1234.5"), (7, None, "7"), (0.1, None, "0.1"), (-3.25, "CNY", "-3.25"), ("1000", "JPY", "1000"),
    ("1.005", "KWD", "1.005"), ("92233720368547758.07", "USD", "92233720368547758.07"), (1e3, "USD", "1000"),
])
def test_amounts_are_exact(written, currency, shown):
    outcome = books(booking("X", written, currency)).call("finance_get_transaction", {"transaction_id": "X"})
    assert f'"amount":{shown},' in outcome.text
    assert outcome.value["amount"] == Decimal(shown)
    assert outcome.value.get("currency") == currency


@pytest.mark.parametrize(("amount", "currency"), [
    (10.005, "USD"), ("0.5", "JPY"), ("ten", "USD"), (True, "USD"), ("NaN", "USD"), ("1e30", "USD"), (float("inf"), "USD"), ("1e-999999", "USD"),
    ("100000000000000000.00", "USD"), ("1." + "0" * 40 + "1", "USD"),
])
def test_an_amount_that_cannot_be_kept_is_refused_by_name(amount, currency):
    with pytest.raises(PackageError, match=r"finance\.yaml: transactions\[1\].*amount"):
        books(booking("A", 1), booking("B", amount, currency))


def test_a_report_leaves_its_record():
    world = books(booking("A", 0.1), booking("B", 0.2, "usd"))
    made = report(world, ["B", "A"], 0.3)
    assert made == {
        "report_id": made["report_id"], "title": "t", "transactions": ["B", "A"], "total_amount": Decimal("0.3"), "currency": "USD",
        "timestamp": "2026-03-10T09:00:01Z",
    }
    assert world.ledger[-1].audit == "submitted_reports" and world.ledger[-1].record == made
    [change] = world.diff()
    assert (change.table, change.before, change.after) == ("finance.reports", None, made)


@pytest.mark.parametrize("total", [33, 33.0, Decimal("33.00"), 3.3e1, json.loads("33.000", parse_float=Decimal)])
def test_the_spelling_of_a_total_makes_no_difference(total):
    world, plain = books(booking("A", "33.00")), books(booking("A", 33))
    report(world, ["A"], total)
    report(plain, ["A"], 33)
    assert world.fingerprint() == plain.fingerprint()


def test_a_wrong_total_is_refused_without_the_right_one():
    outcome = refused(books(booking("A", 10.01), booking("B", 20)), ["A", "B"], 30)
    assert outcome.status == 422
    assert "not the sum" in outcome.text and "30.01" not in outcome.text


@pytest.mark.parametrize("total", [10.001, Decimal("10." + "0" * 40 + "1"), 1e30, "10"])
def test_a_total_that_is_no_amount_is_refused(total):
    assert refused(books(booking("A", 10)), ["A"], total).status == 422


def test_a_report_has_one_currency():
    world = books(booking("A", 1), booking("B", 1, "EUR"), booking("C", 1, None), booking("D", 2, None))
    assert "EUR, USD" in refused(world, ["A", "B"], 2).text
    assert "no currency, USD" in refused(world, ["A", "C"], 2).text
    assert "currency" not in report(world, ["C", "D"], 3)


def test_a_report_names_known_transactions_once():
    world = books(booking("A", 1))
    assert refused(world, ["A", "Y", "Z"], 1).value == {"error": "Transaction Y, Z not found", "type": "not_found"}
    assert "repeats A" in refused(world, ["A", "A"], 2).text
    assert refused(world, [], 0).status == 422


@settings(max_examples=40)
@given(st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=6), st.sampled_from(["USD", "JPY", "KWD", None]), st.data())
def test_a_report_takes_the_exact_sum_and_no_other(minor, currency, data):
    digits = {"JPY": 0, "KWD": 3}.get(currency, 2)
    amounts = [Decimal(one).scaleb(-digits) for one in minor]
    world = books(*(booking(f"X{at}", str(amount), currency) for at, amount in enumerate(amounts)))
    chosen = data.draw(st.lists(st.sampled_from(range(len(amounts))), min_size=1, unique=True))
    total, names = sum(amounts[at] for at in chosen), [f"X{at}" for at in chosen]
    off = data.draw(st.integers(-5, 5).filter(bool))
    assert refused(world, names, total + Decimal(off).scaleb(-digits)).status == 422
    assert report(world, names, total)["total_amount"] == total
