"""Live tokens moved together, so that a recursion over them meets no observation, and back again."""

from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["Packing"]


@dataclass(frozen=True, slots=True)
class Packing:
    """Where each live token of [rows, tokens] stands among the live tokens of its owner.

    Attributes:
        mask: [rows, tokens] truth values.
        owner: [live] which packed row a token goes to: its own row, or that of its trajectory.
        place: [live] its place there, without gaps from 0.
        owners: How many packed rows there are.
    """

    mask: Tensor
    owner: Tensor
    place: Tensor
    owners: int

    @classmethod
    def of_rows(cls, mask: Tensor) -> "Packing":
        """Each row for itself."""
        return cls.of_owners(mask, torch.arange(len(mask), device=mask.device), mask.new_zeros(len(mask), dtype=torch.long), len(mask))

    @classmethod
    def of_owners(cls, mask: Tensor, owner: Tensor, before: Tensor, owners: int) -> "Packing":
        """Rows behind one another: row i goes to packed row `owner[i]`, after its `before[i]` live tokens."""
        rows = mask.nonzero()[:, 0]
        place = (mask.cumsum(1) - 1)[mask]
        return cls(mask, owner[rows], before[rows] + place, owners)

    def pack(self, values: Tensor) -> Tensor:
        """From [rows, tokens] to [owners, most live tokens]; 0 behind an owner's last."""
        width = int(self.place.max()) + 1 if len(self.place) else 0
        packed = values.new_zeros(self.owners, width)
        packed[self.owner, self.place] = values[self.mask]
        return packed

    def unpack(self, packed: Tensor) -> Tensor:
        """Back to [rows, tokens]; 0 in dead positions."""
        values = packed.new_zeros(self.mask.shape)
        values[self.mask] = packed[self.owner, self.place]
        return values
