"""A checkpoint: a folder with a model's configuration and safetensors, of which any part can be read alone."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from cowork_gym.core.errors import PackageError, UserError
from cowork_gym.harness.policies.local.checkpoint import check_json
from cowork_gym.trainers.merge.headers import DTYPES, FLOATS, Entry, read_header

__all__ = ["CHUNK", "INDEX", "SINGLE", "Checkpoint"]

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
CHUNK = 1 << 19
"""Entries that are read at once where a tensor may be read in parts."""


@dataclass(frozen=True)
class Checkpoint:
    """A model in a folder."""

    folder: Path
    config: Mapping[str, Any]
    entries: Mapping[str, Entry]
    """Every tensor by name: file after file, in the order in which they lie there."""
    metadata: Mapping[str, str]
    """What the first file says of itself."""
    index: Mapping[str, Any] | None
    """What model.safetensors.index.json has; None where a single file has everything."""

    @classmethod
    def open(cls, folder: Path) -> "Checkpoint":
        """Look into a folder; no tensor is read.

        Raises:
            UserError: There is no such folder, or it has no model.
            PackageError: A file is missing or cut off, has not what the index says, or the weights are quantised or of another format.
        """
        if not folder.is_dir():
            raise UserError(f"{folder}: there is no such folder")
        _refuse_adapter(folder)
        if not (folder / "config.json").is_file():
            raise UserError(f"{folder} is no folder with a model: it has no config.json")
        config = check_json(folder / "config.json")
        if config.get("quantization_config"):
            raise PackageError(folder / "config.json", "quantization_config", "quantised weights have no mean: merge the unquantised ones")
        index = None if (folder / SINGLE).is_file() else _read_index(folder)
        entries: dict[str, Entry] = {}
        metadata: dict[str, str] = {}
        for file in _files(folder, index):
            found, told = read_header(file)
            metadata = metadata or told
            if index is not None:
                _check_against(index["weight_map"], found, file)
            entries.update(found)
        if not entries:
            raise PackageError(folder / SINGLE, "", "there is no tensor in it")
        return cls(folder, config, entries, metadata, index)

    @cached_property
    def files(self) -> tuple[str, ...]:
        """The names of its files with tensors, in order."""
        return tuple(dict.fromkeys(entry.file.name for entry in self.entries.values()))

    def setting(self, name: str) -> Any:
        """What the configuration says, where needed of the language model within; None where it says nothing."""
        inner = self.config.get("text_config")
        found = self.config.get(name)
        return inner.get(name) if found is None and isinstance(inner, Mapping) else found

    def read(self, name: str, start: int = 0, count: int | None = None) -> Tensor:
        """Entries of a tensor, one after the other as they lie there.

        Args:
            name: The tensor's.
            start: The first entry.
            count: How many; all that follow by default.

        Raises:
            PackageError: They cannot be read, or one of them is not finite.
        """
        entry = self.entries[name]
        count = entry.count - start if count is None else count
        try:
            found = np.fromfile(entry.file, np.uint8, count * entry.itemsize, offset=entry.start + start * entry.itemsize)
        except OSError as error:
            raise PackageError(entry.file, name, f"cannot be read: {error.strerror}") from None
        if found.nbytes != count * entry.itemsize:
            raise PackageError(entry.file, name, "cut off while it was read")
        tensor = torch.from_numpy(found).view(DTYPES[entry.dtype])
        if entry.dtype in FLOATS and not bool(torch.isfinite(tensor).all()):
            raise PackageError(entry.file, name, "it has entries that are no finite numbers")
        return tensor

    def chunks(self, name: str) -> Iterator[tuple[int, int]]:
        """Start and count of parts that are read one after the other, for a tensor that need not be whole."""
        total = self.entries[name].count
        for start in range(0, total, CHUNK):
            yield start, min(CHUNK, total - start)


def _refuse_adapter(folder: Path) -> None:
    if (folder / "adapter_config.json").is_file() or (folder / "adapter_model.safetensors").is_file():
        raise PackageError(folder, "", "a LoRA adapter, not a model: merge it into its base's weights first (peft's merge_and_unload)")


def _read_index(folder: Path) -> Mapping[str, Any]:
    if not (folder / INDEX).is_file():
        others = next((one.name for one in sorted(folder.glob("*.bin"))), None)
        hint = f"; {others} is of another format: load it and save it as safetensors" if others else ""
        raise PackageError(folder, "", f"no weights: it has neither {SINGLE} nor {INDEX}{hint}")
    index = check_json(folder / INDEX)
    places = index.get("weight_map")
    if not isinstance(places, dict) or not places or not all(isinstance(one, str) and Path(one).name == one for one in places.values()):
        raise PackageError(folder / INDEX, "weight_map", "it must name the file of each tensor")
    return index


def _files(folder: Path, index: Mapping[str, Any] | None) -> Iterator[Path]:
    """The files with tensors, each known to be there."""
    if index is None:
        yield folder / SINGLE
        return
    places: dict[str, str] = {file: name for name, file in sorted(index["weight_map"].items(), reverse=True)}
    for file, name in sorted(places.items()):
        if not (folder / file).is_file():
            raise PackageError(folder / file, name, f"the file is missing, and {INDEX} says that the tensor is in it")
        yield folder / file


def _check_against(places: Mapping[str, str], found: Mapping[str, Entry], file: Path) -> None:
    for name in sorted(found.keys() | {name for name, place in places.items() if place == file.name}):
        if name not in found:
            raise PackageError(file, name, f"the tensor is missing, and {INDEX} says that it is there")
        if places.get(name) != file.name:
            raise PackageError(file, name, f"{INDEX} says that the tensor is in {places.get(name, 'no file')}")
