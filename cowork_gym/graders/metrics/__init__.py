"""Metrics over many graded episodes: pure functions of scores, verdicts and costs."""

from cowork_gym.graders.metrics.costs import Prices, cost_per_task, macro_cost, min_max, pareto_frontier, performance, token_cost
from cowork_gym.graders.metrics.overall import ClawScore, claw_score, weighted_mean
from cowork_gym.graders.metrics.passes import Rate, Trials, mean_rate, pad_trials, pass_at_k, pass_hat_k
from cowork_gym.graders.metrics.rates import AllPass, class_balanced_all_pass, rubric_pass_rate

__all__ = [
    "AllPass",
    "ClawScore",
    "Prices",
    "Rate",
    "Trials",
    "class_balanced_all_pass",
    "claw_score",
    "cost_per_task",
    "macro_cost",
    "mean_rate",
    "min_max",
    "pad_trials",
    "pareto_frontier",
    "pass_at_k",
    "pass_hat_k",
    "performance",
    "rubric_pass_rate",
    "token_cost",
    "weighted_mean",
]
