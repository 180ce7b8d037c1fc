"""The seal of a release: a manifest of hashes, a marker that is written last, and a folder that appears whole or not at all."""

import hashlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from cowork_gym.core.errors import UserError

__all__ = ["MANIFEST", "MARKER", "PRIVATE", "Damage", "damages", "drafting", "publish", "seal_of"]

MANIFEST = "MANIFEST"
"""A line for each file, in the form of `sha256sum`."""
MARKER = "COMPLETE"
"""The hash of the manifest. Without it a folder is no release."""
PRIVATE = "private"
"""What stays with those who train and evaluate."""
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")
_SEAL = re.compile(rb"([0-9a-f]{64})\n")
_BLOCK = 1 << 20


class Damage(NamedTuple):
    """A file that is not as it was sealed."""

    path: str
    what: Literal["changed", "extra", "missing", "renamed", "unfinished"]
    note: str = ""
    """What to do, where that can be told."""


@contextmanager
def drafting(folder: Path) -> Iterator[Path]:
    """A folder beside the one that is to be, hidden; it is gone afterwards unless it was published.

    Raises:
        UserError: The folder is there already, or no folder can be made beside it.
    """
    _check_new(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-"))
    except OSError as error:
        raise UserError(f"{folder}: {error.strerror or error}; nothing was written") from None
    try:
        yield draft
    except OSError as error:
        raise UserError(f"{error.filename or folder}: {error.strerror or error}; nothing was released") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def publish(draft: Path, folder: Path) -> str:
    """Seal a draft and give it its name. Of several writers of one name the first one wins.

    Returns:
        The seal.

    Raises:
        UserError: The folder is there already.
    """
    lines = [f"{_hash(path)}  {path.relative_to(draft).as_posix()}\n" for path in _files(draft)]
    _write(draft / MANIFEST, "".join(lines).encode())
    seal = _hash(draft / MANIFEST)
    for path in _files(draft):
        _flush(path)
    _write(draft / MARKER, f"{seal}\n".encode())
    draft.chmod(0o755)
    _check_new(folder)
    try:
        draft.rename(folder)  # of a folder that is not empty nothing is ever replaced
    except OSError:
        _check_new(folder)
        raise
    _flush(folder.parent)
    return seal


def damages(folder: Path, *, public: bool = False) -> tuple[Damage, ...]:
    """Everything in a release that is not as it was sealed.

    Args:
        folder: The release.
        public: Whether it is a copy without its private part, which is not missed then.
    """
    expected = _expected(folder)
    if expected is None:
        return (Damage(MARKER, "unfinished"),)
    if public:
        expected = {path: known for path, known in expected.items() if not path.startswith(f"{PRIVATE}/")}
    found = {path.relative_to(folder).as_posix(): path for path in _files(folder)}
    wrong = [Damage(path, "missing") for path in expected.keys() - found.keys()]
    for path, place in found.items():
        if path not in expected:
            wrong += [] if path in {MANIFEST, MARKER} else [Damage(path, "extra")]
        elif not _is_file(place) or _hash(place) != expected[path]:
            wrong.append(Damage(path, "changed"))
    return tuple(sorted(wrong))


def seal_of(folder: Path) -> str:
    """The seal that the marker holds; empty when there is none."""
    marker = folder / MARKER
    held = _SEAL.fullmatch(marker.read_bytes()) if _is_file(marker) else None
    return held[1].decode() if held else ""


def _expected(folder: Path) -> dict[str, str] | None:
    """The hashes of the manifest by path; None when manifest or marker are missing or not what the other says."""
    manifest, seal = folder / MANIFEST, seal_of(folder)
    if not seal or not _is_file(manifest) or _hash(manifest) != seal:
        return None
    try:
        matches = [_LINE.fullmatch(line) for line in manifest.read_text(encoding="utf-8").split("\n")[:-1]]
    except ValueError:
        return None
    return {one[2]: one[1] for one in matches if one}


def _files(folder: Path) -> list[Path]:
    """Whatever is no folder, links included, and folders with nothing in them, sorted."""
    found, folders = list[Path](), [folder]
    while folders:
        here = folders.pop()
        entries = sorted(here.iterdir())
        inner = [one for one in entries if stat.S_ISDIR(one.lstat().st_mode)]
        found += [one for one in entries if one not in inner] if entries or here == folder else [here]
        folders += inner
    return sorted(found)


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _hash(path: Path) -> str:
    content = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            content.update(block)
    return content.hexdigest()


def _check_new(folder: Path) -> None:
    if folder.exists() or folder.is_symlink():
        raise UserError(f"{folder} exists already; a release is written once, and a correction gets a name of its own")


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    _flush(path)


def _flush(path: Path) -> None:
    """Bring a file, or a folder's entries, onto the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
