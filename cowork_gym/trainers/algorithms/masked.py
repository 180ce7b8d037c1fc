"""Masked tensors: what a mask is, how dead positions are kept from arithmetic, and sums that no NaN in a dead position can reach."""

import torch
from torch import Tensor

__all__ = ["live_mask", "live_values", "masked_mean", "masked_sum", "masked_var", "masked_whiten", "spread", "widened"]


def live_mask(mask: Tensor, like: Tensor) -> Tensor:
    """A mask as truth values.

    Args:
        mask: Of the shape of `like`; truth values, or numbers that are 0 or 1. 1 = token sampled by the policy and eligible for the loss.
        like: The tensor that it is to fit.

    Raises:
        ValueError: The shapes differ, or the mask holds something between.
    """
    if mask.shape != like.shape:
        raise ValueError(f"a mask of shape {_shape(mask)} does not fit values of shape {_shape(like)}")
    if mask.dtype == torch.bool:
        return mask
    live = mask == 1
    if not bool((live | (mask == 0)).all()):
        raise ValueError("a mask holds only 0 and 1")
    return live


def live_values(name: str, values: Tensor, mask: Tensor) -> Tensor:
    """Values with 0 in every dead position, at least in float32. No gradient reaches a dead position, whatever stands there.

    Args:
        name: What they are called in an error.
        values: Of the mask's shape.
        mask: Truth values, as `live_mask` gives them.

    Raises:
        ValueError: The shapes differ, or a live position is NaN or infinite.
    """
    if values.shape != mask.shape:
        raise ValueError(f"{name} of shape {_shape(values)} does not fit a mask of shape {_shape(mask)}")
    values = widened(values)
    values = torch.where(mask, values, torch.zeros((), dtype=values.dtype, device=values.device))
    finite = torch.isfinite(values.detach())
    if not bool(finite.all()):
        place = (~finite).nonzero()[0].tolist()
        raise ValueError(f"{name} is not finite at live position {place}")
    return values


def widened(values: Tensor) -> Tensor:
    """Values of at least float32: halves are too coarse for ratios and sums."""
    return values if values.dtype in (torch.float32, torch.float64) else values.to(torch.float32)


def spread(advantages: Tensor, mask: Tensor) -> Tensor:
    """Advantages for every token: those of shape [rows] hold for all tokens of their row.

    The result is detached: no policy gradient flows into an advantage.

    Raises:
        ValueError: They are neither of the mask's shape nor one a row; a live one is not finite.
    """
    if mask.dim() == 2 and advantages.shape == mask.shape[:1]:
        advantages = advantages.unsqueeze(1).expand(mask.shape)
    return live_values("advantages", advantages.detach(), mask)


def masked_sum(values: Tensor, mask: Tensor, dim: int | None = None) -> Tensor:
    """The sum over live positions; 0, still connected to the graph, where there are none.

    Args:
        values: Any shape.
        mask: The same shape.
        dim: The dimension to sum over; None for all.

    Raises:
        ValueError: See `live_mask` and `live_values`.
    """
    values = live_values("values", values, live_mask(mask, values))
    return values.sum() if dim is None else values.sum(dim)


def masked_mean(values: Tensor, mask: Tensor, dim: int | None = None) -> Tensor:
    """The mean over live positions; 0, still connected to the graph, where there are none. Arguments and errors as of `masked_sum`."""
    live = live_mask(mask, values)
    count = live.sum() if dim is None else live.sum(dim)
    return masked_sum(values, live, dim) / count.clamp(min=1)


def masked_var(values: Tensor, mask: Tensor, ddof: int = 1) -> Tensor:
    """The variance over all live positions, in two passes.

    Raises:
        ValueError: There are no more live positions than `ddof`; and see `masked_sum`.
    """
    live = live_mask(mask, values)
    count = int(live.sum())
    if count <= ddof:
        raise ValueError(f"a variance with ddof {ddof} needs more than {ddof} live values, and there are {count}")
    return masked_sum((values - masked_mean(values, live)).square(), live) / (count - ddof)


def masked_whiten(values: Tensor, mask: Tensor, eps: float = 1e-8) -> Tensor:
    """(x - mean) / sqrt(variance + eps) over all live positions with ddof 1; 0 in dead ones, and everywhere when none is live.

    Raises:
        ValueError: Exactly one position is live: it has no variance. And see `masked_sum`.
    """
    live = live_mask(mask, values)
    values = live_values("values", values, live)
    if not bool(live.any()):
        return values
    return torch.where(live, (values - masked_mean(values, live)) / (masked_var(values, live) + eps).sqrt(), torch.zeros_like(values))


def _shape(values: Tensor) -> list[int]:
    return list(values.shape)
