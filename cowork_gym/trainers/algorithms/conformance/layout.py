"""How numbers of a case become tensors of rows and tokens, and how results get the nesting of the case again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

__all__ = ["Layout", "first_of"]


def first_of(inputs: Mapping[str, Any], *names: str, default: Any = None) -> Any:
    """The value under the first of several names that a case uses for one thing."""
    return next((inputs[name] for name in names if inputs.get(name) is not None), default)


@dataclass(frozen=True, slots=True)
class Layout:
    """The nesting of a case's numbers: one row of tokens, or several rows that may differ in length.

    Attributes:
        lengths: Of the rows.
        flat: The case has one row without brackets of its own.
    """

    lengths: tuple[int, ...]
    flat: bool

    @classmethod
    def of(cls, value: Sequence[Any]) -> "Layout":
        """That of a list of numbers or of lists of numbers."""
        if value and isinstance(value[0], Sequence):
            return cls(tuple(len(row) for row in value), False)
        return cls((len(value),), True)

    def tensor(self, value: Any) -> Tensor:
        """[rows, tokens] in float64, NaN where there is nothing. One number holds for every token."""
        if isinstance(value, int | float):
            value = [value] * self.lengths[0] if self.flat else [[value] * length for length in self.lengths]
        rows = [value] if self.flat else value
        width = max(self.lengths, default=0)
        if tuple(len(row) for row in rows) != self.lengths:
            raise ValueError(f"rows of lengths {[len(row) for row in rows]} do not fit {list(self.lengths)}")
        filled = [[torch.nan if one is None else float(one) for one in row] + [torch.nan] * (width - len(row)) for row in rows]
        return torch.tensor(filled, dtype=torch.float64).reshape(len(rows), width)

    def mask(self, value: Any = None) -> Tensor:
        """[rows, tokens] truth values: what the case has, without what is live by no mask of its own."""
        there = torch.arange(max(self.lengths, default=0)) < torch.tensor(self.lengths).unsqueeze(1)
        return there if value is None else there & (self.tensor(value) == 1)

    def advantages(self, value: Any) -> Tensor:
        """One a token, or, of several rows, one a row."""
        if isinstance(value, Sequence) and not self.flat and not isinstance(value[0], Sequence):
            return torch.tensor([torch.nan if one is None else float(one) for one in value], dtype=torch.float64)
        return self.tensor(value)

    def nest(self, found: Tensor) -> Any:
        """Results of [rows, tokens] as the case has its numbers."""
        rows = [row[:length] for row, length in zip(found.detach().tolist(), self.lengths, strict=True)]
        return rows[0] if self.flat else rows
