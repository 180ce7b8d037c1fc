"""Packing: nothing cut, nothing lost, rows as full as they can be, members that cannot see each other."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cowork_gym.trainers.data.sft.packing import Layout, Packed, allowed_pairs, layout, pack

lengths = st.lists(st.integers(1, 60), max_size=40)
capacities = st.integers(1, 50)


def test_the_published_case():
    assert pack([50, 40, 30, 30, 20, 90, 130], 100) == Packed(((5,), (0, 1), (2, 3, 4)), (6,))


@given(lengths, capacities)
def test_every_sample_is_in_one_row_or_dropped_whole(values, capacity):
    found = pack(values, capacity)
    assert sorted([at for row in found.bins for at in row] + [*found.dropped]) == [*range(len(values))]
    assert all(sum(values[at] for at in row) <= capacity for row in found.bins)
    assert [*found.dropped] == [at for at, one in enumerate(values) if one > capacity]


@given(lengths, capacities)
def test_it_is_best_fit_decreasing_with_ties_by_index(values, capacity):
    rows = []
    for at in sorted(range(len(values)), key=lambda at: (-values[at], at)):
        if values[at] <= capacity:
            fitting = [row for row in rows if sum(values[one] for one in row) + values[at] <= capacity]
            best = max(fitting, key=lambda row: sum(values[one] for one in row), default=None)  # the first of equals, as in order of making
            if best is None:
                rows.append(best := [])
            best.append(at)
    assert [*map(list, pack(values, capacity).bins)] == rows


def test_many_samples_are_packed_in_a_moment_and_tightly():
    generator = random.Random(1)
    values = [generator.randint(200, 9000) for _ in range(30_000)]
    found = pack(values, 32_768)
    assert sum(values) / (len(found.bins) * 32_768) > 0.99


def test_the_published_layout():
    found = layout([3, 2, 4], 10)
    assert found == Layout((0, 1, 2, 0, 1, 0, 1, 2, 3, 0), (0, 3, 5, 9), (0, 0, 0, 1, 1, 2, 2, 2, 2, -1))
    assert allowed_pairs(found) == 19


@given(st.lists(st.integers(1, 9), max_size=8), st.integers(0, 5))
def test_pairs_are_those_of_one_member_in_order(values, padding):
    found = layout(values, max(sum(values) + padding, 1))
    ids = found.sequence_ids
    assert allowed_pairs(found) == sum(ids[query] == ids[key] >= 0 for query in range(len(ids)) for key in range(query + 1))
    assert len(found.position_ids) == len(ids) and found.cu_seqlens[-1] == sum(values)


@pytest.mark.parametrize(("values", "capacity", "told"), [
    ([3, 0], 5, "sample 1 has 0"), ([-1], 5, "sample 0 has -1"), ([1], 0, "cannot have 0 tokens"),
])
def test_what_cannot_be_packed_is_told(values, capacity, told):
    for one in (pack, layout):
        with pytest.raises(ValueError, match=told):
            one(values, capacity)


def test_members_that_do_not_fit_are_told():
    with pytest.raises(ValueError, match="2 samples of 6 tokens do not fit into a row of 5"):
        layout([3, 3], 5)
