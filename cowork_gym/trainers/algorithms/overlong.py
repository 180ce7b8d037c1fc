"""Responses that are too long: DAPO's soft punishment, or their removal from the loss. These are alternatives."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from cowork_gym.trainers.algorithms.ids import number
from cowork_gym.trainers.algorithms.masked import live_mask

__all__ = ["TruncationMask", "mask_truncated", "soft_overlong_penalty"]


@dataclass(frozen=True, slots=True, eq=False)
class TruncationMask:
    """A loss mask without truncated rows.

    Attributes:
        mask: [rows, tokens] truth values.
        masked_rows: Rows that lost live tokens.
        masked_tokens: The live tokens that they lost.
    """

    mask: Tensor
    masked_rows: int
    masked_tokens: int


def soft_overlong_penalty(lengths: Tensor | Sequence[float], max_len: float, cache_len: float, *, saturate: bool = True) -> Tensor:
    """0 up to max_len - cache_len, from there linearly down to -1 at max_len, and -1 beyond (DAPO, arXiv:2503.14476, equation 13).

    It is added to the reward and not to the metric that dynamic sampling looks at.

    Args:
        lengths: [trajectories] generated tokens.
        max_len: The longest response.
        cache_len: Over how many tokens before that the punishment grows.
        saturate: Without it the punishment keeps growing beyond max_len, as verl's formula does.

    Returns:
        [trajectories] in float64.

    Raises:
        ValueError: Not 0 < cache_len <= max_len; a length is negative or not finite.
    """
    if not 0 < cache_len <= max_len < float("inf"):
        raise ValueError(f"0 < cache_len <= max_len is asked for, and these are {cache_len} and {max_len}")
    length = torch.as_tensor(lengths).to(torch.float64)
    if not bool((torch.isfinite(length) & (length >= 0)).all()):
        raise ValueError("lengths are finite numbers from 0")
    return ((max_len - cache_len - length) / cache_len).clamp(min=-1.0 if saturate else None, max=0.0)


def mask_truncated(mask: Tensor, truncated: Tensor | Sequence[bool], trajectory_ids: Tensor | Sequence[Hashable] | None = None) -> TruncationMask:
    """Take truncated rows, and with trajectory ids all rows of their trajectories, out of the loss; rewards stay in all statistics.

    Args:
        mask: [rows, tokens].
        truncated: [rows] a response of the row reached the generation limit.
        trajectory_ids: [rows]; Navalia's rule, by which a truncated segment takes its siblings along.

    Raises:
        ValueError: Lengths differ, or the mask is not of 0 and 1.
    """
    live = live_mask(mask, mask)
    cut = torch.as_tensor(truncated, device=mask.device).bool()
    if cut.shape != mask.shape[:1]:
        raise ValueError(f"{list(cut.shape)} truth values do not fit a mask of shape {list(mask.shape)}")
    if trajectory_ids is not None:
        index, size = number(trajectory_ids, mask)
        cut = torch.zeros(size, dtype=torch.long, device=mask.device).index_add(0, index, cut.long())[index] > 0
    lost = live & cut.unsqueeze(1)
    return TruncationMask(live & ~cut.unsqueeze(1), int(lost.any(1).sum()), int(lost.sum()))
