"""Samples side by side in rows of one length: which go together, and where each of them lies. Nothing is cut, nothing attends another's."""

from bisect import bisect_left, insort
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

__all__ = ["Layout", "Packed", "allowed_pairs", "layout", "pack"]


class Packed(NamedTuple):
    """Which samples share a row, by their indices."""

    bins: tuple[tuple[int, ...], ...]
    dropped: tuple[int, ...]
    """Those longer than a row, in order."""


class Layout(NamedTuple):
    """One row, token by token."""

    position_ids: tuple[int, ...]
    """They begin anew with each member; 0 for padding."""
    cu_seqlens: tuple[int, ...]
    """Where each member begins, and where the last one ends; padding is no member."""
    sequence_ids: tuple[int, ...]
    """The member that a token is of; -1 for padding."""


def pack(lengths: Sequence[int], capacity: int) -> Packed:
    """Pack samples by best-fit decreasing: the longest first, each into the fullest row that has room for it. Ties go by index.

    A sample longer than a row is dropped, never cut (Occamy-1.0, section 5.1, which names no heuristic; this one is the project's default).

    Args:
        lengths: Tokens of each sample.
        capacity: Tokens of a row.

    Raises:
        ValueError: A length or the capacity is less than 1.
    """
    _check(lengths, capacity)
    bins: list[list[int]] = []
    room: list[tuple[int, int]] = []
    for index in sorted((at for at, one in enumerate(lengths) if one <= capacity), key=lambda at: (-lengths[at], at)):
        at = bisect_left(room, (lengths[index], -1))
        left, number = room.pop(at) if at < len(room) else (capacity, len(bins))
        if number == len(bins):
            bins.append([])
        bins[number].append(index)
        insort(room, (left - lengths[index], number))
    return Packed(tuple(map(tuple, bins)), tuple(at for at, one in enumerate(lengths) if one > capacity))


def layout(lengths: Sequence[int], capacity: int) -> Layout:
    """The layout of one row: its members one after another, padding behind them.

    Args:
        lengths: Tokens of each member, in order.
        capacity: Tokens of the row.

    Raises:
        ValueError: A length or the capacity is less than 1, or the members do not fit.
    """
    _check(lengths, capacity)
    ends = tuple(accumulate(lengths, initial=0))
    if ends[-1] > capacity:
        raise ValueError(f"{len(lengths)} samples of {ends[-1]} tokens do not fit into a row of {capacity}")
    padding = capacity - ends[-1]
    positions = (at for one in lengths for at in range(one))
    members = (member for member, one in enumerate(lengths) for _ in range(one))
    return Layout((*positions, *[0] * padding), ends, (*members, *[-1] * padding))


def allowed_pairs(layout: Layout) -> int:
    """How many pairs of tokens may attend one another under block-diagonal causal attention, each token itself included; padding has none."""
    return sum(length * (length + 1) // 2 for start, end in pairwise(layout.cu_seqlens) if (length := end - start))


def _check(lengths: Sequence[int], capacity: int) -> None:
    if capacity < 1:
        raise ValueError(f"a row cannot have {capacity} tokens")
    if lengths and min(lengths) < 1:
        raise ValueError(f"sample {min(range(len(lengths)), key=lengths.__getitem__)} has {min(lengths)} tokens")
