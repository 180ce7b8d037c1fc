"""What was written, held against the parents once more: other code reads the files, other code computes, and every bit must agree.

The files are read by the safetensors library, the formulas are numpy's, and the layout of the experts is found again from the merged files.
"""

import functools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from safetensors import safe_open

from cowork_gym.core.errors import PackageError
from cowork_gym.trainers.merge.checkpoint import CHUNK, Checkpoint
from cowork_gym.trainers.merge.formulas import DOT_THRESHOLD
from cowork_gym.trainers.merge.layouts import ROLES, Bank, Key, Piece, find_banks
from cowork_gym.trainers.merge.plan import Action, Models, Output, Plan
from cowork_gym.trainers.merge.recipe import Recipe

__all__ = ["Verification", "verify"]

_TENSORS, _BANKS = 32, 8
"""How many dense tensors, and banks of experts, are sampled in all; of a bank the first, the middle and the last expert."""
Array: TypeAlias = npt.NDArray[Any]
T = TypeVar("T")


class Verification(NamedTuple):
    """What was recomputed, and found equal to the last bit."""

    tensors: list[str]
    expert_slices: list[str]


def verify(merged: Checkpoint, models: Models, plan: Plan, recipe: Recipe) -> Verification:
    """Recompute some of a merged model's tensors and experts from the parents' files.

    Raises:
        PackageError: A tensor is missing, or of another shape or type than planned, or an entry differs.
    """
    for output in plan.outputs.values():
        found = merged.entries.get(output.name)
        if found is None or (found.shape, found.dtype) != (output.shape, output.dtype):
            raise PackageError(merged.folder, output.name, "not written as planned")
    tensors = _sampled(merged, plan)
    for output in tensors:
        _check_tensor(output, merged, models, recipe)
    banks, slices = find_banks(merged), []
    for prefix in _spread([*dict.fromkeys(one.source for one in plan.of(Action.EXPERTS))], _BANKS):
        if prefix not in banks:
            raise PackageError(merged.folder, prefix, "the experts were not written as planned")
        last = banks[prefix].experts - 1
        for key in [(expert, role) for expert in dict.fromkeys((0, last // 2, last)) for role in ROLES]:
            _check_expert(key, banks[prefix], merged, models, plan, recipe)
            slices.append(f"{prefix}.{key[0]} {key[1]}")
    return Verification([one.name for one in tensors], slices)


def _sampled(merged: Checkpoint, plan: Plan) -> list[Output]:
    """Of the tensors that are no experts the first one of each file, and some of the others."""
    plain = [one for one in plan.outputs.values() if one.action is not Action.EXPERTS]
    firsts = {merged.entries[one.name].file: one for one in reversed(plain)}
    chosen = [*reversed(firsts.values())]
    return chosen + _spread([one for one in plain if one not in chosen], _TENSORS - len(chosen))


def _spread(values: Sequence[T], most: int) -> list[T]:
    """At most so many of them, evenly."""
    return [values[at * len(values) // most] for at in range(most)] if len(values) > most else [*values]


def _check_tensor(output: Output, merged: Checkpoint, models: Models, recipe: Recipe) -> None:
    averaged = output.action is Action.AVERAGED
    for rows in _parts(output, whole=averaged and not recipe.elementwise):
        owners = [_load(models.parents[at], output.source, rows) for at in output.owners]
        expected = owners[0]
        if averaged:
            base = None if models.base is None else _load(models.base, output.source, rows)
            expected = _recompute(owners, base, output.owners, recipe, output.dtype)
        _check_equal(_load(merged, output.name, rows), expected, merged, output.name, "")


def _parts(output: Output, whole: bool) -> Iterator[slice | None]:
    """Rows that are compared at once; None for all that there is."""
    if whole or not output.shape or not output.shape[0]:
        yield None
        return
    step = max(1, CHUNK * output.shape[0] // max(1, math.prod(output.shape)))
    for start in range(0, output.shape[0], step):
        yield slice(start, min(start + step, output.shape[0]))


def _check_expert(key: Key, bank: Bank, merged: Checkpoint, models: Models, plan: Plan, recipe: Recipe) -> None:
    owners = tuple(at for at in range(len(models.parents)) if bank.prefix in plan.banks[at])
    parts = [_slice(models.all[at], plan.banks[at][bank.prefix].pieces[key]) for at in owners]
    base = None if models.base is None else _slice(models.base, plan.banks[-1][bank.prefix].pieces[key])
    piece = bank.pieces[key]
    expected = _recompute(parts, base, owners, recipe, bank.dtype)
    _check_equal(_slice(merged, piece), expected, merged, piece.tensor, f"the {key[1]} matrix of expert {key[0]}: ")


def _check_equal(found: Array, expected: Array, merged: Checkpoint, name: str, what: str) -> None:
    if found.shape != expected.shape or not np.array_equal(_bits(found), _bits(expected)):
        raise PackageError(merged.entries[name].file, name, f"{what}what was written is not what the parents give")


def _recompute(parts: list[Array], base: Array | None, owners: tuple[int, ...], recipe: Recipe, dtype: str) -> Array:
    """The formula in numpy, in the order of operations that the formulas promise, as the bits that are stored."""
    wide = [_wide(part, dtype) for part in parts]
    weights = None if recipe.weights is None else [recipe.weights[at] for at in owners]
    values = recipe.parameters()
    if recipe.method == "soup":
        found = _soup(wide, weights)
    elif recipe.method == "slerp":
        found = _slerp(wide[0], wide[1], values["t"])
    else:
        start = _wide(base, dtype) if base is not None else np.zeros_like(wide[0])
        given = weights or [1.0] * len(wide)
        changes = [one - start for one in wide]
        change = _sum(changes, given) if recipe.method == "task" else _agreed(changes, given, values["density"])
        found = change * values["lambda"] + start
    return _narrow(found, dtype)


def _soup(wide: list[Array], weights: list[float] | None) -> Array:
    terms = wide if weights is None else [one * weight for one, weight in zip(wide, weights, strict=True)]
    total: Array = functools.reduce(np.add, terms)
    total /= float(len(wide)) if weights is None else math.fsum(weights)
    return total


def _sum(changes: list[Array], weights: Sequence[float]) -> Array:
    total = np.zeros_like(changes[0])
    for change, weight in zip(changes, weights, strict=True):
        total = total + change * weight
    return total


def _slerp(a: Array, b: Array, t: float) -> Array:
    norms = math.sqrt(_dot(a, a)) * math.sqrt(_dot(b, b))
    cos = _dot(a, b) / norms if norms else 1.0
    if abs(cos) > DOT_THRESHOLD:
        return a * (1 - t) + b * t
    angle = math.acos(cos)
    return a * (math.sin((1 - t) * angle) / math.sin(angle)) + b * (math.sin(t * angle) / math.sin(angle))


def _dot(a: Array, b: Array) -> float:
    products = a.ravel().astype(np.float64) * b.ravel().astype(np.float64)
    return math.fsum(products.tolist()) if a.dtype == np.float64 else float(products.sum())


def _agreed(changes: list[Array], weights: list[float], density: float) -> Array:
    kept = [_largest(change, density) for change in changes]
    sign = np.where(_sum(kept, weights) >= 0, 1.0, -1.0)
    agrees = [np.sign(change) == sign for change in kept]
    total = _sum([np.where(mine, change, 0).astype(change.dtype) for mine, change in zip(agrees, kept, strict=True)], weights)
    mass = _sum([mine.astype(total.dtype) for mine in agrees], weights)
    total /= np.where(mass > 0, mass, 1)
    return total


def _largest(change: Array, density: float) -> Array:
    size, count = np.abs(change), max(1, int(density * change.size + 1e-9))
    limit = np.partition(size, -count, axis=None)[-count]
    kept = np.where(size > limit, change, 0).astype(change.dtype)
    equal = np.flatnonzero(size == limit)[: count - np.count_nonzero(size > limit)]
    kept.flat[equal] = change.flat[equal]
    return kept


def _load(checkpoint: Checkpoint, name: str, rows: slice | None) -> Array:
    with _opened(checkpoint, name) as file:
        return _raw(file.get_tensor(name) if rows is None else file.get_slice(name)[rows])


def _slice(checkpoint: Checkpoint, piece: Piece) -> Array:
    """An expert's matrix, cut out of its tensor by index."""
    with _opened(checkpoint, piece.tensor) as file:
        part = file.get_slice(piece.tensor)
        whole = len(checkpoint.entries[piece.tensor].shape) == 2
        block = _raw(part[:] if whole else part[piece.start // (piece.block[0] * piece.block[1])])
    first, last = piece.span
    return block[:, first:last].T if piece.transposed else block[first:last]


def _opened(checkpoint: Checkpoint, name: str) -> Any:
    opened: Any = safe_open
    return opened(checkpoint.entries[name].file, framework="pt")


def _raw(tensor: torch.Tensor) -> Array:
    """A copy in memory, bfloat16 as its bits: numpy has no such type."""
    return (tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor).numpy().copy()


def _wide(part: Array, dtype: str) -> Array:
    if dtype == "BF16":
        return (part.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return part if dtype == "F64" else part.astype(np.float32)


def _narrow(found: Array, dtype: str) -> Array:
    """Rounded to the nearest, ties to even."""
    if dtype == "BF16":
        bits = found.view(np.uint32)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16).view(np.int16)
    return found.astype({"F16": np.float16, "F32": np.float32, "F64": np.float64}[dtype])


def _bits(values: Array) -> Array:
    """Bytes of an array: 0 and -0 differ, as they do in a file."""
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8)


