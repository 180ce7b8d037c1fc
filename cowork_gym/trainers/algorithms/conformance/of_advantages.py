"""Cases of group-relative advantages, of dynamic sampling and of overlong responses."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from cowork_gym.trainers.algorithms.advantages import (
    BatchStatistics,
    Denominator,
    GroupAdvantages,
    Normaliser,
    Singleton,
    collect_trajectories,
    dr_grpo_advantages,
    gdpo_advantages,
    grpo_advantages,
    outcome_token_rewards,
    reinforce_pp_advantages,
    reinforce_pp_baseline_advantages,
    rloo_advantages,
    to_rows,
)
from cowork_gym.trainers.algorithms.conformance.case import Compute, Results
from cowork_gym.trainers.algorithms.conformance.group_inputs import classes_of, groups_of, normaliser_of, one_or_list, readable
from cowork_gym.trainers.algorithms.conformance.layout import Layout, first_of
from cowork_gym.trainers.algorithms.conformance.of_credit import gigpo, hdpo, navalia
from cowork_gym.trainers.algorithms.groups import ZERO_TOL, Missing, RowClass
from cowork_gym.trainers.algorithms.kl import Kl, kl_estimate
from cowork_gym.trainers.algorithms.overlong import mask_truncated, soft_overlong_penalty
from cowork_gym.trainers.algorithms.sampling import GroupVerdict, select_groups

__all__ = ["ADVANTAGES"]

_OUT = Missing.LEAVE_OUT
"""null in a case is a missing value, which leaves the statistics."""


def _grpo(inputs: Mapping[str, Any]) -> Results:
    who = _Trajectories(inputs)
    found = grpo_advantages(*who.rewards, normaliser=normaliser_of(inputs), classes=who.classes, missing=_OUT)
    trains = [kind.trains and counts for kind, counts in zip(who.classes, found.counted.tolist(), strict=True)]

    def verl() -> Any:
        """Verl's function: std plus eps, and a group of one keeps its reward."""
        form = Normaliser(Denominator.STD_PLUS_EPS, eps=inputs.get("eps", 1e-6), ddof=inputs.get("ddof", 1), singleton=Singleton.REWARD)
        return who.per_row(grpo_advantages(*who.rewards, normaliser=form, classes=who.classes, missing=_OUT).advantages)

    return {
        "advantages": lambda: who.per_row(found.advantages),
        "recommended": lambda: who.per_row(found.advantages),
        "verl_reference": verl,
        "centred_only": lambda: who.per_row(dr_grpo_advantages(*who.rewards, classes=who.classes, missing=_OUT).advantages),
        "num_sequences_in_loss_denominator": sum(trains),
        **_group_statistics(found),
    }


def _group_statistics(found: GroupAdvantages) -> Results:
    return {
        "mean": lambda: one_or_list(found.mean),
        "std": lambda: one_or_list(found.std),
        "denominator": lambda: one_or_list(found.denominator),
        "valid_groups": lambda: readable(found.valid),
        "zero_variance_groups": lambda: readable(found.zero_variance),
        "num_zero_variance_groups": found.counts.zero_variance,
        "num_singleton_groups": found.counts.singletons,
        "num_missing": found.counts.missing,
        "num_invalid": found.counts.invalid,
        "num_valid": found.counts.counted,
    }


def _rloo(inputs: Mapping[str, Any]) -> Results:
    who = _Trajectories(inputs)
    singleton, tolerance = Singleton(inputs.get("singleton", "zero")), first_of(inputs, "zero_tol", default=ZERO_TOL)

    def advantages(kept: Singleton) -> Any:
        return who.per_row(rloo_advantages(*who.rewards, zero_tol=tolerance, singleton=kept, classes=who.classes, missing=_OUT).advantages)

    return {
        "advantages": lambda: advantages(singleton),
        "recommended": lambda: advantages(singleton),
        "verl_reference": lambda: advantages(Singleton.REWARD),
        "leave_one_out_baselines": lambda: who.per_row(rloo_advantages(*who.rewards, classes=who.classes, missing=_OUT).baselines),
    }


def _reinforce_pp(inputs: Mapping[str, Any]) -> Results:
    layout = Layout.of(first_of(inputs, "mask", "token_rewards", "kl", "logp"))
    mask, tolerance = layout.mask(inputs.get("mask")), first_of(inputs, "zero_tol", default=ZERO_TOL)
    if "group_ids" in inputs:
        return _reinforce_pp_baseline(inputs, layout, mask, tolerance)
    rewards = layout.tensor(inputs["token_rewards"]) if "token_rewards" in inputs else _outcome_rewards(inputs, layout, mask)
    found = reinforce_pp_advantages(rewards, mask, inputs.get("gamma", 1.0), zero_tol=tolerance)
    return {
        "token_rewards": lambda: layout.nest(torch.where(mask, rewards, 0.0)),
        "returns": lambda: layout.nest(found.returns),
        "advantages": lambda: layout.nest(found.advantages),
        "num_live_tokens": found.live_tokens,
    }


def _outcome_rewards(inputs: Mapping[str, Any], layout: Layout, mask: Tensor) -> Tensor:
    rewards, kl = inputs["rewards"], inputs.get("kl")
    if kl is not None:
        penalty = layout.tensor(kl)
    elif "ref_logp" in inputs:
        penalty = kl_estimate(layout.tensor(inputs["logp"]), layout.tensor(inputs["ref_logp"]), mask, Kl(inputs.get("kl_kind", "k1")))
    else:
        penalty = None
    return outcome_token_rewards(rewards if isinstance(rewards, list) else [rewards], mask, penalty, inputs.get("beta", 0.0))


def _reinforce_pp_baseline(inputs: Mapping[str, Any], layout: Layout, mask: Tensor, tolerance: float) -> Results:
    who = _Trajectories(inputs)
    found = reinforce_pp_baseline_advantages(
        *who.rewards, mask, trajectory_ids=who.ids, row_trajectory_ids=who.rows, classes=who.classes, missing=_OUT, zero_tol=tolerance
    )
    return {
        "advantages": lambda: layout.nest(found.advantages),
        "centred": lambda: who.per_row(found.centred.advantages),
        "advantages_before_whitening": lambda: who.per_row(found.centred.advantages),
        "num_live_tokens": found.live_tokens,
    }


def _gdpo(inputs: Mapping[str, Any]) -> Results:
    rewards = inputs["rewards"]
    groups, classes = groups_of(inputs, len(rewards)), classes_of(inputs, len(rewards))
    weights, eps, ddof = inputs.get("weights"), inputs.get("eps", 1e-4), inputs.get("ddof", 1)
    tokens = first_of(inputs, "tokens_per_sample", "tokens")
    asked = first_of(inputs, "statistics", "batch_statistics", default="sample") if inputs.get("batch_norm", True) else "none"

    def found(statistics: str) -> Any:
        return gdpo_advantages(
            rewards,
            groups,
            weights=weights,
            eps=eps,
            batch_eps=first_of(inputs, "batch_eps", "eps_b"),
            ddof=ddof,
            statistics=BatchStatistics(statistics),
            tokens=tokens,
            zero_tol=first_of(inputs, "zero_tol", default=ZERO_TOL),
            classes=classes,
            missing=_OUT,
        )

    def on_sum() -> Any:
        """GRPO on the weighted sum: what GDPO is held against. A trajectory that misses a component has no sum."""
        factors = weights or [1.0] * len(rewards[0])
        sums = [None if None in row else sum(w * r for w, r in zip(factors, row, strict=True)) for row in rewards]
        form = Normaliser(Denominator.STD_PLUS_EPS, eps=eps, ddof=ddof)
        return readable(grpo_advantages(sums, groups, normaliser=form, classes=classes, missing=_OUT).advantages)

    return {
        "advantages": lambda: readable(found(asked).advantages),
        "advantages_sample_stats": lambda: readable(found("sample").advantages),
        "advantages_token_weighted_stats": lambda: readable(found("token").advantages),
        "component_advantages": lambda: readable(found("none").components),
        "pre_batch_norm": lambda: readable(found("none").combined),
        "gdpo_pre_batch_norm": lambda: readable(found("none").combined),
        "grpo_on_sum": on_sum,
    }


def _dapo(inputs: Mapping[str, Any]) -> Results:
    if "lengths" in inputs:
        return _overlong(inputs)
    if "truncated" in inputs:
        layout = Layout.of(inputs["mask"])
        cut = mask_truncated(layout.mask(inputs["mask"]), inputs["truncated"], first_of(inputs, "trajectory_ids"))
        return {"mask": lambda: layout.nest(cut.mask), "masked_rows": cut.masked_rows, "masked_tokens": cut.masked_tokens}
    raw = first_of(inputs, "raw", "rewards", "accuracy")
    groups, classes = groups_of(inputs, len(raw)), classes_of(inputs, len(raw))

    def keep(metric: Any) -> Any:
        tolerance = first_of(inputs, "zero_tol", "tol", default=ZERO_TOL)
        verdicts = select_groups(metric, groups, zero_tol=tolerance, classes=classes, missing=_OUT).verdicts
        return one_or_list([one is GroupVerdict.KEPT for one in verdicts.values()])

    return {
        "keep": lambda: keep(raw),
        "keep_on_raw": lambda: keep(raw),
        "keep_on_shaped": lambda: keep(inputs["shaped"]),
        "recommended": lambda: keep(raw),
    }


def _overlong(inputs: Mapping[str, Any]) -> Results:
    def penalty(saturate: bool) -> Any:
        return readable(soft_overlong_penalty(inputs["lengths"], inputs["max_len"], inputs["cache_len"], saturate=saturate))

    return {"penalty": lambda: penalty(True), "verl_reference": lambda: penalty(False), "penalty_without_saturation": lambda: penalty(False)}


class _Trajectories:
    """The trajectories of a case: one a reward, or, where rows name their trajectory, one of several rows."""

    def __init__(self, inputs: Mapping[str, Any]) -> None:
        rewards, rows = inputs["rewards"], first_of(inputs, "trajectory_ids", "traj_ids", "traj_id")
        size = len(rewards)
        self.classes: list[RowClass] = classes_of(inputs, size)
        self.rewards = rewards, groups_of(inputs, size)
        self.ids: Any = range(size)
        self.rows: Any = range(size)
        if rows is not None:
            found = collect_trajectories(rows, *self.rewards, self.classes)
            self.rewards, self.classes = (list(found.rewards), list(found.group_ids)), list(found.classes)
            self.ids, self.rows = found.ids, rows

    def per_row(self, values: Tensor) -> Any:
        """Values of trajectories as the case has its rewards."""
        return readable(to_rows(values, self.ids, self.rows))


ADVANTAGES: Mapping[str, Compute] = {
    "dapo": _dapo,
    "gdpo": _gdpo,
    "gigpo": gigpo,
    "grpo": _grpo,
    "hdpo": hdpo,
    "navalia": navalia,
    "reinforce_pp": _reinforce_pp,
    "rloo": _rloo,
}
"""By family."""
