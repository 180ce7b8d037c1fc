"""The clipped surrogate of PPO, with DAPO's wider upper bound and the dual clip."""

from typing import NamedTuple

import torch
from torch import Tensor

from cowork_gym.trainers.algorithms.masked import live_mask, spread
from cowork_gym.trainers.algorithms.ratios import token_ratio

__all__ = ["ClippedLoss", "clipped_surrogate", "ppo_loss"]


class ClippedLoss(NamedTuple):
    """Token losses of a clipped objective."""

    token_loss: Tensor
    """[rows, tokens]; 0 in dead positions."""
    ratio: Tensor
    """[rows, tokens], detached; 1 in dead positions."""
    clipped: Tensor
    """[rows, tokens] truth values: the live tokens whose gradient the clip removed."""


def clipped_surrogate(ratio: Tensor, advantages: Tensor, eps_low: float, eps_high: float, dual_clip: float | None = None) -> Tensor:
    """max(-A r, -A clip(r, 1 - eps_low, 1 + eps_high)), element by element.

    PPO (arXiv:1707.06347, eq. 7) with one epsilon, DAPO's clip-higher (arXiv:2503.14476) with two.

    Args:
        ratio: New over old policy; gradients flow.
        advantages: Of the same shape.
        eps_low: How far the ratio may fall, from 0.
        eps_high: How far it may rise, from 0.
        dual_clip: Where A < 0 the loss is at most -dual_clip * A (arXiv:1912.09729; verl's `clip_ratio_c`, 3 there). None: no such bound.

    Raises:
        ValueError: An epsilon is negative, or the dual clip is not above 1.
    """
    if not (eps_low >= 0 and eps_high >= 0):
        raise ValueError(f"epsilons are not negative, and these are {eps_low} and {eps_high}")
    if dual_clip is not None and not dual_clip > 1:
        raise ValueError(f"a dual clip is above 1, and this is {dual_clip}")
    loss = torch.maximum(-advantages * ratio, -advantages * ratio.clamp(1 - eps_low, 1 + eps_high))
    return loss if dual_clip is None else torch.where(advantages < 0, torch.minimum(loss, -dual_clip * advantages), loss)


def ppo_loss(
    logp: Tensor,
    old_logp: Tensor,
    advantages: Tensor,
    mask: Tensor,
    *,
    eps_low: float = 0.2,
    eps_high: float = 0.2,
    dual_clip: float | None = None,
) -> ClippedLoss:
    """Token losses of PPO; DAPO with eps_high 0.28.

    Args:
        logp: [rows, tokens] of the policy that learns.
        old_logp: [rows, tokens] of the policy at the start of the update; `logp.detach()` where each batch has one update.
        advantages: [rows] or [rows, tokens].
        mask: [rows, tokens].
        eps_low: See `clipped_surrogate`.
        eps_high: See `clipped_surrogate`.
        dual_clip: See `clipped_surrogate`.

    Raises:
        ValueError: Shapes differ, a live value is not finite, or a bound makes no sense.
    """
    mask = live_mask(mask, logp)
    ratio, advantages = token_ratio(logp, old_logp, mask), spread(advantages, mask)
    loss = clipped_surrogate(ratio, advantages, eps_low, eps_high, dual_clip)
    found = ratio.detach()
    too_high = found > (1 + eps_high)
    too_low = (found < 1 - eps_low) if dual_clip is None else (found < 1 - eps_low) | (found > dual_clip)
    return ClippedLoss(loss, found, torch.where(advantages > 0, too_high, too_low & (advantages < 0)) & mask)
