"""The formulas of merging against what was computed by hand, and what they are promised to leave alone."""

import math

import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from cowork_gym.trainers.merge import cosine, slerp, soup, task_arithmetic, ties, trim  # noqa: E402


def _t(*values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype)


def test_bfloat16_parents_are_added_in_float32():
    parents = [_t(value, dtype=torch.bfloat16) for value in (256.0, 1.0, 1.0)]
    merged = soup(parents)
    assert merged.dtype is torch.bfloat16
    assert merged.item() == 86.0
    assert (sum(parents[1:], parents[0]) / 3).item() == 85.5


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-8, 8, width=32), min_size=1, max_size=6), st.integers(1, 5))
def test_equal_parents_are_their_own_mean(values, count):
    parent = torch.tensor(values, dtype=torch.float16)
    assert torch.equal(soup([parent] * count), parent)


def test_a_soup_does_not_write_into_its_parents_and_takes_them_one_by_one():
    alive = []

    def parents():
        for value in (1.0, 2.0, 6.0):
            alive.append(value)
            yield _t(value, value)

    first = _t(1.0, 2.0)
    assert soup(parents()).tolist() == [3.0, 3.0]
    assert alive == [1.0, 2.0, 6.0]
    soup([first, _t(5.0, 5.0)])
    assert first.tolist() == [1.0, 2.0]


def test_weights_of_a_soup_are_shares():
    assert soup([_t(0.0), _t(4.0)], [1, 3]).item() == 3.0
    assert soup([_t(0.0), _t(4.0)], [0.1, 0.3]).item() == pytest.approx(3.0)


@pytest.mark.parametrize(("tensors", "weights", "problem"), [
    ([], None, "nothing to merge"), ([_t(1.0), _t(1.0, 2.0)], None, r"shapes \[1\] and \[2\] differ"), ([_t(1.0)], [-1.0], "have no mean"),
    ([_t(1.0)], [math.nan], "have no mean"), ([_t(1.0)], [0.0], "have no mean"), ([_t(1.0)], [1.0, 1.0], "2 weights, and fewer tensors"),
    ([_t(1.0), _t(1.0)], [1.0], "1 weights, and more tensors"),
])
def test_what_has_no_mean(tensors, weights, problem):
    with pytest.raises(ValueError, match=problem):
        soup(tensors, weights)


def test_slerp_goes_along_the_arc():
    half = math.sqrt(0.5)
    assert slerp(_t(1.0, 0.0), _t(0.0, 1.0), 0.5).tolist() == pytest.approx([half, half])
    assert slerp(_t(1.0, 0.0), _t(0.0, 1.0), 1 / 3).tolist() == pytest.approx([math.cos(math.pi / 6), 0.5])
    assert slerp(_t(2.0, 0.0), _t(0.0, 1.0), 0.5).tolist() == pytest.approx([2 * half, half]), "coefficients act on the tensors as they are"


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_slerp_ends_at_its_parents_and_mirrors(seed):
    torch.manual_seed(seed)
    a, b = torch.randn(2, 3, dtype=torch.float64), torch.randn(2, 3, dtype=torch.float64)
    assert torch.allclose(slerp(a, b, 0.0), a) and torch.allclose(slerp(a, b, 1.0), b)
    assert torch.allclose(slerp(a, b, 0.3), slerp(b, a, 0.7))


@pytest.mark.parametrize(("a", "b", "expected"), [
    ((1.0, 0.0), (2.0, 0.001), [1.5, 0.0005]), ((1.0, 0.0), (-3.0, 0.0), [-1.0, 0.0]), ((0.0, 0.0), (2.0, 4.0), [1.0, 2.0]), ((0.0,), (0.0,), [0.0]),
])
def test_slerp_is_a_line_where_there_is_no_arc(a, b, expected):
    assert slerp(_t(*a), _t(*b), 0.5).tolist() == pytest.approx(expected)


def test_slerp_stays_between_its_parents():
    for t in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="must be between 0 and 1"):
            slerp(_t(1.0), _t(1.0), t)


def test_task_arithmetic_adds_up_changes():
    base, parents = _t(1.0, 1.0), [_t(2.0, 1.0), _t(1.0, 3.0)]
    assert task_arithmetic(base, parents).tolist() == [2.0, 3.0]
    assert task_arithmetic(base, parents, [0.5, -1.0]).tolist() == [1.5, -1.0]
    assert task_arithmetic(base, parents, [1.0, 1.0], lam=0.5, normalize=True).tolist() == [1.25, 1.5]
    for more, problem in (({"weights": [1.0, -1.0], "normalize": True}, "add up to 0"), ({"weights": [math.inf, 1.0]}, "not all finite")):
        with pytest.raises(ValueError, match=problem):
            task_arithmetic(base, parents, **more)
    with pytest.raises(ValueError, match="nothing to merge"):
        task_arithmetic(base, [])


def test_ties_step_by_step():
    found = ties(_t(1, 1, 1, 1.0), [_t(1.5, 0.8, 1.1, 1.0), _t(1.3, 1.4, 0.5, 1.05)], 0.5)
    assert found.trimmed[0].tolist() == pytest.approx([0.5, -0.2, 0, 0])
    assert found.trimmed[1].tolist() == pytest.approx([0, 0.4, -0.5, 0])
    assert found.elected_sign.tolist() == [1, 1, -1, 1]
    assert found.merged.tolist() == pytest.approx([1.5, 1.4, 0.5, 1.0])


def test_ties_weighs_votes_and_means():
    base, parents = _t(0.0), [_t(1.0), _t(2.0), _t(-2.5)]
    assert ties(base, parents, 1.0).merged.item() == 1.5
    assert ties(base, parents, 1.0, [1.0, 1.0, 2.0]).merged.item() == -2.5
    assert ties(base, parents, 1.0, [3.0, 1.0, 1.0]).merged.item() == 1.25
    assert ties(base, parents, 1.0, lam=2.0).merged.item() == 3.0
    for weights in ([1.0, 0.0, 1.0], [1.0, -1.0, 1.0]):
        with pytest.raises(ValueError, match="each must be above 0"):
            ties(base, parents, 1.0, weights)


def test_ties_leaves_what_nobody_changed():
    assert ties(_t(3.0, 4.0), [_t(3.0, 4.0)] * 2, 0.5).merged.tolist() == [3.0, 4.0]
    assert ties(_t(0.0), [_t(1.0), _t(-1.0)], 1.0).merged.item() == 1.0, "a tie counts as +"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-4, 4), min_size=1, max_size=12), st.sampled_from([0.1, 0.29, 0.5, 0.7, 1.0]))
def test_trimming_keeps_the_largest_and_of_equal_ones_the_first(values, density):
    kept = max(1, math.floor(density * len(values) + 1e-9))
    order = sorted(range(len(values)), key=lambda at: (-abs(values[at]), at))[:kept]
    expected = [float(value) if at in order else 0.0 for at, value in enumerate(values)]
    assert trim(torch.tensor(values, dtype=torch.float32), density).tolist() == expected


def test_a_share_of_whole_entries_is_not_lost_to_binary_fractions():
    assert trim(torch.arange(1.0, 101.0), 0.29).count_nonzero() == 29
    for density in (0.0, -1.0, 1.5, math.nan):
        with pytest.raises(ValueError, match="must be above 0 and at most 1"):
            trim(_t(1.0), density)


def test_the_cosine_of_nothing():
    assert cosine(_t(0.0, 0.0), _t(1.0, 0.0)) == 0.0
    assert cosine(_t(0.0), _t(0.0)) == 1.0
    assert cosine(_t(1.0, 2.0), _t(2.0, 4.0)) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="differ"):
        cosine(_t(1.0), _t(1.0, 2.0))
