"""pass@k, pass^k and padded trials, against counting all draws by hand."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cowork_gym.graders.metrics import Trials, mean_rate, pad_trials, pass_at_k, pass_hat_k

_COUNTS = st.integers(1, 7).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n)))


@settings(max_examples=60, deadline=None)
@given(_COUNTS)
def test_both_are_the_share_of_all_draws(counts):
    n, c, k = counts
    draws = list(itertools.combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, draws)) / len(draws), abs=1e-12)
    assert pass_hat_k(n, c, k) == pytest.approx(sum(map(all, draws)) / len(draws), abs=1e-12)


@pytest.mark.parametrize(("n", "c", "k", "right", "plug_in"), [
    (3, 2, 3, 0.0, 8 / 27), (10, 8, 3, 56 / 120, 0.512), (3, 3, 3, 1.0, 1.0), (4, 2, 2, 1 / 6, 0.25),
])
def test_the_plug_in_form_is_asked_for_by_name(n, c, k, right, plug_in):
    assert pass_hat_k(n, c, k) == pytest.approx(right, abs=1e-12)
    assert pass_hat_k(n, c, k, "plug_in") == pytest.approx(plug_in, abs=1e-12)


@pytest.mark.parametrize("metric", [pass_at_k, pass_hat_k, lambda n, c, k: pass_hat_k(n, c, k, "plug_in")])
def test_more_than_there_are_is_unknown_not_zero_and_not_one(metric):
    assert metric(2, 2, 3) is None
    assert metric(2, 0, 3) is None


@pytest.mark.parametrize(("counts", "problem"), [
    ((3, 4, 1), "4 of 3 trials passed"), ((3, -1, 1), "-1 of 3"), ((3, 1, 0), "0 drawn"), ((0, 0, 1), "0 of 0"), ((3, 1.5, 1), "c is 1.5"),
    ((True, 1, 1), "n is True"),
])
def test_counts_that_cannot_be_are_refused(counts, problem):
    for metric in (pass_at_k, pass_hat_k):
        with pytest.raises(ValueError, match=problem):
            metric(*counts)
    with pytest.raises(ValueError, match="estimator is 'bootstrap'"):
        pass_hat_k(3, 1, 1, "bootstrap")


def test_a_missing_trial_is_a_failure_and_is_counted():
    trials = Trials.of([0.9, None, 0.8], planned=4)
    assert trials.padded == (0.9, 0.0, 0.8, 0.0)
    assert (trials.missing, trials.passed, trials.any_pass, trials.all_pass) == (2, 2, True, False)
    assert trials.avg_score == pytest.approx(0.425)
    assert trials.avg_if_dropped == pytest.approx(0.85)
    assert trials.pass_hat(2) == pytest.approx(1 / 6)
    assert trials.pass_hat(3) == 0.0
    assert trials.pass_at(3) == 1.0
    assert trials.pass_at(5) is None


def test_a_missing_trial_passes_under_no_threshold():
    assert Trials.of([0.0], planned=2, threshold=0.0).passed == 1


def test_a_task_without_a_graded_trial():
    trials = Trials.of([], planned=3)
    assert (trials.avg_score, trials.avg_if_dropped, trials.any_pass, trials.missing) == (0.0, None, False, 3)


@pytest.mark.parametrize(("scores", "planned", "problem"), [
    ([1.0] * 4, 3, "4 trials, and 3 planned"), ([], 0, "0 planned"), ([float("nan")], 3, "a score is nan"), ([float("inf")], 1, "inf"),
])
def test_what_cannot_be_padded(scores, planned, problem):
    with pytest.raises(ValueError, match=problem):
        pad_trials(scores, planned)


def test_tasks_without_a_value_are_left_out_and_counted():
    rate = mean_rate([0.5, None, 1.0])
    assert (rate.value, rate.tasks, rate.left_out) == (0.75, 2, 1)
    assert mean_rate([None]).value is None
    assert mean_rate([]).tasks == 0
