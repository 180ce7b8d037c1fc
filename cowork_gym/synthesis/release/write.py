"""Writing a release down: packages with their halves apart, proofs, record and datasheet; then the seal."""

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from cowork_gym.core.errors import UserError
from cowork_gym.core.task import Task
from cowork_gym.envs.blueprint import Blueprint
from cowork_gym.envs.package_tree import list_root, read_bytes, read_tree
from cowork_gym.envs.packages import load_task as load_package
from cowork_gym.envs.registration import REGISTRY
from cowork_gym.synthesis.card import card
from cowork_gym.synthesis.proof import Proof
from cowork_gym.synthesis.release.datasheet import datasheet
from cowork_gym.synthesis.release.form import Release, record_of
from cowork_gym.synthesis.release.read import CARD, RECORD, unpack
from cowork_gym.synthesis.release.seal import PRIVATE, drafting, publish

__all__ = ["Source", "read_source", "write_release"]

_WORLD = "world/"


class Source(NamedTuple):
    """A package as it is released."""

    task: Task
    blueprint: Blueprint
    files: Mapping[str, bytes]
    """By path."""


def read_source(name: str | Path) -> Source:
    """A package, by environment id, short name or folder.

    Raises:
        UserError: There is none.
        PackageError: It cannot be used.
    """
    folder = REGISTRY.find(name)
    files = dict[str, bytes]()
    for entry in list_root(folder):
        if entry.is_dir():
            files |= {f"{entry.name}/{path}": content for path, content in read_tree(entry).items()}
        else:
            files[entry.name] = read_bytes(entry)
    return Source(*REGISTRY.load(folder), files)


def write_release(release: Release, sources: Sequence[Source], proofs: Sequence[Proof], folder: Path) -> Release:
    """Write a release, whole or not at all.

    Returns:
        The release with its place and its seal.

    Raises:
        UserError: The folder is there already or cannot be written, or a package changed in the meantime.
    """
    with drafting(folder) as draft:
        for source in sources:
            for path, content in _laid_out(source):
                _write(draft / path, content)
        for proof in proofs:
            _write(draft / PRIVATE / "proofs" / f"{proof.task}.json", json.dumps(proof.to_dict(), indent=2, ensure_ascii=False).encode() + b"\n")
        _write(draft / RECORD, record_of(release))
        _write(draft / "README.md", datasheet(release).encode())
        _check(replace(release, folder=draft), sources)
        return replace(release, folder=folder.resolve(), seal=publish(draft, folder))


def _laid_out(source: Source) -> Iterator[tuple[str, bytes]]:
    """The package's files by their paths in the release."""
    id = source.task.id
    yield f"public/{id}/{CARD}", json.dumps(card(source.task), indent=2, ensure_ascii=False).encode() + b"\n"
    for path, content in source.files.items():
        yield (f"public/{id}/{path}" if path.startswith(_WORLD) else f"{PRIVATE}/packages/{id}/{path}"), content


def _check(release: Release, sources: Sequence[Source]) -> None:
    """What was written down is what was proven."""
    services = REGISTRY.services()
    with tempfile.TemporaryDirectory() as place:
        for one, source in zip(release.tasks, sources, strict=True):
            if load_package(unpack(release, one.id, one.uses[0], Path(place)), services).release_id != source.task.release_id:
                raise UserError(f"{one.id} changed while it was being released; nothing was released")


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
