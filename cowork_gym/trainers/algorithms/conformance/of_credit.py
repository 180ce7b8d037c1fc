"""Cases of advantages that share a reward out among steps or segments: GiGPO, HDPO, Navalia."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from cowork_gym.trainers.algorithms.advantages import (
    CENTRED,
    AnchorAdvantages,
    AnchorForm,
    Denominator,
    EfficiencyAdvantages,
    Normaliser,
    StepNorm,
    Strata,
    anchor_advantages,
    anchor_keys,
    efficiency_advantages,
    gigpo_advantages,
    grpo_advantages,
    hdpo_advantages,
    original_efficiency_advantages,
    sum_of_losses,
    to_tokens,
)
from cowork_gym.trainers.algorithms.aggregation import Aggregation, aggregate
from cowork_gym.trainers.algorithms.conformance.case import Results
from cowork_gym.trainers.algorithms.conformance.group_inputs import classes_of, groups_of, normaliser_of, one_or_list, readable
from cowork_gym.trainers.algorithms.conformance.layout import first_of
from cowork_gym.trainers.algorithms.groups import ZERO_TOL, Missing, RowClass
from cowork_gym.trainers.algorithms.losses import clipped_surrogate, ppo_loss
from cowork_gym.trainers.algorithms.overlong import mask_truncated

__all__ = ["gigpo", "hdpo", "navalia"]

_OUT = Missing.LEAVE_OUT
"""null in a case is a missing value, which leaves the statistics."""
_NORMS = {"mean": StepNorm.MEAN, "none": StepNorm.MEAN, "std": StepNorm.MEAN_STD, "mean_std_norm": StepNorm.MEAN_STD}


def gigpo(inputs: Mapping[str, Any]) -> Results:
    """Steps with their group, trajectory, state (or anchor) and reward."""
    steps = inputs["steps"]
    groups = [one.get("group", 0) for one in steps]
    seen = [one.get("seen") for one in steps] if any("seen" in one for one in steps) else None
    form = AnchorForm(first_of(inputs, "anchor", "anchor_form", default="world_and_seen" if seen else "world"))
    named = first_of(inputs, "f_norm", "norm", default=StepNorm.MEAN)
    found = gigpo_advantages(
        [one["reward"] for one in steps],
        [(group, one["traj"]) for group, one in zip(groups, steps, strict=True)],
        groups,
        anchor_keys([_state(one) for one in steps], seen, form),
        gamma=inputs.get("gamma", 0.95),
        omega=inputs.get("omega", 1.0),
        norm=_NORMS.get(named) or StepNorm(named),
        ddof=inputs.get("ddof", 1),
        eps=inputs.get("eps", 1e-6),
        zero_tol=first_of(inputs, "zero_tol", default=ZERO_TOL),
        classes=[RowClass.VALID if one.get("valid", True) else RowClass.INVALID for one in steps],
        missing=_OUT,
        missing_anchor=_OUT,
    )
    return {
        "episode_advantage": lambda: readable(found.episode),
        "discounted_return": lambda: readable(found.returns),
        "step_advantage": lambda: readable(found.step),
        "advantage": lambda: readable(found.advantages),
        "cluster_sizes": found.cluster_sizes,
        "cluster_size_histogram": found.cluster_sizes,
        "missing_anchors": found.missing_anchors,
    }


def _state(step: Mapping[str, Any]) -> str | None:
    state = first_of(step, "state", "anchor")
    return None if state is None else str(state)


def hdpo(inputs: Mapping[str, Any]) -> Results:
    """Efficiency beside accuracy; the original's tool efficiency; or two advantages and a ratio."""
    if "ratio" in inputs:
        return _two_losses(inputs)
    if "correct" in inputs:
        return _original(inputs)
    accuracy, steps = inputs["accuracy"], inputs["steps"]
    groups, classes = groups_of(inputs, len(accuracy)), classes_of(inputs, len(accuracy))
    options = {
        "strata": Strata(inputs.get("strata", Strata.EQUAL_ACCURACY)),
        "tolerance": first_of(inputs, "tolerance", "accuracy_tol", "tol", default=1e-6),
        "bins": first_of(inputs, "bins", "accuracy_bins"),
        "success": first_of(inputs, "success", "success_threshold", default=1.0),
    }
    form, weights = normaliser_of(inputs), (inputs.get("w_acc", 1.0), inputs.get("w_eff", 0.1))

    def efficiency(std: bool, **other: Any) -> Any:
        found = efficiency_advantages(
            accuracy, steps, groups, std_normalise=std, ddof=form.ddof, classes=classes, missing=_OUT, **{**options, **other}
        )
        return readable(found.advantages)

    def both(std: bool) -> Any:
        return hdpo_advantages(
            accuracy, steps, groups, w_acc=weights[0], w_eff=weights[1], normaliser=form, std_normalise=std, classes=classes, missing=_OUT, **options
        )

    asked = bool(inputs.get("std_normalise", False))
    return {
        "efficiency_reward": lambda: efficiency(False),
        "efficiency_advantage": lambda: efficiency(asked),
        "efficiency_advantage_raw": lambda: efficiency(False),
        "efficiency_advantage_std_normalised": lambda: efficiency(True),
        "efficiency_advantage_success_only": lambda: efficiency(asked, strata=Strata.SUCCESS_ONLY),
        "efficiency_reward_success_only": lambda: efficiency(False, strata=Strata.SUCCESS_ONLY),
        "accuracy_advantage": lambda: readable(both(asked).accuracy.advantages),
        "combined": lambda: readable(both(asked).combined),
        "combined_raw": lambda: readable(both(False).combined),
        "combined_std_normalised": lambda: readable(both(True).combined),
    }


def _original(inputs: Mapping[str, Any]) -> Results:
    correct = [int(one) for one in inputs["correct"]]
    groups, classes = groups_of(inputs, len(correct)), classes_of(inputs, len(correct))

    def efficiency() -> EfficiencyAdvantages:
        return original_efficiency_advantages(
            correct, inputs["tool_calls"], groups, eps=inputs.get("eps", 0.0), ddof=inputs.get("ddof", 1), classes=classes
        )

    def accuracy() -> Tensor:
        return grpo_advantages(correct, groups, normaliser=normaliser_of(inputs), classes=classes).advantages

    def combined() -> Any:
        return readable(inputs.get("w_acc", 1.0) * accuracy() + inputs.get("w_eff", 0.1) * efficiency().advantages)

    return {
        "efficiency_advantage": lambda: readable(efficiency().advantages),
        "accuracy_advantage": lambda: readable(accuracy()),
        "combined": combined,
        "combined_raw": combined,
    }


def _two_losses(inputs: Mapping[str, Any]) -> Results:
    ratio, accuracy, efficiency = (torch.tensor(inputs[name], dtype=torch.float64) for name in ("ratio", "a_acc", "a_eff"))
    w_acc, w_eff = inputs.get("w_acc", 1.0), inputs.get("w_eff", 0.1)
    eps_low = inputs.get("eps_low", 0.2)

    def surrogate(advantages: Tensor) -> Tensor:
        return clipped_surrogate(ratio, advantages, eps_low, inputs.get("eps_high", eps_low), inputs.get("dual_clip_c"))

    return {
        "sum_of_clipped_losses": lambda: sum_of_losses(surrogate, accuracy, efficiency, w_acc, w_eff),
        "recommended": lambda: sum_of_losses(surrogate, accuracy, efficiency, w_acc, w_eff),
        "clipped_loss_of_sum": lambda: surrogate(w_acc * accuracy + w_eff * efficiency),
    }


def navalia(inputs: Mapping[str, Any]) -> Results:
    """Trajectories with the tokens of their segments; or rewards with numbers of segments, as in Dressage's test."""
    trajectories = inputs.get("trajectories") or _from_counts(inputs)
    counts = [len(one["segment_tokens"]) for one in trajectories]
    owner = [number for number, count in enumerate(counts) for _ in range(count)]
    ids, truncated = owner, [bool(trajectories[one].get("length_truncated", False)) for one in owner]
    groups = [first_of(trajectories[one], "group", "group_id", default=0) for one in owner]
    found = anchor_advantages(
        [trajectories[one]["reward"] for one in owner],
        [index for count in counts for index in range(count)],
        ids,
        groups,
        length_truncated=truncated,
        normaliser=_navalia_normaliser(inputs),
        classes=[_class(trajectories[one]) for one in owner],
        missing=_OUT,
    )
    per_row = [trajectories[one]["segment_tokens"][index] for one, index in zip(owner, [i for count in counts for i in range(count)], strict=True)]

    def by_trajectory() -> Any:
        rows = iter(readable(found.advantages))
        return [[next(rows) for _ in range(count)] for count in counts]

    def mean_over_rows() -> Any:
        """The wrong reading: every segment counts as a trajectory."""
        counted = [trajectories[one]["reward"] for one, keep in zip(owner, _counts(trajectories, owner), strict=True) if keep]
        return sum(counted) / len(counted)

    return {
        "trajectory_advantage": lambda: readable(found.trajectories.advantages),
        "segment_advantages": by_trajectory,
        "group_kept": lambda: one_or_list([str(one) == "kept" for one in found.selection.verdicts.values()]),
        "correct_mean": lambda: one_or_list(found.trajectories.mean),
        "biased_mean_if_segments_counted": mean_over_rows,
        **_navalia_loss(inputs, found, per_row, owner, truncated, groups),
    }


def _navalia_loss(
    inputs: Mapping[str, Any], found: AnchorAdvantages, tokens: list[int], owner: list[int], truncated: list[bool], groups: list[Any]
) -> Results:
    width = max([*tokens, 1])
    whole = (torch.arange(width) < torch.tensor(tokens).unsqueeze(1)) & found.trajectories.counted[torch.tensor(owner)].unsqueeze(1)
    mask = mask_truncated(whole, truncated, owner).mask & found.in_loss.unsqueeze(1)
    old_logp = torch.zeros(mask.shape, dtype=torch.float64)
    logp = torch.full_like(old_logp, math.log(inputs.get("ratio", 1.0)))

    def loss(mode: Aggregation) -> Callable[[], Any]:
        def of_tokens() -> Any:
            eps_low = inputs.get("eps_low", 0.2)
            advantages = to_tokens(found.advantages, mask, torch.float64)
            each = ppo_loss(logp, old_logp, advantages, mask, eps_low=eps_low, eps_high=inputs.get("eps_high", eps_low)).token_loss
            return aggregate(each, mask, mode, group_ids=groups)

        return of_tokens

    return {
        "valid_tokens": int(mask.sum()),
        "loss_on_policy": loss(Aggregation.TOKEN_MEAN),
        "loss": loss(Aggregation.TOKEN_MEAN),
        "loss_prompt_mean": loss(Aggregation.PROMPT_MEAN),
    }


def _from_counts(inputs: Mapping[str, Any]) -> list[dict[str, Any]]:
    rewards, truncated = inputs["rewards"], inputs.get("length_truncated")
    groups, valid = groups_of(inputs, len(rewards)), inputs.get("valid")
    return [
        {
            "reward": reward,
            "segment_tokens": [1] * segments,
            "group": groups[number],
            "length_truncated": bool(truncated and truncated[number]),
            "valid": not valid or bool(valid[number]),
        }
        for number, (reward, segments) in enumerate(zip(rewards, inputs["segments"], strict=True))
    ]


def _navalia_normaliser(inputs: Mapping[str, Any]) -> Normaliser:
    """GRPO's, unless the case asks for Dressage's: the mean only, or the population's standard deviation where it is not 0."""
    if "std_normalise" not in inputs or "denominator" in inputs:
        return normaliser_of(inputs)
    if not inputs["std_normalise"]:
        return CENTRED
    return normaliser_of(inputs, denominator=Denominator.STD_PLUS_EPS, eps=0.0, ddof=0)


def _class(trajectory: Mapping[str, Any]) -> RowClass:
    return RowClass.VALID if trajectory.get("valid", True) else RowClass.INVALID


def _counts(trajectories: list[Any], owner: list[int]) -> list[bool]:
    return [_class(trajectories[one]).counts and trajectories[one]["reward"] is not None for one in owner]
