"""Where variable texts stand: whole words, all at once, days and expressions included."""

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cowork_gym.envs.variation.dates import moved, vague_dates
from cowork_gym.envs.variation.finder import Finder
from cowork_gym.envs.variation.rewriter import Rewriter


def _write(text: str, pairs: dict[str, str], weeks: int = 0) -> str:
    return Rewriter(Finder(pairs, dates=weeks > 0), pairs, weeks=weeks).text(text)


@pytest.mark.parametrize(("text", "expected"), [
    ("CUS-10 and CUS-101", "X and CUS-101"),
    ("(CUS-10), CUS-10. CUS-10's", "(X), X. X's"),
    ("aCUS-10 CUS-10a CUS-10é", "aCUS-10 CUS-10a CUS-10é"),
    ("report_CUS-10.csv and 客户CUS-10的", "report_X.csv and 客户X的"),
    ("CUS-10-2", "X-2"),
    (r"(?i)\bCUS-10\b", r"(?i)\bX\b"),
    ("${crm_get.CUS-10} CUS-10", "${crm_get.CUS-10} X"),
    ("nothing", "nothing"),
])
def test_ids_are_whole_words(text: str, expected: str) -> None:
    assert _write(text, {"CUS-10": "X"}) == expected


@pytest.mark.parametrize(("text", "expected"), [
    ("pay 12.40 now", "pay N now"), ("EUR 12.40, then 12.40.", "EUR N, then N."), ("金额12.40元", "金额N元"), ("-12.40", "-N"), ("$12.40", "$N"),
    ("112.40 12.405 1,12.40 12.40.1 12.40,5", "112.40 12.405 1,12.40 12.40.1 12.40,5"),
    ("INV-12.40 v12.40", "INV-12.40 v12.40"), (r"^12\.40$", "^N$"),
])
def test_numbers_are_whole_numbers(text: str, expected: str) -> None:
    assert _write(text, {"12.40": "N"}) == expected


def test_everything_is_replaced_at_once_and_the_longest_first() -> None:
    assert _write("A-1 A-2 A-1 B", {"A-1": "A-2", "A-2": "A-1", "A-1 B": "C"}) == "A-2 A-1 C"
    assert _write("王芳芳和王芳", {"王芳": "李娜", "王芳芳": "赵敏"}) == "赵敏和李娜"
    assert _write("#ops #opsx", {"#ops": "#all"}) == "#all #opsx"


def test_what_an_expression_escapes_is_escaped_again() -> None:
    assert _write(r"shop\.acme\.example", {"acme.example": "b.c"}) == r"shop\.b\.c"


@pytest.mark.parametrize(("text", "expected"), [
    ("2026-03-10", "2026-03-24"), ("2026-12-28T08:00:00Z", "2027-01-11T08:00:00Z"), ("on 10 March 2026.", "on 24 March 2026."),
    ("25 Mar 2026", "8 Apr 2026"), ("March 25, 2026", "April 8, 2026"), ("08 June\n2026", "22 June\n2026"), ("2026年3月25日前", "2026年4月8日前"),
    ("2026年03月02号", "2026年03月16号"), ("report_2026-03-10.csv", "report_2026-03-24.csv"),
    ("2026-02-30 and 12026-03-10", "2026-02-30 and 12026-03-10"),
    ("9999-12-31", "9999-12-31"), ("Tuesday, 10 March 2026", "Tuesday, 24 March 2026"),
])
def test_days_move_by_whole_weeks(text: str, expected: str) -> None:
    assert _write(text, {}, weeks=2) == expected


@given(st.dates(), st.integers(1, 40))
@settings(max_examples=60)
def test_moving_keeps_the_weekday_and_the_spelling(day, weeks) -> None:
    for text in (day.isoformat(), f"{day.day} {day:%B} {day.year:04d}", f"{day:%B} {day.day}, {day.year:04d}"):
        new = moved(text, weeks)
        assert new == text or len(new.split()) == len(text.split())
        assert moved(new, -weeks) == text


@pytest.mark.parametrize("text", [
    "10 March", "by March 10", "10th of March 2026", "3/10/26", "10.03.2026", "2026/03/10", "in 2026-03", "20260310", "3月10日", "12月", "Q1 2026",
    "March 2026", "the 5th Sept", r"2026-03-1\d",
])
def test_vague_dates_are_seen(text: str) -> None:
    assert [*vague_dates(text)]


@pytest.mark.parametrize("text", ["in March we march", "3个月", "2026", "1.2.3", "PO-2026-0113", "5 marches", "24/7", "v2026-03"])
def test_other_texts_are_no_dates(text: str) -> None:
    assert not [*vague_dates(text)]


TOKENS = st.lists(st.text(string.ascii_uppercase, min_size=1, max_size=3).map(lambda one: one + "-1"), min_size=1, max_size=6, unique=True)


@given(TOKENS, st.data())
@settings(max_examples=60)
def test_what_was_written_can_be_read_back(tokens, data) -> None:
    pairs = {old: f"{old}{number}" for number, old in enumerate(tokens, 10)}
    glue = data.draw(st.lists(st.sampled_from([" ", ", ", "_", "证书", ".", "\n", "(x) "]), min_size=len(tokens), max_size=len(tokens)))
    text = "".join(one + token for one, token in zip(glue, tokens, strict=True))
    there = _write(text, pairs)
    assert not any(f"{token}" in Finder(tokens).found(there) for token in tokens)
    assert _write(there, {new: old for old, new in pairs.items()}) == text
