"""The head of a safetensors file: which tensors lie where. Read without opening the file's data, and checked against its length."""

import json
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from cowork_gym.core.errors import PackageError

__all__ = ["DTYPES", "FLOATS", "Entry", "encode_header", "read_header"]

DTYPES: Mapping[str, torch.dtype] = {
    "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64, "I32": torch.int32,
    "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8, "BOOL": torch.bool, "U16": torch.uint16, "U32": torch.uint32, "U64": torch.uint64,
}
"""By the names that the format has for them. Types of quantised weights are not among them: they mean nothing without their scales."""
FLOATS = frozenset({"F64", "F32", "F16", "BF16"})
_LENGTH = struct.Struct("<Q")
_LONGEST = 100_000_000
"""Bytes of a header, as the format has it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a tensor lies."""

    name: str
    file: Path
    dtype: str
    """As the format calls it."""
    shape: tuple[int, ...]
    start: int
    """Its first byte in the file."""
    size: int
    """In bytes."""

    @property
    def count(self) -> int:
        """Its entries."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of one entry."""
        return DTYPES[self.dtype].itemsize


def read_header(file: Path) -> tuple[dict[str, Entry], dict[str, str]]:
    """The tensors of a file by name, in the order in which they lie there, and the file's own metadata.

    Raises:
        PackageError: It cannot be read, is cut off, is no safetensors file, or has a type that cannot be merged.
    """
    try:
        with file.open("rb") as stream:
            total = stream.seek(0, 2)
            stream.seek(0)
            start = stream.read(_LENGTH.size)
            length = _LENGTH.unpack(start)[0] if len(start) == _LENGTH.size else total
            if length > min(_LONGEST, total - _LENGTH.size):
                raise PackageError(file, "", f"cut off, or no safetensors file: {total} bytes do not hold its header")
            form = json.loads(stream.read(length))
    except OSError as error:
        raise PackageError(file, "", f"cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise PackageError(file, "", f"no safetensors file: its header is no JSON: {error}") from None
    if not isinstance(form, dict):
        raise PackageError(file, "", "no safetensors file: its header is no JSON object")
    metadata = form.pop("__metadata__", None)
    data = _LENGTH.size + length
    entries = sorted((_entry(file, name, one, data) for name, one in form.items()), key=lambda entry: (entry.start, entry.size))
    _check_order(entries, data, total)
    return {entry.name: entry for entry in entries}, {str(key): str(value) for key, value in (metadata or {}).items()}


def _entry(file: Path, name: str, form: Any, data: int) -> Entry:
    try:
        dtype, shape, (first, last) = form["dtype"], tuple(form["shape"]), form["data_offsets"]
        if not all(isinstance(one, int) and one >= 0 for one in (*shape, first, last)) or not isinstance(dtype, str):
            raise ValueError
    except (KeyError, TypeError, ValueError):
        raise PackageError(file, name, "no safetensors file: its header does not say type, shape and place of this tensor") from None
    if dtype not in DTYPES:
        raise PackageError(file, name, f"quantised or of an unknown type ({dtype}): merge the unquantised weights")
    entry = Entry(name, file, dtype, shape, data + first, last - first)
    if entry.size != entry.count * entry.itemsize:
        raise PackageError(file, name, f"spoiled: {entry.size} bytes for the shape {[*shape]} of {dtype}")
    return entry


def _check_order(entries: list[Entry], data: int, total: int) -> None:
    """See that the tensors lie one after the other, up to the end of the file."""
    end = data
    for entry in entries:
        if entry.start != end:
            raise PackageError(entry.file, entry.name, "spoiled: it does not begin where the tensor before it ends")
        end += entry.size
        if end > total:
            raise PackageError(entry.file, entry.name, f"cut off: the tensor ends at byte {end}, and the file has {total}")
    if entries and end != total:
        raise PackageError(entries[-1].file, "", f"spoiled: {total - end} bytes stand behind its last tensor")


def encode_header(tensors: Mapping[str, tuple[str, tuple[int, ...]]], metadata: Mapping[str, str]) -> bytes:
    """The head of a file with these tensors, one after the other.

    Args:
        tensors: Type and shape by name.
        metadata: The file's own.
    """
    form: dict[str, Any] = {"__metadata__": dict(metadata)}
    end = 0
    for name, (dtype, shape) in tensors.items():
        start, end = end, end + math.prod(shape) * DTYPES[dtype].itemsize
        form[name] = {"dtype": dtype, "shape": [*shape], "data_offsets": [start, end]}
    text = json.dumps(form, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)  # so that the data begins where any type may
    return _LENGTH.pack(len(text)) + text
