"""What a variation file may say: everything else is refused with the field and the nearest valid choice."""

from typing import Any

import pytest

from cowork_gym.core.errors import PackageError
from cowork_gym.envs.variation import parse_variation

INVOICE = {"value": "1240.50", "low": "200.00", "high": "4000.00"}
NOISE = {"table": "helpdesk.tickets", "max": 2, "record": {"ticket_id": {"id": "TCK"}}}


def _noise(**record: Any) -> dict[str, Any]:
    return {"noise": [{**NOISE, "record": {**NOISE["record"], **record}}]}  # type: ignore[dict-item]


@pytest.mark.parametrize(("content", "where", "problem"), [
    ({}, "", "varies nothing: declare something, or remove the file"),
    ({"order": 1}, "order", "input should be a valid boolean, not 1"),
    ({"namse": {}}, "namse", "unknown key: did you mean 'names'?"),
    ({"ids": "some"}, "ids", 'expected all, or a list of ids, not "some"'),
    ({"ids": []}, "ids", "expected all, or a list of ids, not []"),
    ({"names": {"Ada": "persom"}}, "names.Ada", "unknown kind \"persom\", did you mean 'person'?"),
    ({"names": {"O'Hara": "person"}}, "names.O'Hara", "expected letters, without quotes"),
    ({"names": ["Ada"]}, "names", 'expected a mapping from names to what they are of, not ["Ada"]'),
    ({"amounts": {"a": {**INVOICE, "lo": 1}}}, "amounts.a.lo", "unknown key: did you mean 'low'?"),
    ({"amounts": {"a": {"value": "12"}}}, "amounts.a", "an amount has low and high, or one of sum, difference and product"),
    ({"amounts": {"a": {**INVOICE, "sum": ["b", 1]}}}, "amounts.a", "an amount has low and high, or one of sum, difference and product"),
    ({"amounts": {"a": {**INVOICE, "low": "5000"}}}, "amounts.a", "low is 5000, which is not less than 4000.00"),
    ({"amounts": {"a": {**INVOICE, "value": "a lot"}}}, "amounts.a.value", 'expected a number such as 1240.50, not "a lot"'),
    ({"amounts": {"a": {**INVOICE, "value": 0}}}, "amounts.a.value", "expected a number above 0 and under 10^15, with at most 6 decimals, not 0"),
    ({"amounts": {"inv": INVOICE, "b": {"value": 3, "sum": ["inw", 1]}}}, "amounts.b", "no amount 'inw', did you mean 'inv'?"),
    ({"amounts": {"a": INVOICE, "b": {"value": "1240.60", "sum": ["a", "0.2"]}}}, "amounts.b.value",
     "is 1240.60, but what it is computed from gives 1240.70"),
    ({"amounts": {"a": INVOICE, "b": {"value": "248.11", "product": ["a", "0.2"]}}}, "amounts.b.value",
     "is 248.11, but what it is computed from gives 248.10"),
    ({"amounts": {"a": {"value": 2, "difference": ["b", 1]}, "b": {"value": 3, "sum": ["a", 1]}}}, "amounts.a", "is computed from itself"),
    ({"amounts": {"a": INVOICE, "b": INVOICE}}, "amounts.b.value", "is that of a, too: nothing would tell which of them is meant"),
    ({"choose": [[{"a1": "a1"}]]}, "choose[0]", 'expected a list of two mappings or more, the first as the package has it, not [{"a1":"a1"}]'),
    ({"choose": [[{"a1": "b1"}, {"a1": "c1"}]]}, "choose[0][0].a1", 'the first alternative is what the package says: "a1", not "b1"'),
    ({"choose": [[{"a1": "a1"}, {"a1": "c1", "b": "d"}]]}, "choose[0][1]", "the first alternative has no \"b\", choose from a1"),
    ({"choose": [[{"a1": "a1", "b": "b"}, {"a1": "c1"}]]}, "choose[0][1]", 'says nothing of "b"'),
    ({"choose": [[{"a1": "a1", "b": "b"}, {"a1": "c", "b": "c"}]]}, "choose[0][1]",
     "gives two texts the same form, so that nothing could tell them apart"),
    ({"choose": [[{"a1": "a1"}, {"a1": 2}]]}, "choose[0][1].a1", "expected a text, not 2; numbers that are no texts belong to amounts"),
    ({"choose": [[{"a": "a"}, {"a": "b"}], [{"a": "a"}, {"a": "c"}]]}, "choose[1]", '"a" is a part of choose[0], too'),
    ({"dates": "days"}, "dates", "input should be 'weeks', not \"days\""),
    ({"wordings": [" "]}, "wordings[0]", 'expected a text that can be read, not " "'),
    ({"noise": [{**NOISE, "table": "tickets"}]}, "noise[0].table", None),
    ({"noise": [{**NOISE, "min": 3}]}, "noise[0]", "min is 3, which is more than 2"),
    (_noise(title={"sentense": 3}), "noise[0].record.title", "unknown maker 'sentense': did you mean 'sentence'?"),
    (_noise(title={"sentence": 0}), "noise[0].record.title.sentence", "expected a number of words from 1 to 200, not 0"),
    (_noise(title={"one_of": []}), "noise[0].record.title.one_of", "expected a list of one value or more, not []"),
    (_noise(tags=["a", {"person": False}]), "noise[0].record.tags[1].person", "expected true, not false"),
    (_noise(fee={"amount": ["9", "1"]}), "noise[0].record.fee.amount", None),
    (_noise(day={"date": ["2026-03-01", "tomorrow"]}), "noise[0].record.day.date", None),
    (_noise(at={"time": ["2026-03-01T08:00:00Z"]}), "noise[0].record.at.time", None),
    (_noise(number={"integer": [1, "2"]}), "noise[0].record.number.integer", None),
    (_noise(key={"id": "T1"}), "noise[0].record.key.id", 'expected what an id begins with, such as TCK, not "T1"'),
    (_noise(both={"person": True, "company": True}), "noise[0].record.both", None),
])
def test_what_is_refused(content: dict[str, Any], where: str, problem: str | None) -> None:
    with pytest.raises(PackageError) as caught:
        parse_variation({"schema_version": 1, **content}, "private/variation.yaml")
    assert (caught.value.path, caught.value.where) == ("private/variation.yaml", where), caught.value
    assert problem is None or caught.value.problem == problem


def test_no_mapping_is_refused() -> None:
    with pytest.raises(PackageError, match="expected a mapping"):
        parse_variation([], "v.yaml")  # type: ignore[arg-type]


def test_what_is_read() -> None:
    read = parse_variation({"schema_version": 1, "ids": "all", "amounts": {
        "net": {"value": "100.00", "low": 50, "high": 200}, "tax": {"value": "19.00", "product": ["net", "0.19"]},
        "rest": {"value": "81.00", "difference": ["net", "tax"]},
    }}, "v.yaml")
    assert read.ids == ["all"]
    assert str(read.amounts["net"].unit) == "0.01"
    assert read.amounts["rest"].operands == ("net", "tax")
