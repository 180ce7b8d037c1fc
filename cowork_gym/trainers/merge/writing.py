"""The files of a merged model: tensors are written as they are computed, into the selected parent's shards or into new ones."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from cowork_gym.core.errors import PackageError
from cowork_gym.trainers.merge.checkpoint import INDEX, SINGLE, Checkpoint
from cowork_gym.trainers.merge.headers import DTYPES, encode_header
from cowork_gym.trainers.merge.plan import Output

__all__ = ["Shards", "make_shards", "write_index", "write_shard"]

Shards = dict[str, list[Output]]
"""The tensors of each file."""


def make_shards(outputs: Iterable[Output], kept: Checkpoint, size: int | None) -> Shards:
    """Which tensor comes into which file.

    Args:
        outputs: All tensors, in order.
        kept: The selected parent.
        size: The most bytes of tensors in a file, if one tensor alone has no more; None for the files of the selected parent, of which the
            last one also takes what only others have.
    """
    if size is None:
        shards: Shards = {file: [] for file in kept.files}
        for output in outputs:
            entry = kept.entries.get(output.name)
            shards[entry.file.name if entry else kept.files[-1]].append(output)
        return {file: tensors for file, tensors in shards.items() if tensors}
    lots: list[list[Output]] = [[]]
    filled = 0
    for output in outputs:
        if lots[-1] and filled + _bytes(output) > size:
            lots.append([])
            filled = 0
        lots[-1].append(output)
        filled += _bytes(output)
    if len(lots) == 1:
        return {SINGLE: lots[0]}
    return {f"model-{at:05}-of-{len(lots):05}.safetensors": lot for at, lot in enumerate(lots, 1)}


def write_shard(file: Path, outputs: Iterable[Output], metadata: Mapping[str, str], compute: Callable[[Output], Iterator[Tensor]]) -> str:
    """Write a file of tensors, each part as soon as it is computed.

    Args:
        file: A new file.
        outputs: Its tensors.
        metadata: What the file says of itself.
        compute: The parts of a tensor in order.

    Returns:
        The file's sha256.

    Raises:
        PackageError: A tensor cannot be computed, or comes out with another size or type than planned.
        OSError: The file cannot be written.
    """
    ordered = sorted(outputs, key=lambda one: -DTYPES[one.dtype].itemsize)  # so that each lies where its type may
    header = encode_header({one.name: (one.dtype, one.shape) for one in ordered}, {"format": "pt", **metadata})
    digest = hashlib.sha256(header)
    with file.open("xb") as stream:
        stream.write(header)
        for output in ordered:
            written = 0
            for part in compute(output):
                if part.dtype != DTYPES[output.dtype]:
                    raise PackageError(file, output.name, f"came out as {part.dtype}, not {output.dtype}")
                content = part.contiguous().view(torch.uint8).numpy().data
                written += stream.write(content)
                digest.update(content)
            if written != _bytes(output):
                raise PackageError(file, output.name, f"came out with {written} bytes, not {_bytes(output)}")
    return digest.hexdigest()


def write_index(folder: Path, shards: Shards, kept: Checkpoint) -> None:
    """Write the index of several files: the selected parent's own where every tensor is where it has it.

    Raises:
        OSError: It cannot be written.
    """
    places = {output.name: file for file, outputs in shards.items() for output in outputs}
    if [*shards] == [SINGLE]:
        return
    if kept.index is not None and kept.index["weight_map"] == places:
        (folder / INDEX).write_bytes((kept.folder / INDEX).read_bytes())
        return
    outputs = [output for one in shards.values() for output in one]
    metadata: dict[str, Any] = dict((kept.index or {}).get("metadata") or {})
    metadata["total_size"] = sum(map(_bytes, outputs))
    if "total_parameters" in metadata:
        metadata["total_parameters"] = sum(_bytes(output) // DTYPES[output.dtype].itemsize for output in outputs)
    content = {"metadata": metadata, "weight_map": dict(sorted(places.items()))}
    (folder / INDEX).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _bytes(output: Output) -> int:
    return torch.Size(output.shape).numel() * DTYPES[output.dtype].itemsize
