"""The critic's own loss, and how much of the returns it explains."""

from typing import NamedTuple

import torch
from torch import Tensor

from cowork_gym.trainers.algorithms.masked import live_mask, live_values, masked_mean

__all__ = ["ValueLoss", "explained_variance", "value_loss"]


class ValueLoss(NamedTuple):
    """Token losses of a critic."""

    token_loss: Tensor
    """[rows, tokens]; 0 in dead positions."""
    values: Tensor
    """[rows, tokens], detached: the values after clipping; as they are where nothing clips."""
    clipped: Tensor
    """[rows, tokens] truth values: the live tokens whose clipped error was the larger one."""


def value_loss(values: Tensor, returns: Tensor, mask: Tensor, *, old_values: Tensor | None = None, clip: float | None = None) -> ValueLoss:
    """0.5 * max((V - G)^2, (clip(V, V_old - clip, V_old + clip) - G)^2), or without the second term (PPO's reference code; verl).

    Args:
        values: [rows, tokens] of the critic that learns; gradients flow.
        returns: [rows, tokens] targets; detached.
        mask: [rows, tokens].
        old_values: [rows, tokens] of the critic at the start of the update; needed by a clip.
        clip: How far a value may move at no loss of gradient. None: no clipping.

    Raises:
        ValueError: Shapes differ; a live value is not finite; a clip is negative or has no old values.
    """
    mask = live_mask(mask, values)
    values, returns = live_values("values", values, mask), live_values("returns", returns.detach(), mask)
    plain = (values - returns).square()
    if clip is None:
        return ValueLoss(plain / 2, values.detach(), torch.zeros_like(mask))
    if old_values is None or not clip >= 0:
        raise ValueError(f"a clip is not negative and needs old values, and this is {clip}")
    old_values = live_values("old_values", old_values.detach(), mask)
    near = values.clamp(old_values - clip, old_values + clip)
    moved = (near - returns).square()
    return ValueLoss(torch.maximum(plain, moved) / 2, near.detach(), (moved > plain).detach() & mask)


def explained_variance(values: Tensor, returns: Tensor, mask: Tensor, tolerance: float = 1e-6) -> float | None:
    """1 - Var(G - V) / Var(G) over live tokens, in float64; None where the returns do not vary, or there are none.

    Args:
        values: [rows, tokens].
        returns: [rows, tokens].
        mask: [rows, tokens].
        tolerance: Returns vary when their largest is further from their least than this.

    Raises:
        ValueError: Shapes differ, or a live value is not finite.
    """
    mask = live_mask(mask, values)
    v, g = (live_values(name, one.detach().to(torch.float64), mask) for name, one in (("values", values), ("returns", returns)))
    live = g[mask]
    if not len(live) or float(live.max() - live.min()) <= tolerance:
        return None
    return 1 - float(_variance(g - v, mask) / _variance(g, mask))


def _variance(values: Tensor, mask: Tensor) -> Tensor:
    return masked_mean((values - masked_mean(values, mask)).square(), mask)
