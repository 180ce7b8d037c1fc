from decimal import Decimal
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from cowork_gym.graders.matchers import parse_matcher, same, show

LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.decimals() | st.text(max_size=20) | st.binary(max_size=4)
VALUES: st.SearchStrategy[Any] = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4), max_leaves=8,
)
NUMBERS = st.integers(-(10**9), 10**9) | st.decimals(-(10**6), 10**6, places=2)
WRITTEN = st.sampled_from([
    0, "x", [1], {"number": 0}, {"mentions_number": 0}, {"contains": "a"}, {"contains_all": ["a"]}, {"contains_any": ["a"]}, {"contains_none": ["a"]},
    {"text": "a"}, {"regex": "a"}, {"set": [1]}, {"date": "2026-01-05"}, {"one_of": [1]}, {"json": 1}, {"json": {"fields": {"a": 1}}},
    {"duration": "4 hours"}, {"sequence": ["a", "b"]}, {"commands": ["a", "b"]},
    {"labelled": {"a": {"text": "b"}}}, {"form": {"a": {"present": False}}},
    {"present": True}, {"fields": {"a": 1}}, {"all": [1, 2]}, {"any": [1, 2]}, {"not": 1},
])


@given(WRITTEN, VALUES)
@settings(max_examples=300)
def test_a_matcher_answers_for_every_value(written: Any, value: Any) -> None:
    matcher = parse_matcher(written)
    assert matcher.matches(value) in (True, False)
    assert parse_matcher({"not": written}).matches(value) is not matcher.matches(value)
    assert "\n" not in show(value) + matcher.describe()


@given(VALUES, VALUES)
def test_sameness_is_symmetric(one: Any, other: Any) -> None:
    assert same(one, other) is same(other, one)


@given(NUMBERS)
def test_a_number_is_the_same_in_every_type(number: int | Decimal) -> None:
    for spelled in (Decimal(number), Decimal(number) * Decimal("1.00"), float(number)):
        assert parse_matcher(number).matches(spelled)
        assert parse_matcher({"number": number}).matches(spelled)
    assert not parse_matcher(number).matches(str(number))
    assert parse_matcher({"number": number}).matches(f"{number:,}")


@given(st.lists(st.integers(0, 3) | st.sampled_from(["a", "b"]), max_size=6), st.randoms(use_true_random=False))
def test_a_set_has_no_order_but_counts(items: list[Any], shuffler: Any) -> None:
    shuffled = shuffler.sample(items, len(items))
    assert parse_matcher({"set": items}).matches(shuffled)
    assert not parse_matcher({"set": items}).matches([*shuffled, 0])


@given(st.text(alphabet="abß ÄéＡ\n\t", min_size=1).filter(str.strip))
def test_case_width_and_spaces_do_not_matter_to_texts(text: str) -> None:
    assert parse_matcher({"text": text}).matches(f"\n {text.upper().replace(' ', '  ')} ")
    assert parse_matcher({"contains": text}).matches(f"before {text.casefold()} after")
