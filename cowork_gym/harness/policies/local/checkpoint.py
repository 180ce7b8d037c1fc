"""The files of a model as `save_pretrained` writes them, and which of them is to blame when they cannot be loaded."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cowork_gym.core.errors import CoworkError, PackageError, UserError, told

__all__ = ["check_json", "check_loaded", "check_tensors", "find_weights", "model_folder", "reading"]

_WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
"""In the order in which transformers looks for them."""
_LONGEST = 240
"""Characters of somebody else's explanation that are told."""


def model_folder(path: str | Path, file: str, what: str) -> Path:
    """A folder, if it has the file that makes it one of its kind.

    Raises:
        UserError: It has not, or cannot be looked into.
    """
    folder = Path(path).expanduser()
    try:
        found = (folder / file).is_file()
    except OSError as error:
        raise UserError(f"{folder}: no folder with {what}: {error.strerror}") from None
    if not found:
        raise UserError(f"{folder} is no folder with {what}: it has no {file}")
    return folder


def check_json(file: Path) -> Mapping[str, Any]:
    """What a JSON file has.

    Raises:
        PackageError: It is none, or no object.
    """
    try:
        content = json.loads(file.read_bytes())
    except OSError as error:
        raise PackageError(file, "", f"cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise PackageError(file, "", f"not a JSON file: {error}") from None
    if not isinstance(content, dict):
        raise PackageError(file, "", "not a JSON object")
    return content


def find_weights(folder: Path) -> Path:
    """The file with a model's weights, or the index of several, once all of them are known to be whole.

    Raises:
        PackageError: There is none, one is missing, or one is not whole.
    """
    first = next((folder / name for name in _WEIGHTS if (folder / name).is_file()), None)
    if first is None:
        raise PackageError(folder, "", f"no weights: it has none of {', '.join(_WEIGHTS)}")
    if first.suffix != ".json":
        check_tensors(first)
        return first
    shards = check_json(first).get("weight_map")
    if not isinstance(shards, dict) or not shards or not all(isinstance(one, str) for one in shards.values()):
        raise PackageError(first, "weight_map", "write the file of each tensor")
    for name in sorted(set(shards.values())):
        if not (folder / name).is_file():
            raise PackageError(folder / name, "", f"the file is missing, and {first.name} has tensors in it")
        check_tensors(folder / name)
    return first


def check_tensors(file: Path) -> None:
    """See that a file of safetensors is whole; others are known by being loaded.

    Raises:
        PackageError: It is cut off or has something else in it.
    """
    if file.suffix == ".safetensors":
        from safetensors import safe_open

        opened: Any = safe_open
        with reading(file, "the weights are cut off or spoiled"), opened(file, framework="pt"):
            pass


def check_loaded(info: Mapping[str, Any], weights: Path) -> None:
    """See that every tensor of a model came from its file: transformers fills in what is missing with chance.

    Args:
        info: What transformers tells of the loading.
        weights: The file.

    Raises:
        PackageError: A tensor is missing, or of another shape than the configuration says.
    """
    for name, found, wanted in sorted(info["mismatched_keys"]):
        raise PackageError(weights, name, f"has the shape {[*found]}, and by config.json it is {[*wanted]}")
    _complain_of(sorted(info["missing_keys"]), weights)


def _complain_of(missing: Sequence[str], weights: Path) -> None:
    if missing:
        others = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
        raise PackageError(weights, missing[0], f"the tensor is missing{others}, and config.json says that the model has it")


@contextmanager
def reading(file: Path, problem: str) -> Iterator[None]:
    """Whatever a library raises while it reads a file, as an error that names it.

    Raises:
        PackageError: It raised something that is not ours.
    """
    try:
        yield
    except CoworkError:
        raise
    except Exception as error:
        text = " ".join(told(error).split())
        raise PackageError(file, "", f"{problem}: {text[:_LONGEST]}{'…' if len(text) > _LONGEST else ''}") from error
