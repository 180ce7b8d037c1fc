"""Ids of rows (trajectories, groups) as numbers from 0, so that tensors can be summed by them."""

from collections.abc import Hashable, Sequence
from typing import TypeAlias

import torch
from torch import Tensor

__all__ = ["RowIds", "number"]

RowIds: TypeAlias = Tensor | Sequence[Hashable]
"""One id a row: integers, or anything hashable."""


def number(ids: RowIds, rows: Tensor) -> tuple[Tensor, int]:
    """The number of each row's id, and how many different ids there are.

    Args:
        ids: [rows].
        rows: A tensor whose first dimension is the rows.

    Returns:
        [rows] integers on the device of `rows`, and their count.

    Raises:
        ValueError: There are not as many ids as rows; one is None.
    """
    if len(ids) != len(rows):
        raise ValueError(f"{len(ids)} ids do not fit {len(rows)} rows")
    if isinstance(ids, Tensor):
        different, index = torch.unique(ids, return_inverse=True)
        return index.to(rows.device), len(different)
    if any(one is None for one in ids):
        raise ValueError("a row has no id")
    places = {one: place for place, one in enumerate(dict.fromkeys(ids))}
    return torch.tensor([places[one] for one in ids], dtype=torch.long, device=rows.device), len(places)
