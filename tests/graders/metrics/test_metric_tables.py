"""Scores of trials, costs of models and rates over criteria."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cowork_gym.graders.metrics import (
    Prices,
    class_balanced_all_pass,
    claw_score,
    cost_per_task,
    macro_cost,
    min_max,
    pareto_frontier,
    performance,
    rubric_pass_rate,
    token_cost,
    weighted_mean,
)

_POINTS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=8)


@pytest.mark.parametrize(("completion", "robustness", "safety", "score", "passed"), [
    (0.6875, 1, 1, 0.75, True), (0.687, 1, 1, 0.7496, False), (1, 1, 0, 0.0, False), (0.9, 0.5, 0.3, 0.246, False),
])
def test_the_pass_line_is_held_against_the_rounded_score(completion, robustness, safety, score, passed):
    assert claw_score(completion, robustness, safety) == (score, passed)


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan")])
def test_components_outside_of_their_range_are_refused(place, value):
    with pytest.raises(ValueError, match="must be between 0 and 1"):
        claw_score(*(value if at == place else 1 for at in range(3)))


def test_groups_count_by_their_tasks():
    assert weighted_mean([161, 38], [60.9, 77.8]) == pytest.approx(64.1271, abs=1e-4)
    assert weighted_mean([0, 2], [5.0, 7.0]) == 7.0


@pytest.mark.parametrize(("sizes", "values", "problem"), [
    ([1], [1.0, 2.0], "1 groups, and 2 values"), ([0], [1.0], "no mean"), ([], [], "no mean"), ([1], [float("nan")], "no finite"),
])
def test_groups_that_have_no_mean(sizes, values, problem):
    with pytest.raises(ValueError, match=problem):
        weighted_mean(sizes, values)


def test_a_run_costs_what_its_tokens_cost():
    prices = Prices(input=2.0, output=10.0, cached=0.5)
    assert token_cost(prices, input_tokens=1000, cached_tokens=600, output_tokens=100) == pytest.approx((400 * 2 + 600 * 0.5 + 100 * 10) / 1e6)
    assert token_cost(Prices(2.0, 10.0), input_tokens=1000, cached_tokens=600, output_tokens=100) == pytest.approx((1000 * 2 + 100 * 10) / 1e6)
    assert token_cost(Prices(2.0, 10.0, 0.0), input_tokens=10, cached_tokens=10, output_tokens=0) == 0.0
    for counts in ({"input_tokens": 1, "cached_tokens": 2, "output_tokens": 0}, {"input_tokens": -1, "output_tokens": 0}):
        with pytest.raises(ValueError, match="that cannot be"):
            token_cost(prices, **counts)
    with pytest.raises(ValueError, match="the price of cached tokens is -1"):
        Prices(1.0, 1.0, -1.0)


def test_a_benchmark_that_tells_nothing_apart_gives_nothing():
    assert min_max([[1, 5], [1, 7], [1, 9]]) == [[0, 0], [0, 0.5], [0, 1]]
    assert performance([[1, 5], [1, 7], [1, 9]]) == [0, 25, 50]
    assert macro_cost([[1, 3], [2, 2]]) == [2, 2]
    assert cost_per_task(3.0, 2) == 1.5


@pytest.mark.parametrize("table", [[], [[]], [[1.0], [1.0, 2.0]], [[float("nan")]]])
def test_tables_with_holes_are_refused(table):
    for metric in (min_max, performance, macro_cost):
        with pytest.raises(ValueError):
            metric(table)


def test_no_task_has_no_cost():
    with pytest.raises(ValueError, match="is no cost"):
        cost_per_task(1.0, 0)


@settings(max_examples=60, deadline=None)
@given(_POINTS)
def test_the_frontier_is_what_nobody_dominates(points):
    value, cost = [one for one, _ in points], [one for _, one in points]
    kept = pareto_frontier(value, cost)
    assert kept == sorted(kept) and kept
    for at in range(len(points)):
        dominated = any(
            value[by] >= value[at] and cost[by] <= cost[at] and (value[by] > value[at] or cost[by] < cost[at]) for by in range(len(points))
        )
        assert (at in kept) is not dominated


def test_a_frontier_needs_numbers():
    for value, cost in (([1.0], []), ([float("nan")], [1.0])):
        with pytest.raises(ValueError):
            pareto_frontier(value, cost)


def test_categories_weigh_the_same_and_a_contradiction_fails_a_task():
    category, criteria = ["a", "a", "a", "b"], [[1, 1], [1, 0], [1], [1, 1]]
    found = class_balanced_all_pass(category, criteria)
    assert found.task_pass == [True, False, True, True]
    assert (found.cb_all_pass, found.micro) == (pytest.approx((2 / 3 + 1) / 2), 0.75)
    against = class_balanced_all_pass(category, criteria, [0, 0, 0, 1])
    assert against.per_category == {"a": pytest.approx(2 / 3), "b": 0.0}


def test_rubric_items_are_pooled():
    assert rubric_pass_rate([[1, 1, 1, 1], [0]]) == 0.8


@pytest.mark.parametrize(("criteria", "problem"), [
    ([], "no tasks"), ([[1], []], "task 1 has no criteria"), ([[1], [float("nan")]], "a criterion of task 1 is nan"), ([[None]], "is None"),
])
def test_criteria_without_a_verdict_are_refused(criteria, problem):
    for rate in (rubric_pass_rate, lambda held: class_balanced_all_pass(["a"] * len(held), held)):
        with pytest.raises(ValueError, match=problem):
            rate(criteria)
    with pytest.raises(ValueError, match="2 categories, 1 lists"):
        class_balanced_all_pass(["a", "b"], [[1]])
