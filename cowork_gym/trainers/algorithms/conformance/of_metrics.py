"""The families of evaluation metrics: pass rates, Claw-Eval's scores, cost against performance, rates over criteria."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cowork_gym.core.grade import PASS
from cowork_gym.graders.metrics import (
    Trials,
    class_balanced_all_pass,
    claw_score,
    cost_per_task,
    macro_cost,
    min_max,
    pareto_frontier,
    pass_at_k,
    pass_hat_k,
    performance,
    rubric_pass_rate,
    weighted_mean,
)
from cowork_gym.graders.scoring import robustness
from cowork_gym.trainers.algorithms.conformance.case import Compute, Readings, Results

__all__ = ["METRICS"]

_CONSTANT = "a benchmark with max==min contributes 0 for every model (convention, not in the text)"
"""What `min_max` does with such a benchmark, in the words of the cases."""


def _passes(inputs: Mapping[str, Any]) -> Results:
    """Rows of n, c and k, or one of them as numbers of their own."""
    if "n_c_k" not in inputs:
        return _of_row(int(inputs["n"]), int(inputs["c"]), int(inputs["k"]))
    rows = [_of_row(*map(int, row)) for row in inputs["n_c_k"]]
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
    return {**columns, "value": Readings((columns.get("pass_hat_k", []), columns.get("plug_in", [])))}


def _of_row(n: int, c: int, k: int) -> dict[str, Any]:
    """`value` is pass^k, and which form of it is meant the inputs do not say: the unbiased one or Claw-Eval's own."""
    unbiased, plug_in = pass_hat_k(n, c, k), pass_hat_k(n, c, k, "plug_in")
    return {
        "value": Readings((unbiased, plug_in)), "pass_hat_k": unbiased, "pass_at_k": pass_at_k(n, c, k), "plug_in": plug_in,
        "pass_hat_k_plugin": plug_in,
    }


def _claw(inputs: Mapping[str, Any]) -> Results:
    """Trials with their components, calls with their statuses, groups of tasks, or the trials of one task."""
    if "runs" in inputs:
        return {"robustness": lambda: {name: robustness((tool, status) for tool, status in calls) for name, calls in inputs["runs"].items()}}
    if "completion_robustness_safety" in inputs:
        line = inputs.get("threshold", PASS)
        marks = [claw_score(completion, robust, safety, line) for completion, robust, safety in inputs["completion_robustness_safety"]]
        return {"score": [one.score for one in marks], "passed": [one.passed for one in marks]}
    if "graded_scores" in inputs:
        return _trials(inputs)
    return _overall(inputs)


def _trials(inputs: Mapping[str, Any]) -> Results:
    trials = Trials.of(inputs["graded_scores"], inputs["expected_trials"], inputs.get("threshold", PASS))
    every = range(1, len(trials.scores) + 1)
    return {
        "padded": trials.padded, "avg_score": trials.avg_score, "all_pass": trials.all_pass, "any_pass": trials.any_pass, "missing": trials.missing,
        "avg_if_dropped": trials.avg_if_dropped, "passed": trials.passed,
        **{f"pass_at{k}": trials.pass_at(k) for k in every}, **{f"pass_hat{k}": trials.pass_hat(k) for k in every},
    }


def _overall(inputs: Mapping[str, Any]) -> Results:
    """Percentages with one decimal, as tables print them; of counts, the percentage of all tasks."""
    sizes = inputs["n"]

    def of(name: str, values: Sequence[float]) -> Callable[[], float]:
        shares = [100 * one / size if "_counts_" in name else one for one, size in zip(values, sizes, strict=True)]
        return lambda: round(weighted_mean(sizes, shares), 1)

    return {name.replace("_counts_", "_"): of(name, values) for name, values in inputs.items() if name != "n"}


def _costs(inputs: Mapping[str, Any]) -> Results:
    """Scores of models on benchmarks, and what a task of each costs: given so, or as totals with numbers of tasks."""
    scores, costs = inputs.get("scores"), inputs.get("costs")
    if costs is None and "total_costs" in inputs:
        costs = [[cost_per_task(total, tasks) for total, tasks in zip(row, inputs["tasks"], strict=True)] for row in inputs["total_costs"]]
    results: dict[str, Any] = {}
    if scores is not None:
        results |= {"normalised": lambda: min_max(scores), "performance": lambda: performance(scores), "note": _CONSTANT}
    if costs is not None:
        results["macro_cost"] = lambda: macro_cost(costs)
    given = inputs.get("performance"), inputs.get("macro_cost", inputs.get("cost"))
    if (scores is not None or given[0] is not None) and (costs is not None or given[1] is not None):
        def frontier() -> list[Any]:
            found = pareto_frontier(given[0] or performance(scores or ()), given[1] or macro_cost(costs or ()))
            return [inputs["models"][at] for at in found] if "models" in inputs else found

        results["frontier"] = frontier
    return results


def _rates(inputs: Mapping[str, Any]) -> Results:
    """Which criteria of each task hold, with a category for each where they are to be balanced."""
    criteria = inputs["criteria_passed"]
    of_tasks = [sum(held) / len(held) for held in criteria if held]
    results: dict[str, Any] = {
        "rubric_pass_rate": lambda: rubric_pass_rate(criteria),
        "mean_of_task_rates": lambda: math.fsum(of_tasks) / len(of_tasks),  # the wrong reading: a short rubric's items weigh more
    }
    if "category" in inputs:
        results |= class_balanced_all_pass(inputs["category"], criteria, inputs.get("contradiction"))._asdict()
    return results


METRICS: Mapping[str, Compute] = {"pass_metrics": _passes, "claw_eval_score": _claw, "cost_and_pareto": _costs, "class_and_rubric_rates": _rates}
"""By family."""
