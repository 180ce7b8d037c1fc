"""Whether the experts of two checkpoints correspond: by the cosine of each matrix with its counterpart, and with every wrong one.

A merge of experts that are in another order, or of gates with ups, has the right shapes and no error, and is no model.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from cowork_gym.core.errors import PackageError
from cowork_gym.trainers.merge.checkpoint import Checkpoint
from cowork_gym.trainers.merge.formulas import cosine
from cowork_gym.trainers.merge.layouts import Bank, Key, read_piece

__all__ = ["Alignment", "Matching", "Thresholds", "align"]

_SAMPLE = 4096
"""Entries by which a matrix is held against all the wrong ones, spread evenly over it. Its own counterpart is compared in full."""
_ROUNDING = 1e-9
"""By which a difference of two cosines may miss the margin: 0.95 - 0.75 is less than 0.2 in binary."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """When a correspondence is believed."""

    cosine: float = 0.9
    """At least this with the counterpart."""
    margin: float = 0.2
    """At least this much less with any other matrix."""


class Matching(NamedTuple):
    """How well one matrix fits its counterpart, and the best of the wrong ones."""

    matched: float
    best_wrong: float
    """-1 where there is no other of its shape."""

    def problem(self, thresholds: Thresholds) -> str | None:
        """Why it is not believed; None when it is."""
        if not self.matched >= thresholds.cosine:
            return f"weak: cosine {self.matched:.3f}, below {thresholds.cosine:g}"
        if not self.matched - self.best_wrong >= thresholds.margin - _ROUNDING:
            return f"ambiguous: cosine {self.matched:.3f}, and {self.best_wrong:.3f} with a wrong one, less than {thresholds.margin:g} apart"
        return None


class Alignment(NamedTuple):
    """The worst over all experts of a pair of checkpoints."""

    matrices: int
    lowest_matched: float
    highest_wrong: float


def align(first: Checkpoint, other: Checkpoint, banks: list[tuple[Bank, Bank]], thresholds: Thresholds) -> Alignment:
    """Hold the experts of two checkpoints against each other, one bank of matrices after the other.

    Args:
        first: The checkpoint that the merge is named after.
        other: The one that is compared.
        banks: Theirs, in pairs, of the same size.
        thresholds: From where on they correspond.

    Raises:
        PackageError: A matrix fits its counterpart weakly, or fits a wrong one nearly as well: the expert is named.
    """
    count, lowest, highest = 0, 1.0, -1.0
    for mine, theirs in banks:
        keys = list(mine.pieces)
        for key, wrong, matching in _compare(first, other, mine, theirs):
            count, lowest, highest = count + 1, min(lowest, matching.matched), max(highest, matching.best_wrong)
            if (problem := matching.problem(thresholds)) is not None:
                piece = theirs.pieces[key]
                best = f"; {_named(keys[wrong])} of {mine.prefix} there has {matching.best_wrong:.3f}" if matching.best_wrong > -1 else ""
                text = f"{_named(key)} does not correspond to {first.folder}: {problem}{best}"
                raise PackageError(other.entries[piece.tensor].file, piece.tensor, text)
    return Alignment(count, lowest, highest)


def _compare(first: Checkpoint, other: Checkpoint, mine: Bank, theirs: Bank) -> Iterator[tuple[Key, int, Matching]]:
    """Each matrix with the place of the wrong one that fits it best. A matrix is in memory alone; of the others there are samples."""
    matched, samples, others = [], [], []
    for key, piece in mine.pieces.items():
        one, two = read_piece(first, piece), read_piece(other, theirs.pieces[key])
        matched.append(cosine(one, two))
        samples.append(_sample(one))
        others.append(_sample(two))
    groups: dict[tuple[int, int], list[int]] = {}
    for at, piece in enumerate(mine.pieces.values()):
        groups.setdefault(piece.shape, []).append(at)
    keys = list(mine.pieces)
    for group in groups.values():
        cosines = torch.stack([samples[at] for at in group]) @ torch.stack([others[at] for at in group]).T
        best, places = cosines.fill_diagonal_(-1.0).max(dim=0)
        for at, wrong, place in zip(group, best.tolist(), places.tolist(), strict=True):
            yield keys[at], group[place], Matching(matched[at], wrong)


def _sample(matrix: Tensor) -> Tensor:
    """A unit vector of some of its entries; zeros where all of them are 0."""
    flat = matrix.flatten()
    if flat.numel() > _SAMPLE:
        flat = flat[torch.linspace(0, flat.numel() - 1, _SAMPLE, dtype=torch.float64).long()]
    wide = flat.double()
    norm = wide.norm()
    return (wide / norm if norm > 0 else wide).float()


def _named(key: Key) -> str:
    return f"the {key[1]} matrix of expert {key[0]}"
