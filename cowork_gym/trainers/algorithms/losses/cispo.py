"""CISPO: the importance weight is clipped and detached, so no token loses its gradient."""

from typing import NamedTuple

from torch import Tensor

from cowork_gym.trainers.algorithms.masked import live_mask, live_values, spread
from cowork_gym.trainers.algorithms.ratios import token_ratio

__all__ = ["WeightedLoss", "cispo_loss"]


class WeightedLoss(NamedTuple):
    """Token losses of the form -weight * A * logp."""

    token_loss: Tensor
    """[rows, tokens]; 0 in dead positions."""
    weight: Tensor
    """[rows, tokens], detached; what it is in dead positions means nothing."""
    ratio: Tensor
    """[rows, tokens], detached; 1 in dead positions."""


def cispo_loss(logp: Tensor, old_logp: Tensor, advantages: Tensor, mask: Tensor, *, weight_high: float, weight_low: float = 0.0) -> WeightedLoss:
    """-sg[clip(r, weight_low, weight_high)] * A * logp (MiniMax-M1, arXiv:2506.13585); the paper takes the token mean.

    Args:
        logp: [rows, tokens] of the policy that learns.
        old_logp: [rows, tokens] of the policy at the start of the update.
        advantages: [rows] or [rows, tokens].
        mask: [rows, tokens].
        weight_high: The largest weight itself. Libraries whose option is an epsilon mean either this or 1 + epsilon.
        weight_low: The least weight itself; 0 in the paper.

    Raises:
        ValueError: Shapes differ, a live value is not finite, or not 0 <= weight_low <= weight_high.
    """
    if not 0 <= weight_low <= weight_high:
        raise ValueError(f"weights have 0 <= low <= high, and these are {weight_low} and {weight_high}")
    mask = live_mask(mask, logp)
    ratio = token_ratio(logp, old_logp, mask).detach()
    weight = ratio.clamp(weight_low, weight_high)
    return WeightedLoss(-weight * spread(advantages, mask) * live_values("logp", logp, mask), weight, ratio)
