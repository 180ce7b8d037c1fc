"""The split: fixed by the name, even over categories, and no twins on different sides."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cowork_gym.core.errors import UserError
from cowork_gym.synthesis.release.split import hold_out

MANY = {f"{category}{number:02}": category for category, size in (("main", 25), ("safety", 12), ("triage", 10), ("zh", 3)) for number in range(size)}


def test_each_category_gives_its_share() -> None:
    held = hold_out(MANY, (), 0.2, "core-1")
    assert Counter(MANY[one] for one in held) == {"main": 5, "safety": 2, "triage": 2, "zh": 1}


def test_the_split_is_fixed_by_the_name() -> None:
    held = hold_out(MANY, (), 0.2, "core-1")
    assert hold_out(dict(reversed(MANY.items())), (), 0.2, "core-1") == held
    assert hold_out(MANY, (), 0.2, "core-2") != held


def test_twins_stay_together() -> None:
    pairs = [("main00", "main01"), ("main01", "safety00"), ("triage01", "triage00")]
    for number in range(30):
        held = hold_out(MANY, pairs, 0.3, f"core-{number}")
        assert all((one in held) is (other in held) for one, other in pairs)


@settings(max_examples=60)
@given(
    st.dictionaries(st.integers(0, 40).map(lambda n: f"T{n}"), st.sampled_from("abc"), min_size=2, max_size=30),
    st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)), max_size=12), st.floats(0.01, 0.99),
)
def test_both_sides_have_something_and_no_pair_is_parted(categories: dict[str, str], numbers: list[tuple[int, int]], fraction: float) -> None:
    ids = sorted(categories)
    pairs = [(ids[one % len(ids)], ids[other % len(ids)]) for one, other in numbers]
    try:
        held = hold_out(categories, pairs, fraction, "name")
    except UserError:
        group = {ids[0]}
        for _ in ids:
            group |= {id for pair in pairs if group & {*pair} for id in pair}
        assert group == {*ids}  # all alike
        return
    assert held and held < categories.keys()
    assert all((one in held) is (other in held) for one, other in pairs)


def test_what_cannot_be_divided_is_told() -> None:
    with pytest.raises(UserError, match="2 tasks, all of them alike"):
        hold_out({"a": "x", "b": "x"}, [("a", "b")], 0.5, "name")
    with pytest.raises(UserError, match="1 task, all of them alike"):
        hold_out({"a": "x"}, (), 0.5, "name")


@pytest.mark.parametrize("fraction", [0, 1, -0.5, 2, float("nan")])
def test_a_share_is_between_0_and_1(fraction: float) -> None:
    with pytest.raises(UserError, match="between 0 and 1"):
        hold_out(MANY, (), fraction, "name")
