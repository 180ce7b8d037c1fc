"""Cases of estimators with a critic."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from cowork_gym.trainers.algorithms.aggregation import aggregate
from cowork_gym.trainers.algorithms.conformance.case import Compute, Results
from cowork_gym.trainers.algorithms.conformance.layout import Layout, first_of
from cowork_gym.trainers.algorithms.critics import (
    CompactionAdvantages,
    Gae,
    Reading,
    compaction_advantages,
    compaction_returns,
    explained_variance,
    length_adaptive_lambda,
    masked_gae,
    terminal_rewards,
    value_loss,
)
from cowork_gym.trainers.algorithms.masked import masked_whiten

__all__ = ["CRITICS"]


def _gae(inputs: Mapping[str, Any]) -> Results:
    layout = Layout.of(inputs["values"])
    values, mask = layout.tensor(inputs["values"]), layout.mask(inputs.get("mask"))
    given = first_of(inputs, "token_rewards", "rewards")
    if given is not None:
        rewards = layout.tensor(given)
    else:
        rewards = terminal_rewards(torch.full((len(values),), float(inputs["reward"]), dtype=torch.float64), mask)
    gamma, lam = first_of(inputs, "gamma", default=1.0), first_of(inputs, "lam", "lambda")
    if lam is None:
        lam = length_adaptive_lambda(mask.sum(1), inputs["alpha"]) if "alpha" in inputs else 1.0

    def correct() -> Gae:
        return masked_gae(rewards, values, mask, gamma, lam, stray_rewards="ignore")

    def unmasked() -> Gae:
        """The wrong reading: observations as states, as slime and SkyRL have them."""
        return masked_gae(rewards, values, layout.mask(), gamma, lam)

    return {
        "advantages": lambda: layout.nest(correct().advantages),
        "correct_advantages": lambda: layout.nest(correct().advantages),
        "returns": lambda: layout.nest(correct().returns),
        "correct_returns": lambda: layout.nest(correct().returns),
        "naive_advantages": lambda: layout.nest(unmasked().advantages),
        "naive_returns": lambda: layout.nest(unmasked().returns),
        "whitened_advantages": lambda: layout.nest(masked_whiten(correct().advantages, mask)),
    }


def _critic(inputs: Mapping[str, Any]) -> Results:
    values_form = first_of(inputs, "values_new", "values")
    layout = Layout.of(values_form)
    values, returns, mask = layout.tensor(values_form), layout.tensor(inputs["returns"]), layout.mask(inputs.get("mask"))
    old_form, clip = first_of(inputs, "values_old", "old_values"), inputs.get("clip")
    old = None if old_form is None else layout.tensor(old_form)
    moving = values.clone().requires_grad_()

    def loss(bound: float | None = clip) -> Tensor:
        return value_loss(moving, returns, mask, old_values=old, clip=bound).token_loss

    return {
        "clipped": lambda: layout.nest(value_loss(values, returns, mask, old_values=old, clip=clip).values),
        "token_loss": lambda: layout.nest(loss()),
        "loss_token_mean": lambda: aggregate(loss(), mask).detach(),
        "unclipped_token_loss": lambda: layout.nest(loss(None)),
        "unclipped_loss_token_mean": lambda: aggregate(loss(None), mask).detach(),
        "grad_wrt_values": lambda: layout.nest(torch.autograd.grad(aggregate(loss(), mask), moving)[0]),
        "explained_variance": lambda: explained_variance(values, returns, mask),
    }


def _length_adaptive_lambda(inputs: Mapping[str, Any]) -> Results:
    if "alpha_length" in inputs:
        pairs = inputs["alpha_length"]
    else:
        lengths = first_of(inputs, "length", "lengths")
        alpha = first_of(inputs, "alpha", default=1.5)
        pairs = [[alpha, length] for length in (lengths if isinstance(lengths, list) else [lengths])]

    def lam() -> list[float]:
        return [float(length_adaptive_lambda(torch.tensor(length), alpha)) for alpha, length in pairs]

    return {"lam": lam, "lam_power_length": lambda: [one**length for one, (_, length) in zip(lam(), pairs, strict=True)]}


def _compaction(inputs: Mapping[str, Any]) -> Results:
    segments = inputs["segments"]
    layout = Layout.of([one["values"] for one in segments])
    values = layout.tensor([one["values"] for one in segments])
    mask = layout.mask([one.get("mask", [1] * len(one["values"])) for one in segments])
    rewards = torch.full((len(segments),), float(inputs["reward"]), dtype=torch.float64)
    rows = (rewards, values, mask, [0] * len(segments), torch.arange(len(segments)))
    gamma, default = first_of(inputs, "gamma", default=1.0), Reading(inputs.get("reading", Reading.SEGMENT_LOCAL))

    def found(reading: Reading = default) -> CompactionAdvantages:
        alpha = first_of(inputs, "alpha", default=1.5)
        return compaction_advantages(*rows, gamma=gamma, alpha=alpha, lam=inputs.get("lam"), reading=reading)

    def returns(reading: Reading = default) -> Tensor:
        return compaction_returns(*rows, gamma=gamma, lam=first_of(inputs, "lam_critic", default=1.0), reading=reading)

    def concatenated(of: Callable[[], Tensor]) -> Callable[[], Any]:
        return lambda: of()[mask].tolist()

    return {
        "optimised_tokens": lambda: found().places.optimised,
        "tokens_later": lambda: found().places.later,
        "length": lambda: int(mask.sum()),
        "lam": lambda: float(found().lam[0]),
        "local": lambda: layout.nest(found(Reading.SEGMENT_LOCAL).local),
        "factor": lambda: found(Reading.SEGMENT_LOCAL).factor,
        "advantages": lambda: layout.nest(found().advantages),
        "advantages_over_optimised_tokens": concatenated(lambda: found(Reading.CONCATENATED).advantages),
        "concatenated_advantages": lambda: layout.nest(found(Reading.CONCATENATED).advantages),
        "returns": lambda: layout.nest(returns()),
        "returns_over_optimised_tokens": concatenated(lambda: returns(Reading.CONCATENATED)),
    }


CRITICS: Mapping[str, Compute] = {
    "gae": _gae,
    "critic": _critic,
    "length_adaptive_lambda": _length_adaptive_lambda,
    "compaction": _compaction,
}
"""By family."""
