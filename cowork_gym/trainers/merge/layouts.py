"""The layouts in which a mixture of experts is saved, read as one: for each expert a gate, an up and a down matrix.

Per expert, `experts.3.gate_proj.weight` [I, H], `.up_proj.` [I, H] and `.down_proj.` [H, I] (also called w1, w3, w2); or fused,
`experts.gate_up_proj` [E, 2I, H] with the gate's rows first and `experts.down_proj` [E, H, I]; or fused and transposed, [E, H, 2I] and
[E, I, H]. Which of the last two it is follows from the shapes of both tensors together: 2I against I, never from which number is larger.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from cowork_gym.core.errors import PackageError
from cowork_gym.trainers.merge.checkpoint import Checkpoint
from cowork_gym.trainers.merge.headers import FLOATS, Entry

__all__ = ["ROLES", "Bank", "Key", "Piece", "find_banks", "read_piece"]

ROLES = ("gate", "up", "down")
Key = tuple[int, str]
"""An expert's number and a role."""
_EACH = re.compile(r"(?P<prefix>.*\bexperts)\.(?P<expert>\d+)\.(?P<role>gate_proj|up_proj|down_proj|w1|w2|w3)\.weight")
_FUSED = re.compile(r"(?P<prefix>.*\bexperts)\.(?P<role>gate_up_proj|down_proj)(?:\.weight)?")
_NAMES = {"gate_proj": "gate", "w1": "gate", "up_proj": "up", "w3": "up", "down_proj": "down", "w2": "down"}


@dataclass(frozen=True, slots=True)
class Piece:
    """One matrix of one expert, and where it lies: in a block of rows and columns, of which it has some rows, or, transposed, some columns."""

    tensor: str
    start: int
    """The block's first entry in the tensor."""
    block: tuple[int, int]
    span: tuple[int, int]
    transposed: bool

    @property
    def shape(self) -> tuple[int, int]:
        """Its rows and columns, as a linear layer has them: [out, in]."""
        return self.span[1] - self.span[0], self.block[0] if self.transposed else self.block[1]


@dataclass(frozen=True, slots=True)
class Bank:
    """All experts of a layer."""

    prefix: str
    layout: str
    """per_expert, fused or fused_transposed."""
    dtype: str
    pieces: Mapping[Key, Piece]
    """By expert and role, expert after expert."""

    @property
    def experts(self) -> int:
        """How many there are."""
        return len(self.pieces) // len(ROLES)

    @property
    def tensors(self) -> tuple[str, ...]:
        """The names under which they are saved."""
        return tuple(dict.fromkeys(piece.tensor for piece in self.pieces.values()))

    def blocks(self, tensor: str) -> list[tuple[Key, ...]]:
        """The pieces of a tensor in the order in which they lie there, those of one block together."""
        found: dict[int, list[Key]] = {}
        for key, piece in self.pieces.items():
            if piece.tensor == tensor:
                found.setdefault(piece.start, []).append(key)
        return [tuple(sorted(keys, key=lambda key: self.pieces[key].span)) for _, keys in sorted(found.items())]


def find_banks(checkpoint: Checkpoint) -> dict[str, Bank]:
    """The experts of every layer by the prefix of their names. What has not all three matrices for all experts is no bank.

    Raises:
        PackageError: A fused tensor has a shape that fits no layout.
    """
    each: dict[str, dict[Key, Entry]] = {}
    fused: dict[str, dict[str, Entry]] = {}
    for name, entry in checkpoint.entries.items():
        if entry.dtype not in FLOATS:
            continue
        if found := _EACH.fullmatch(name):
            each.setdefault(found["prefix"], {})[int(found["expert"]), _NAMES[found["role"]]] = entry
        elif found := _FUSED.fullmatch(name):
            fused.setdefault(found["prefix"], {})[found["role"]] = entry
    banks = {prefix: bank for prefix, parts in each.items() if (bank := _per_expert(prefix, parts))}
    return banks | {prefix: _of_fused(prefix, parts["gate_up_proj"], parts["down_proj"]) for prefix, parts in fused.items() if len(parts) == 2}


def read_piece(checkpoint: Checkpoint, piece: Piece) -> Tensor:
    """A matrix [out, in], whatever the layout it lies in. No more is read than its block.

    Raises:
        PackageError: As `Checkpoint.read`.
    """
    rows, columns = piece.block
    first, last = piece.span
    if not piece.transposed:
        return checkpoint.read(piece.tensor, piece.start + first * columns, (last - first) * columns).view(last - first, columns)
    return checkpoint.read(piece.tensor, piece.start, rows * columns).view(rows, columns)[:, first:last].T.contiguous()


def _per_expert(prefix: str, parts: Mapping[Key, Entry]) -> Bank | None:
    keys = [(expert, role) for expert in range(max(expert for expert, _ in parts) + 1) for role in ROLES]
    if parts.keys() != {*keys} or any(len(entry.shape) != 2 for entry in parts.values()) or len({entry.dtype for entry in parts.values()}) > 1:
        return None
    pieces = {}
    for key in keys:
        rows, columns = parts[key].shape
        pieces[key] = Piece(parts[key].name, 0, (rows, columns), (0, rows), False)
    return Bank(prefix, "per_expert", parts[keys[0]].dtype, pieces)


def _of_fused(prefix: str, gate_up: Entry, down: Entry) -> Bank:
    if len(gate_up.shape) != 3 or len(down.shape) != 3 or gate_up.shape[0] != down.shape[0] or gate_up.dtype != down.dtype:
        raise PackageError(gate_up.file, gate_up.name, f"{_text(gate_up)} beside {down.name} with {_text(down)} is no layout of experts")
    experts, rows, columns = gate_up.shape
    _, out, inner = down.shape
    transposed = (rows, columns) == (inner, 2 * out)
    if not transposed and (rows, columns) != (2 * inner, out):
        raise PackageError(gate_up.file, gate_up.name, f"{_text(gate_up)} beside {down.name} with {_text(down)} is no layout of experts")
    half = (columns if transposed else rows) // 2
    pieces: dict[Key, Piece] = {}
    for expert in range(experts):
        place = expert * rows * columns
        pieces[expert, "gate"] = Piece(gate_up.name, place, (rows, columns), (0, half), transposed)
        pieces[expert, "up"] = Piece(gate_up.name, place, (rows, columns), (half, 2 * half), transposed)
        pieces[expert, "down"] = Piece(down.name, expert * out * inner, (out, inner), (0, inner if transposed else out), transposed)
    return Bank(prefix, "fused_transposed" if transposed else "fused", gate_up.dtype, pieces)


def _text(entry: Entry) -> str:
    return f"{[*entry.shape]} {entry.dtype}"
