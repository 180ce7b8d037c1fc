"""A merge from folders to a folder: read, align, write under a temporary name, verify, and only then give it its name."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from cowork_gym.core.errors import UserError
from cowork_gym.trainers.merge.alignment import Alignment, Thresholds, align
from cowork_gym.trainers.merge.checkpoint import INDEX, Checkpoint
from cowork_gym.trainers.merge.compatible import check_alike, check_distinct, check_tokenizers
from cowork_gym.trainers.merge.computing import compute
from cowork_gym.trainers.merge.plan import Action, Models, Plan, make_plan
from cowork_gym.trainers.merge.recipe import Recipe
from cowork_gym.trainers.merge.verification import Verification, verify
from cowork_gym.trainers.merge.writing import Shards, make_shards, write_index, write_shard

__all__ = ["RECORD", "Merged", "merge"]

RECORD = "merge.json"
"""The file in a merged model's folder that says what it is made of."""
_KEPT = (
    "config.json", "generation_config.json", "tokenizer*", "special_tokens_map.json", "added_tokens.json", "vocab*", "merges.txt", "*.tiktoken",
    "tekken.json", "chat_template*", "additional_chat_templates/*", "*processor_config.json", "configuration_*.py", "modeling_*.py",
    "tokenization_*.py", "LICENSE*", "NOTICE*",
)
"""What is copied from the selected parent: what loads the weights and makes ids of texts, and on what terms."""


@dataclass(frozen=True, slots=True)
class Merged:
    """A merge that was done."""

    folder: Path
    record: dict[str, Any]
    """What its merge.json has."""

    @property
    def counts(self) -> dict[str, int]:
        """How many tensors there are of each fate, and how many were verified."""
        actions, checked = self.record["tensors"], self.record["verification"]
        return {name: len(actions[name]) for name in actions} | {name: len(checked[name]) for name in ("tensors", "expert_slices")}


def merge(
    parents: Sequence[Path], out: Path, recipe: Recipe, *, base: Path | None = None, selected: int = 0, shard_size: int | None = None,
    thresholds: Thresholds | None = None, tell: Callable[[str], None] = lambda line: None,
) -> Merged:
    """Merge models into a new folder. In memory there is one part of a tensor, of each parent, at a time.

    Args:
        parents: Folders of models with one architecture and tokenizer.
        out: The merged model's folder, which must not exist. It has its name only once everything is written and verified.
        recipe: The method with its parameters.
        base: What the parents were trained from, for the methods that work on changes.
        selected: The place of the parent whose layout, index, configuration and tokenizer are kept.
        shard_size: The most bytes of tensors in a file; None for the files of the selected parent.
        thresholds: From where on experts correspond.
        tell: Takes a line about each step.

    Raises:
        UserError: A folder is no model or named twice, the recipe does not fit them, or the output's folder exists.
        PackageError: The models do not fit each other, a file is missing or cut off, or what was written is not what was to be.
        OSError: The output cannot be written.
    """
    recipe.check(len(parents), base is not None)
    _check_asked(parents, out, base, selected, shard_size)
    models = Models(tuple(map(Checkpoint.open, parents)), selected, None if base is None else Checkpoint.open(base))
    tokenizers = [one for one in models.all if _check_pair(models.kept, one)]
    plan = make_plan(models)
    alignment = _align(models, plan, thresholds or Thresholds(), tell)
    with _whole(out) as folder:
        shards = make_shards(plan.outputs.values(), models.kept, shard_size)
        written = _write(folder, shards, models, plan, recipe, tell)
        tell("verifying")
        verification = verify(Checkpoint.open(folder), models, plan, recipe)
        record = _record(models, plan, recipe, alignment, verification, written, len(tokenizers) + 1 == len(models.all))
        (folder / RECORD).write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return Merged(out, record)


def _check_asked(parents: Sequence[Path], out: Path, base: Path | None, selected: int, shard_size: int | None) -> None:
    if not 0 <= selected < len(parents):
        raise UserError(f"there is no parent {selected + 1} to select among {len(parents)}")
    if shard_size is not None and shard_size < 1:
        raise UserError(f"a shard size of {shard_size} bytes holds nothing")
    if out.exists() or out.is_symlink():
        raise UserError(f"{out} exists: name a new folder")
    check_distinct({f"parent {at + 1}": folder for at, folder in enumerate(parents)} | ({} if base is None else {"the base": base}))


def _check_pair(kept: Checkpoint, other: Checkpoint) -> bool:
    """See that a checkpoint is of the selected one's kind; whether their tokenizers could be compared."""
    if other is kept:
        return False
    check_alike(kept, other)
    return check_tokenizers(kept, other)


def _align(models: Models, plan: Plan, thresholds: Thresholds, tell: Callable[[str], None]) -> Alignment | None:
    """The worst correspondence of all pairs; None where there are no experts."""
    found = []
    for at, other in enumerate(models.all):
        pairs = [(plan.banks[models.selected][prefix], bank) for prefix, bank in plan.banks[at].items() if prefix in plan.banks[models.selected]]
        if at != models.selected and pairs:
            tell(f"comparing the experts of {other.folder}")
            found.append(align(models.kept, other, pairs, thresholds))
    if not found:
        return None
    return Alignment(sum(one.matrices for one in found), min(one.lowest_matched for one in found), max(one.highest_wrong for one in found))


@contextmanager
def _whole(out: Path) -> Iterator[Path]:
    """A folder that gets its name when all went well, and is gone when not."""
    folder = out.with_name(f".{out.name}.{os.getpid()}.tmp")
    out.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir()
    try:
        yield folder
        if out.exists():  # since it was looked for first
            raise UserError(f"{out} exists: name a new folder")
        folder.rename(out)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _write(folder: Path, shards: Shards, models: Models, plan: Plan, recipe: Recipe, tell: Callable[[str], None]) -> dict[str, str]:
    """Everything but the record; the sha256 of each file of tensors."""
    for pattern in _KEPT:
        for file in sorted(models.kept.folder.glob(pattern)):
            if file.is_file():
                (folder / file.relative_to(models.kept.folder)).parent.mkdir(exist_ok=True)
                shutil.copyfile(file, folder / file.relative_to(models.kept.folder))
    written = {}
    for number, (name, outputs) in enumerate(shards.items(), 1):
        tell(f"writing {name}, {number} of {len(shards)}")
        written[name] = write_shard(folder / name, outputs, models.kept.metadata, partial(compute, models=models, plan=plan, recipe=recipe))
    write_index(folder, shards, models.kept)
    return written


def _record(
    models: Models, plan: Plan, recipe: Recipe, alignment: Alignment | None, verification: Verification, written: dict[str, str], compared: bool,
) -> dict[str, Any]:
    averaged = [one for one in plan.outputs.values() if one.action in (Action.AVERAGED, Action.EXPERTS)]
    layouts = [sorted({bank.layout for bank in banks.values()}) for banks in plan.banks]
    described = [_describe(one, layout) for one, layout in zip(models.all, layouts, strict=True)]
    return {
        "schema": 1, "method": recipe.method, "parameters": recipe.parameters(), "selected": models.selected + 1,
        "parents": described[: len(models.parents)], "base": described[-1] if models.base is not None else None, "tokenizers_compared": compared,
        "tensors": {
            "averaged": [one.name for one in averaged], "identical": [one.name for one in plan.of(Action.IDENTICAL)],
            "inherited": {one.name: str(models.parents[one.owners[0]].folder) for one in plan.of(Action.INHERITED)},
        },
        "in_some_parents": {one.name: [at + 1 for at in one.owners] for one in averaged if len(one.owners) < len(models.parents)},
        "in_base_only": list(plan.missing), "tied": dict(plan.tied), "alignment": None if alignment is None else alignment._asdict(),
        "verification": verification._asdict(), "files": written,
    }


def _describe(checkpoint: Checkpoint, layouts: Sequence[str]) -> dict[str, Any]:
    """A parent with the sha256 of its files, and one fingerprint over all of them."""
    names = [*checkpoint.files, "config.json", *([INDEX] if checkpoint.index is not None else [])]
    names += [name for name in ("tokenizer.json", "tokenizer.model") if (checkpoint.folder / name).is_file()]
    files = {}
    for name in sorted(names):
        with (checkpoint.folder / name).open("rb") as stream:
            files[name] = hashlib.file_digest(stream, "sha256").hexdigest()
    fingerprint = hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
    return {"folder": str(checkpoint.folder), "fingerprint": fingerprint, "files": files, "expert_layouts": [*layouts]}
