"""How tensors are merged: uniform soup, SLERP, task arithmetic and TIES, as pure functions.

Every formula accumulates in float32 (float64 for parents of that type) and casts the result back to the type of its first tensor.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["DOT_THRESHOLD", "Ties", "cosine", "slerp", "soup", "task_arithmetic", "ties", "trim"]

DOT_THRESHOLD = 0.9995
"""|cosine| above which SLERP is a straight line (mergekit): the sine in its denominator would be too small."""
_BLOCK = 1 << 18
"""Entries of a large tensor that are worked on at once where that saves memory."""


def soup(tensors: Iterable[Tensor], weights: Sequence[float] | None = None) -> Tensor:
    """The mean of the parents (Wortsman 2022): `sum_i w_i theta_i / sum_i w_i`.

    Args:
        tensors: One for each parent, all of one shape; taken one after the other, so that they may be read as they are needed.
        weights: Of each parent; all the same by default. They need not add up to 1.

    Returns:
        A tensor of that shape.

    Raises:
        ValueError: There is no tensor, shapes differ, a weight is negative or not finite, all are 0, or their number is another one.
    """
    if weights is not None and (not all(0 <= one < math.inf for one in weights) or not sum(weights) > 0):
        raise ValueError(f"weights of {', '.join(map(str, weights))} have no mean: none may be negative, and one must be above 0")
    total, like, count = None, None, 0
    for tensor, weight in _weighted(tensors, weights):
        count += 1
        like = tensor if like is None else _same_shape(tensor, like)
        term = _wide(tensor) if weights is None else _wide(tensor) * weight
        total = term.clone() if total is None else total.add_(term)
    if total is None or like is None:
        raise ValueError("there is nothing to merge")
    return total.div_(float(count) if weights is None else math.fsum(weights)).to(like.dtype)


def slerp(a: Tensor, b: Tensor, t: float, dot_threshold: float = DOT_THRESHOLD) -> Tensor:
    """The point at t between two tensors on the arc (Shoemake 1985): `sin((1-t)o)/sin(o) a + sin(t o)/sin(o) b`.

    o is the angle between the unit vectors; the coefficients act on the tensors as they are, so a norm is kept only where both have it.
    A straight line, `(1-t) a + t b`, where |cos o| is above the threshold, or a tensor is all zeros and there is no angle.

    Args:
        a: The tensor at t = 0, of any shape; its entries are one vector.
        b: The tensor at t = 1, of the same shape.
        t: Between 0 and 1.
        dot_threshold: On the absolute cosine.

    Raises:
        ValueError: Shapes differ, or t is not between 0 and 1.
    """
    if not 0 <= t <= 1:
        raise ValueError(f"t is {t}, and must be between 0 and 1")
    first, second = _wide(a), _wide(_same_shape(b, a))
    dot, norms = _dot(first, second), math.sqrt(_dot(first, first)) * math.sqrt(_dot(second, second))
    cos = dot / norms if norms else 1.0
    if not abs(cos) > dot_threshold:
        angle = math.acos(cos)
        of_a, of_b = math.sin((1 - t) * angle) / math.sin(angle), math.sin(t * angle) / math.sin(angle)
    else:
        of_a, of_b = 1 - t, t
    return (first * of_a).add_(second * of_b).to(a.dtype)


def task_arithmetic(
    base: Tensor, tensors: Iterable[Tensor], weights: Sequence[float] | None = None, *, lam: float = 1.0, normalize: bool = False,
) -> Tensor:
    """The base with what each parent learnt added to it (Ilharco 2023): `base + lam sum_i w_i (theta_i - base)`.

    Args:
        base: What the parents were trained from.
        tensors: One for each parent, of the same shape, taken one after the other.
        weights: Of each parent, 1 by default; a negative one takes away.
        lam: A factor on the whole change.
        normalize: Whether the change is divided by the sum of the weights.

    Raises:
        ValueError: There is no parent, shapes differ, a weight is not finite, or the weights add up to 0 and are to be normalised.
    """
    wide = _wide(base)
    change, given, count = torch.zeros_like(wide), 0.0, 0
    for tensor, weight in _weighted(tensors, weights):
        count += 1
        change.add_((_wide(_same_shape(tensor, base)) - wide) * weight)
        given += weight
    if not count:
        raise ValueError("there is nothing to merge")
    if normalize:
        if not given:
            raise ValueError("the weights add up to 0: nothing can be divided by that")
        change.div_(given)
    return change.mul_(lam).add_(wide).to(base.dtype)


class Ties(NamedTuple):
    """A TIES merge with its steps."""

    merged: Tensor
    trimmed: list[Tensor]
    """What each parent changed, without its smaller entries."""
    elected_sign: Tensor
    """1 or -1 for each entry; 1 where the changes add up to 0."""


def ties(base: Tensor, tensors: Sequence[Tensor], density: float, weights: Sequence[float] | None = None, *, lam: float = 1.0) -> Ties:
    """The base with the changes that agree (Yadav 2023): trim, elect a sign, mean of the entries that have it.

    `d_i = trim(theta_i - base)`, `s = sign(sum_i w_i d_i)` with 0 counted as +, then `base + lam sum_agreeing w_i d_i / sum_agreeing w_i`.
    Entries that were trimmed, or were 0 from the start, agree with nothing.

    Args:
        base: What the parents were trained from.
        tensors: One for each parent, of the same shape.
        density: The share of entries of a tensor that stays; see `trim`.
        weights: Of each parent, 1 by default.
        lam: A factor on the merged change.

    Raises:
        ValueError: There is no parent, shapes differ, the density is not in (0, 1], or a weight is not positive.
    """
    wide, given = _wide(base), [1.0] * len(tensors) if weights is None else list(weights)
    if not all(0 < one < math.inf for one in given):
        raise ValueError(f"weights of {', '.join(map(str, given))}: each must be above 0")
    trimmed = [trim(_wide(_same_shape(tensor, base)) - wide, density) for tensor, _ in _weighted(tensors, given)]
    if not trimmed:
        raise ValueError("there is nothing to merge")
    merged, sign = torch.empty(base.numel(), dtype=base.dtype), torch.empty(base.numel(), dtype=torch.int8)
    for start in range(0, base.numel(), _BLOCK):
        here = slice(start, start + _BLOCK)
        change, up = _agreed([one.flatten()[here] for one in trimmed], given)
        merged[here], sign[here] = change.mul_(lam).add_(wide.flatten()[here]), up * 2 - 1
    return Ties(merged.view(base.shape), trimmed, sign.view(base.shape))


def _agreed(changes: Sequence[Tensor], weights: Sequence[float]) -> tuple[Tensor, Tensor]:
    """The mean of the changes that have the elected sign, and where that is +, as 0 and 1."""
    mass = torch.zeros_like(changes[0])
    for change, weight in zip(changes, weights, strict=True):
        mass.add_(change * weight)
    up = mass >= 0
    total, agreeing = torch.zeros_like(mass), torch.zeros_like(mass)
    for change, weight in zip(changes, weights, strict=True):
        agrees = torch.where(up, change > 0, change < 0)
        total.add_(torch.where(agrees, change * weight, 0.0))
        agreeing.add_(agrees.to(mass.dtype) * weight)
    return total.div_(torch.where(agreeing > 0, agreeing, 1.0)), up.to(torch.int8)


def trim(change: Tensor, density: float) -> Tensor:
    """A tensor with its largest entries by magnitude, and 0 in place of the others.

    Args:
        change: Of any shape.
        density: The share that stays, rounded down to whole entries, but at least one. Of equal entries the first ones stay.

    Raises:
        ValueError: The density is not in (0, 1].
    """
    if not 0 < density <= 1:
        raise ValueError(f"density is {density}, and must be above 0 and at most 1")
    size = change.numel()
    keep = max(1, math.floor(density * size + 1e-9))  # 0.29 of 100 is 29, whatever binary fractions make of it
    if keep >= size:
        return change.clone()
    weight = change.abs().flatten()
    last = torch.kthvalue(weight, size - keep + 1).values
    stays = weight > last
    if last > 0:
        equal = (weight == last).nonzero().flatten()
        stays[equal[: keep - int(stays.sum())]] = True
    return torch.where(stays.view(change.shape), change, 0.0)


def cosine(a: Tensor, b: Tensor) -> float:
    """The cosine of the angle between two tensors, whose entries are one vector each.

    Returns:
        In [-1, 1]; 0 where one of them is all zeros, 1 where both are.

    Raises:
        ValueError: Their shapes differ.
    """
    first, second = _wide(a), _wide(_same_shape(b, a))
    squares = _dot(first, first), _dot(second, second)
    if not all(squares):
        return float(squares[0] == squares[1])
    return min(1.0, max(-1.0, _dot(first, second) / (math.sqrt(squares[0]) * math.sqrt(squares[1]))))


def _dot(a: Tensor, b: Tensor) -> float:
    """In float64, a block at a time. Of float64 entries the products are added exactly, so that their order does not matter there either."""
    pairs = list(zip(torch.split(a.reshape(-1), _BLOCK), torch.split(b.reshape(-1), _BLOCK), strict=True))
    if a.dtype == torch.float64:
        return math.fsum(product for x, y in pairs for product in (x * y).tolist())
    return sum(float(x.double() @ y.double()) for x, y in pairs)


def _wide(tensor: Tensor) -> Tensor:
    return tensor if tensor.dtype == torch.float64 else tensor.float()


def _same_shape(tensor: Tensor, like: Tensor) -> Tensor:
    if tensor.shape != like.shape:
        raise ValueError(f"the shapes {[*like.shape]} and {[*tensor.shape]} differ")
    return tensor


def _weighted(tensors: Iterable[Tensor], weights: Sequence[float] | None) -> Iterable[tuple[Tensor, float]]:
    """Each tensor with its weight.

    Raises:
        ValueError: A weight is not finite, or there are more or fewer than tensors.
    """
    if weights is None:
        yield from ((tensor, 1.0) for tensor in tensors)
        return
    if not all(map(math.isfinite, weights)):
        raise ValueError(f"weights of {', '.join(map(str, weights))} are not all finite")
    for tensor, weight in zip_longest(tensors, weights):
        if tensor is None or weight is None:
            raise ValueError(f"there are {len(weights)} weights, and {'fewer' if tensor is None else 'more'} tensors")
        yield tensor, weight
