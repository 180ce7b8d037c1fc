"""Generalised advantage estimation over optimised tokens only: what a tool wrote is neither a state nor a step of time."""

from typing import Literal, NamedTuple

import torch
from torch import Tensor

from cowork_gym.trainers.algorithms.critics.packing import Packing
from cowork_gym.trainers.algorithms.masked import live_mask, live_values

__all__ = ["Gae", "discounted_suffix_sums", "masked_gae", "packed_gae", "terminal_rewards"]


class Gae(NamedTuple):
    """Advantages and the critic's targets."""

    advantages: Tensor
    """[rows, tokens]; 0 in dead positions."""
    returns: Tensor
    """[rows, tokens]: advantage plus value, before any whitening; 0 in dead positions."""


def terminal_rewards(rewards: Tensor, mask: Tensor) -> Tensor:
    """Each row's reward on its last live token, as a dtype of at least float32.

    Args:
        rewards: [rows].
        mask: [rows, tokens].

    Returns:
        [rows, tokens].

    Raises:
        ValueError: Shapes differ, the reward of a row with live tokens is not finite, or one without them has a reward that no token would carry.
    """
    mask = live_mask(mask, mask)
    stranded = ~mask.any(1) & rewards.isfinite() & (rewards != 0) if rewards.shape == mask.shape[:1] else mask.new_zeros(1)
    if bool(stranded.any()):
        raise ValueError(f"row {int(stranded.nonzero()[0])} has a reward and no live token to carry it")
    rewards = live_values("rewards", rewards, mask.any(1))
    last = mask & (mask.cumsum(1) == mask.sum(1, keepdim=True))
    return last * rewards.unsqueeze(1)


def masked_gae(
    rewards: Tensor,
    values: Tensor,
    mask: Tensor,
    gamma: float = 1.0,
    lam: float | Tensor = 1.0,
    *,
    stray_rewards: Literal["raise", "ignore"] = "raise",
) -> Gae:
    """GAE (arXiv:1506.02438, eq. 16) in which dead positions carry the next value and advantage unchanged; V = 0 after the last live token.

    verl's recursion does the same; that of slime and SkyRL takes no mask and reads the critic at observations.

    Args:
        rewards: [rows, tokens]; `terminal_rewards` makes them of one a row.
        values: [rows, tokens]: the critic's value of the state before the token; detached. Dead positions may hold anything.
        mask: [rows, tokens].
        gamma: The discount, in [0, 1].
        lam: In [0, 1]; one number, or [rows].
        stray_rewards: What to do with a reward on a dead position, which no token would ever see.

    Raises:
        ValueError: Shapes differ; a live value or reward is not finite; gamma or lambda is outside of [0, 1]; a reward is stray.
    """
    mask = live_mask(mask, values)
    if rewards.shape != mask.shape:
        raise ValueError(f"rewards of shape {list(rewards.shape)} do not fit a mask of shape {list(mask.shape)}")
    stray = torch.isfinite(rewards) & (rewards != 0) & ~mask
    if stray_rewards == "raise" and bool(stray.any()):
        raise ValueError(f"a reward stands at dead position {stray.nonzero()[0].tolist()}: its place is the row's last live token")
    return packed_gae(rewards, values, Packing.of_rows(mask), gamma, lam)


def packed_gae(rewards: Tensor, values: Tensor, packing: Packing, gamma: float, lam: float | Tensor) -> Gae:
    """GAE over the live tokens of each owner of a packing.

    Args:
        rewards: [rows, tokens].
        values: [rows, tokens]; detached.
        packing: Which tokens follow one another.
        gamma: The discount.
        lam: One number, or one an owner.

    Raises:
        ValueError: See `masked_gae`.
    """
    values, rewards = live_values("values", values.detach(), packing.mask), live_values("rewards", rewards.detach(), packing.mask)
    v, r = (packing.pack(one.to(torch.float64)) for one in (values, rewards))
    lam = _share("lambda", lam, v)
    decay = _share("gamma", gamma, v) * lam
    delta = r + gamma * torch.nn.functional.pad(v[:, 1:], (0, 1)) - v if v.shape[1] else v
    advantages = packing.unpack(discounted_suffix_sums(delta, decay))
    return Gae(advantages.to(values), (advantages + values).to(values))


def discounted_suffix_sums(x: Tensor, decay: Tensor) -> Tensor:
    """s_t = x_t + decay * s_(t+1) along each row, in a number of passes that grows with the logarithm of its length.

    Args:
        x: [rows, tokens].
        decay: [rows, 1], in [0, 1].
    """
    step = 1
    while step < x.shape[1]:
        x = x + decay * torch.nn.functional.pad(x[:, step:], (0, step))
        decay, step = decay.square(), 2 * step
    return x


def _share(name: str, given: float | Tensor, packed: Tensor) -> Tensor:
    share = torch.as_tensor(given, dtype=torch.float64, device=packed.device)
    share = share.expand(len(packed)) if share.dim() == 0 else share
    if share.shape != packed.shape[:1]:
        raise ValueError(f"{name} of shape {list(share.shape)} does not fit {len(packed)} rows")
    if not bool(((share >= 0) & (share <= 1)).all()):
        raise ValueError(f"{name} lies in [0, 1]")
    return share.unsqueeze(1)
