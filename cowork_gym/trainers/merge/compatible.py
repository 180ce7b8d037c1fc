"""Whether two checkpoints are of one kind: architecture, configuration and tokenizer."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cowork_gym.core.errors import PackageError, UserError
from cowork_gym.trainers.merge.checkpoint import Checkpoint

__all__ = ["check_alike", "check_distinct", "check_tokenizers"]

_FREE = frozenset({
    "_name_or_path", "_attn_implementation", "architectures", "bos_token_id", "dtype", "eos_token_id", "initializer_range", "output_router_logits",
    "pad_token_id", "router_aux_loss_coef", "torch_dtype", "transformers_version", "use_cache",
})
"""Settings that do not say what the weights mean. Types of tensors are compared where they are."""
_VOCABULARIES = ("tokenizer.model", "vocab.json", "merges.txt", "vocab.txt", "tekken.json", "qwen.tiktoken", "tiktoken.model")
"""Files that are a tokenizer where there is no tokenizer.json."""
_SHOWN = 80
"""Characters of a value that are told."""


def check_distinct(folders: Mapping[str, Path]) -> None:
    """See that no folder is named twice, by whatever path.

    Args:
        folders: By what they are in the merge.

    Raises:
        UserError: Two are the same.
    """
    seen: dict[Path, str] = {}
    for role, folder in folders.items():
        if (before := seen.setdefault(folder.resolve(), role)) != role:
            raise UserError(f"{folder} is named twice, as {before} and as {role}: a merge needs different ones")


def check_alike(first: Checkpoint, other: Checkpoint) -> None:
    """See that two checkpoints have the same architecture and settings. Keys that only one has are as good as its defaults.

    Raises:
        PackageError: They differ.
    """
    file = other.folder / "config.json"
    for name in ("architectures", "model_type"):
        if first.config.get(name) != other.config.get(name):
            raise PackageError(file, name, _differs(other.config.get(name), first.config.get(name), first.folder))
    for name, value, wanted in _unequal(other.config, first.config):
        raise PackageError(file, name, _differs(value, wanted, first.folder))


def _unequal(config: Mapping[str, Any], other: Mapping[str, Any], at: str = "") -> Iterator[tuple[str, Any, Any]]:
    for name in sorted(config.keys() & other.keys()):
        if name in _FREE or name.endswith(("dropout", "_dropout_prob", "_pdrop")):
            continue
        one, two = config[name], other[name]
        if isinstance(one, Mapping) and isinstance(two, Mapping):
            yield from _unequal(one, two, f"{at}{name}.")
        elif one != two:
            yield f"{at}{name}", one, two


def check_tokenizers(first: Checkpoint, other: Checkpoint) -> bool:
    """See that two tokenizers make the same ids of a text. Chat templates may differ.

    Returns:
        Whether both checkpoints have one, and they were compared.

    Raises:
        PackageError: They differ.
    """
    name = "tokenizer.json"
    if (first.folder / name).is_file() and (other.folder / name).is_file():
        one, two = _tokenizer(first.folder / name), _tokenizer(other.folder / name)
        for part, wanted in one.items():
            _check_part(part, two[part], wanted, other.folder / name, first.folder)
        return True
    compared = False
    for name in _VOCABULARIES:
        mine, theirs = first.folder / name, other.folder / name
        if mine.is_file() and theirs.is_file():
            compared = True
            if _digest(mine) != _digest(theirs):
                raise PackageError(theirs, "", f"another tokenizer than in {first.folder}: ids would not mean the same")
    return compared


def _check_part(part: str, found: Any, wanted: Any, file: Path, first: Path) -> None:
    if found == wanted:
        return
    if isinstance(found, dict) and isinstance(wanted, dict):
        word = next(word for word in sorted(found.keys() | wanted.keys()) if found.get(word) != wanted.get(word))
        raise PackageError(file, part, f"{word!r}: {_differs(found.get(word), wanted.get(word), first)}")
    raise PackageError(file, part, f"another tokenizer than in {first}: ids would not mean the same")


def _tokenizer(file: Path) -> dict[str, Any]:
    """What ids depend on, in one form whatever version of the library wrote it."""
    try:
        form = json.loads(file.read_bytes())
        model, added = form["model"], form.get("added_tokens") or []
        vocabulary = model.get("vocab")
        merges = [one if isinstance(one, str) else " ".join(one) for one in model.get("merges") or ()]
        return {
            "model.type": model.get("type"), "model.vocab": vocabulary, "added_tokens": {one["content"]: one["id"] for one in added},
            "model.merges": merges, "normalizer": form.get("normalizer"), "pre_tokenizer": form.get("pre_tokenizer"),
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise PackageError(file, "", f"no tokenizer: {error}") from None


def _differs(found: Any, wanted: Any, first: Path) -> str:
    return f"{_short(found)} here, and {_short(wanted)} in {first}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
