"""Cases of token losses and of their aggregation."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from cowork_gym.trainers.algorithms.aggregation import FIXED_NORMALISER, Aggregation, aggregate, prompt_equal_denominators
from cowork_gym.trainers.algorithms.conformance.case import Compute, Results
from cowork_gym.trainers.algorithms.conformance.layout import Layout, first_of
from cowork_gym.trainers.algorithms.conformance.of_mismatch import MISMATCH
from cowork_gym.trainers.algorithms.kl import Kl, kl_estimate
from cowork_gym.trainers.algorithms.losses import cispo_loss, clipped_surrogate, dr_grpo_loss, gspo_loss, gspo_token_loss
from cowork_gym.trainers.algorithms.ratios import RatioScope, token_ratio

__all__ = ["LOSSES"]


def _kl(inputs: Mapping[str, Any]) -> Results:
    layout = Layout.of(inputs["logp"])
    logp, ref_logp, mask = layout.tensor(inputs["logp"]), layout.tensor(inputs["ref_logp"]), layout.mask(inputs.get("mask"))

    def per_token(kind: Kl) -> Callable[[], Any]:
        return lambda: layout.nest(kl_estimate(logp, ref_logp, mask, kind))

    def mean(kind: Kl) -> Callable[[], Any]:
        return lambda: aggregate(kl_estimate(logp, ref_logp, mask, kind), mask)

    return {**{kind.value: per_token(kind) for kind in Kl}, **{f"{kind.value}_token_mean": mean(kind) for kind in Kl}}


def _policy_clip(inputs: Mapping[str, Any]) -> Results:
    layout = Layout.of(first_of(inputs, "ratio", "logp"))
    mask = layout.mask(inputs.get("mask"))
    if "ratio" in inputs:
        ratio = torch.where(mask, layout.tensor(inputs["ratio"]), 1.0)
    else:
        ratio = token_ratio(layout.tensor(inputs["logp"]), layout.tensor(inputs["old_logp"]), mask)
    eps_low = first_of(inputs, "eps_low", "eps", default=0.2)
    eps_high, dual = first_of(inputs, "eps_high", "eps", default=eps_low), first_of(inputs, "dual_clip_c", "dual_clip")
    advantages = layout.advantages(first_of(inputs, "advantage", "advantages"))
    advantages = torch.where(mask, advantages.unsqueeze(1) if advantages.dim() == 1 else advantages, 0.0)

    def losses(dual_clip: float | None = dual) -> Tensor:
        return torch.where(mask, clipped_surrogate(ratio, advantages, eps_low, eps_high, dual_clip), 0.0)

    return {
        "ratio": lambda: layout.nest(ratio),
        "token_loss": lambda: layout.nest(losses()),
        "token_loss_without_dual_clip": lambda: layout.nest(losses(None)),
        "loss_token_mean": lambda: aggregate(losses(), mask),
    }


def _loss_aggregation(inputs: Mapping[str, Any]) -> Results:
    return _prompt_equal(inputs) if "prompt_of_sample" in inputs else _modes(inputs)


def _modes(inputs: Mapping[str, Any]) -> Results:
    layout = Layout.of(inputs["token_loss"])
    losses, mask = layout.tensor(inputs["token_loss"]), layout.mask(inputs.get("mask"))
    trajectories, groups = first_of(inputs, "trajectory_ids", "traj_id"), first_of(inputs, "group_ids", "group_id", "prompt_ids", "prompts")
    constant = first_of(inputs, "fixed_normaliser", "normaliser", default=FIXED_NORMALISER)

    def loss(mode: Aggregation) -> Callable[[], Any]:
        return lambda: aggregate(losses, mask, mode, normaliser=constant, trajectory_ids=trajectories, group_ids=groups)

    results = {mode.value: loss(mode) for mode in Aggregation}
    results["token_sum_over_fixed"] = loss(Aggregation.TOKEN_SUM_NORM)
    results["seq_mean_token_sum_over_fixed"] = loss(Aggregation.SEQ_MEAN_TOKEN_SUM_NORM)
    parts = first_of(inputs, "microbatches", "micro_batches")
    if parts is None and (size := first_of(inputs, "micro_batch_size", "microbatch_size")) is not None:
        parts = [list(range(start, min(start + size, len(losses)))) for start in range(0, len(losses), size)]
    if parts is not None:
        live = int(mask.sum())
        results["sum_over_microbatches"] = lambda: sum(aggregate(losses[part], mask[part], denominator=live) for part in parts)
        results["mean_of_microbatch_means"] = lambda: _mean_of_microbatch_means(losses, mask, parts)
    return results


def _mean_of_microbatch_means(losses: Tensor, mask: Tensor, parts: list[list[int]]) -> Tensor:
    """The wrong reading: each part divided by its own tokens, so a token weighs more in a part that has few."""
    return torch.stack([aggregate(losses[part], mask[part]) for part in parts]).mean()


def _prompt_equal(inputs: Mapping[str, Any]) -> Results:
    live = torch.tensor(inputs["mask_tokens"], dtype=torch.float64)
    sums = torch.tensor(inputs["token_loss_sums"], dtype=torch.float64)
    prompts, size = inputs["prompt_of_sample"], inputs.get("global_batch_size", len(live))

    def over_samples() -> Tensor:
        return (sums / prompt_equal_denominators(live, prompts, size)).sum()

    def of_tokens(mode: Aggregation) -> Callable[[], Any]:
        mask = torch.arange(int(live.max())) < live.unsqueeze(1)
        losses = (sums / live.clamp(min=1)).unsqueeze(1).expand(mask.shape)
        return lambda: aggregate(losses, mask, mode, group_ids=prompts)

    return {
        "denominators": lambda: prompt_equal_denominators(live, prompts, size),
        "sum_over_samples": over_samples,
        "divided_by_global_batch_size": lambda: over_samples() / size,
        "equals_mean_over_prompts_of_token_mean": of_tokens(Aggregation.PROMPT_MEAN),
        **{mode.value: of_tokens(mode) for mode in Aggregation},
    }


def _dr_grpo(inputs: Mapping[str, Any]) -> Results:
    layout = Layout.of(first_of(inputs, "token_loss_rows", "token_loss"))
    losses, mask = layout.tensor(first_of(inputs, "token_loss_rows", "token_loss")), layout.mask(inputs.get("mask"))
    constant, rows = first_of(inputs, "normaliser", "fixed_normaliser", default=FIXED_NORMALISER), inputs.get("num_sequences")
    divide = first_of(inputs, "divide_by_sequences", default=True)

    def loss(over_rows: bool) -> Callable[[], Any]:
        return lambda: dr_grpo_loss(losses, mask, normaliser=constant, divide_by_sequences=over_rows, num_sequences=rows)

    return {
        "sum_token_losses": lambda: dr_grpo_loss(losses, mask, normaliser=1, divide_by_sequences=False),
        "literal_sum_over_1536": loss(False),
        f"literal_sum_over_{constant:g}": loss(False),
        "recommended_mean_over_sequences": loss(True),
        "loss": loss(divide),
    }


def _gspo(inputs: Mapping[str, Any]) -> Results:
    layout = Layout.of(inputs["logp"])
    logp, old_logp, mask = layout.tensor(inputs["logp"]).requires_grad_(), layout.tensor(inputs["old_logp"]), layout.mask(inputs.get("mask"))
    advantages = layout.advantages(first_of(inputs, "advantages", "advantage"))
    if layout.flat and not isinstance(first_of(inputs, "advantages", "advantage"), list):
        advantages = advantages[:, 0]
    eps_low, eps_high = inputs.get("eps_low", 3e-4), inputs.get("eps_high", 4e-4)
    scope = RatioScope(inputs.get("ratio_scope", RatioScope.SEGMENT))
    ids = first_of(inputs, "trajectory_ids", "traj_id", "traj_ids", "trajectory_of_row")
    options: Mapping[str, Any] = {"eps_low": eps_low, "eps_high": eps_high, "ratio_scope": scope, "trajectory_ids": ids}
    whole = gspo_loss if advantages.dim() == 1 else gspo_token_loss

    def ratio() -> Tensor:
        return gspo_token_loss(logp, old_logp, advantages, mask, **options).ratio

    return {
        "seq_ratio": ratio,
        "seq_objective": lambda: -clipped_surrogate(ratio(), advantages, eps_low, eps_high),
        "loss": lambda: whole(logp, old_logp, advantages, mask, **options).loss.detach(),
        "gspo_token_loss": lambda: gspo_token_loss(logp, old_logp, advantages, mask, **options).loss.detach(),
        "token_loss": lambda: layout.nest(gspo_token_loss(logp, old_logp, advantages, mask, **options).token_loss),
        "grad_wrt_logp": lambda: layout.nest(_gradient(whole(logp, old_logp, advantages, mask, **options).loss, logp)),
        "gspo_token_grad_wrt_logp": lambda: layout.nest(_gradient(gspo_token_loss(logp, old_logp, advantages, mask, **options).loss, logp)),
    }


def _cispo(inputs: Mapping[str, Any]) -> Results:
    layout = Layout.of(inputs["logp"])
    logp, old_logp, mask = layout.tensor(inputs["logp"]).requires_grad_(), layout.tensor(inputs["old_logp"]), layout.mask(inputs.get("mask"))
    advantages = layout.advantages(first_of(inputs, "advantage", "advantages"))
    low, high = first_of(inputs, "weight_low", default=0.0), inputs["weight_high"]
    found = cispo_loss(logp, old_logp, advantages, mask, weight_low=low, weight_high=high)
    return {
        "ratio": lambda: layout.nest(found.ratio),
        "weight": lambda: layout.nest(found.weight),
        "token_loss": lambda: layout.nest(found.token_loss),
        "loss_token_mean": lambda: aggregate(found.token_loss, mask).detach(),
        "grad_wrt_logp_of_token_loss": lambda: layout.nest(_gradient(found.token_loss.sum(), logp)),
        "grad_wrt_logp": lambda: layout.nest(_gradient(aggregate(found.token_loss, mask), logp)),
    }


def _gradient(loss: Tensor, of: Tensor) -> Tensor:
    return torch.autograd.grad(loss, of, retain_graph=True)[0]


LOSSES: Mapping[str, Compute] = {
    "kl": _kl,
    "policy_clip": _policy_clip,
    "loss_aggregation": _loss_aggregation,
    "dr_grpo": _dr_grpo,
    "gspo": _gspo,
    "cispo": _cispo,
    **MISMATCH,
}
"""By family."""
