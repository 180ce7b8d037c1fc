"""The families of merging and of metrics, as a file of cases is run: told apart by the keys of their inputs."""

import math

import pytest

pytest.importorskip("torch")

from cowork_gym.trainers.algorithms.conformance.case import difference
from cowork_gym.trainers.algorithms.conformance.of_merging import MERGING
from cowork_gym.trainers.algorithms.conformance.of_metrics import METRICS

HALF = math.sqrt(0.5)
GATE, UP = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], [[-2.0, -3.0, -4.0], [1.0, 0.0, -1.0]]


@pytest.mark.parametrize(("inputs", "expected"), [
    ({"parents_bf16": [256.0, 1.0, 1.0]}, {"fp32_accumulate_then_bf16": 86.0, "bf16_accumulate": 85.5}),
    ({"parents_fp16": [2048.0, 1.0, 1.0]}, {"fp32_accumulate_then_fp16": 683.5, "fp16_accumulate": 682.5}),
    ({"a": [1, 2, 3], "b": [3, 2, -1]}, {"merged": [2, 2, 1]}), ({"a": [1], "b": [3], "c": [5]}, {"merged": [3]}),
    ({"a": [0, 4], "b": [4, 0], "weights": [1, 3]}, {"merged": [3, 1]}),
    ({"a": [1, 0], "b": [0, 1], "t": 0.5}, {"merged": [HALF, HALF], "cos": 0}),
    ({"a": [1, 0], "b": [2, 0.001], "t": 0.5, "dot_threshold": 0.9995}, {"merged": [1.5, 0.0005]}),
    ({"base": [1, 1], "models": [[2, 1], [1, 3]]}, {"merged": [2, 3], "normalised": [1.5, 2]}),
    ({"base": [1, 1], "models": [[2, 1], [1, 3]], "weights": [1, -1], "lambda": 0.5}, {"merged": [1.5, 0]}),
    ({"base": [0, 0], "models": [[1, 5], [2, -6]], "density": 1.0, "weights": [1, 1]}, {"merged": [1.5, -6], "elected_sign": [1, -1]}),
    ({"gate": GATE, "up": UP, "fused_gate_up": GATE + UP, "fused_up_gate": UP + GATE}, {
        "cos_gate_correct": 1.0, "cos_gate_if_halves_swapped": -0.3148336618, "cos_up_correct": 1.0, "abort": False, "abort_if_halves_swapped": True,
        "abort_threshold_example": 0.9,
    }),
    ({"parent_a_keys": ["w"], "parent_b_keys": ["v", "w"], "selected_parent": "b"}, {
        "averaged": ["w"], "inherited_from_a": [], "inherited_from_b": ["v"], "missing": [],
    }),
])
def test_merging(inputs, expected):
    _holds(MERGING["merging"], inputs, expected)


@pytest.mark.parametrize(("family", "inputs", "expected"), [
    ("pass_metrics", {"n_c_k": [[3, 2, 3], [10, 8, 3]]}, {"pass_hat_k": [0, 56 / 120], "pass_at_k": [1, 1], "pass_hat_k_plugin": [8 / 27, 0.512]}),
    ("pass_metrics", {"n": 2, "c": 2, "k": 3}, {"pass_at_k": None, "pass_hat_k": None}),
    ("claw_eval_score", {"completion_robustness_safety": [[0.8, 0.5, 1]], "threshold": 0.74}, {"score": [0.74], "passed": [True]}),
    ("claw_eval_score", {"runs": {"x": [["a", 500], ["b", 404], ["a", 200]]}}, {"robustness": {"x": 0.5}}),
    ("claw_eval_score", {"n": [161, 38], "score": [60.9, 77.8], "pass_counts_at3": [71, 30]}, {"score": 64.1, "pass_at3": 50.8}),
    ("claw_eval_score", {"graded_scores": [0.9, None], "expected_trials": 3}, {
        "padded": [0.9, 0, 0], "avg_score": 0.3, "avg_if_dropped": 0.9, "all_pass": False, "any_pass": True, "missing": 2,
        "pass_at3": 1.0, "pass_hat3": 0.0,
    }),
    ("cost_and_pareto", {"scores": [[1, 5], [1, 7]], "costs": [[1, 3], [2, 4]], "models": ["x", "y"]}, {
        "normalised": [[0, 0], [0, 1]], "performance": [0, 50], "macro_cost": [2, 3], "frontier": ["x", "y"],
    }),
    ("cost_and_pareto", {"total_costs": [[10, 30]], "tasks": [10, 10]}, {"macro_cost": [2]}),
    ("cost_and_pareto", {"performance": [5, 4], "cost": [1, 2]}, {"frontier": [0]}),
    ("class_and_rubric_rates", {"category": ["a", "b"], "criteria_passed": [[1, 1, 0], [1]], "contradiction": [0, 0]}, {
        "task_pass": [0, 1], "per_category": {"a": 0, "b": 1}, "cb_all_pass": 0.5, "micro": 0.5, "rubric_pass_rate": 0.75,
        "mean_of_task_rates": 5 / 6,
    }),
])
def test_metrics(family, inputs, expected):
    _holds(METRICS[family], inputs, expected)


def _holds(compute, inputs, expected):
    results = compute(inputs)
    for name, value in expected.items():
        found = results[name]
        assert difference(value, found() if callable(found) else found, 1e-6, name) is None
