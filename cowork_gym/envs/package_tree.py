"""What lies on the disk: files and folders, links never followed. Whatever the system refuses is told in one line."""

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cowork_gym.core.errors import PackageError

__all__ = ["MAX_BYTES", "list_folder", "list_root", "read_bytes", "read_tree"]

MAX_BYTES = 5_000_000
"""Of one file."""


def read_bytes(path: Path) -> bytes:
    """A file's content. Its size is looked at first.

    Raises:
        PackageError: It is missing, no regular file (a link is none), larger than `MAX_BYTES`, or the system refuses it.
    """
    mode = _mode(path)
    if not stat.S_ISREG(mode):
        raise PackageError(path, "", "not a regular file" if mode else "no such file")
    with _telling(path):
        if (size := path.stat().st_size) > MAX_BYTES:
            raise PackageError(path, "", f"too large: {size / 1e6:.1f} MB, at most {MAX_BYTES / 1e6:g} MB are read")
        return path.read_bytes()


def list_root(folder: Path) -> list[Path]:
    """What stands in a package's own folder, which may be a link, without hidden files.

    Raises:
        PackageError: There is no such folder, or it cannot be listed.
    """
    with _telling(folder):
        if not folder.is_dir():
            raise PackageError(folder, "", "a task package is a folder" if folder.exists() else "no such folder")
    return _entries(folder, hidden=False)


def list_folder(folder: Path, *, hidden: bool = False) -> list[Path]:
    """What stands in a folder of a package, sorted; nothing when there is none.

    Args:
        folder: The folder.
        hidden: Whether names that begin with a dot are wanted.

    Raises:
        PackageError: It is no folder (a link is none), the system refuses it, or a name is not UTF-8 or holds a control character.
    """
    mode = _mode(folder)
    if mode and not stat.S_ISDIR(mode):
        raise PackageError(folder, "", "a link, which is not followed" if stat.S_ISLNK(mode) else "not a folder")
    return _entries(folder, hidden=hidden) if mode else []


def read_tree(root: Path) -> dict[str, bytes]:
    """The files below a folder, hidden ones too, by their paths from there.

    Raises:
        PackageError: One of them cannot be read, or is no regular file.
    """
    found, folders = list[Path](), [root]
    while folders:
        for entry in list_folder(folders.pop(), hidden=True):
            (folders if stat.S_ISDIR(_mode(entry)) else found).append(entry)
    return {path.relative_to(root).as_posix(): read_bytes(path) for path in sorted(found)}


@contextmanager
def _telling(path: Path) -> Iterator[None]:
    """Inside, an error of the system becomes a `PackageError` about the path."""
    try:
        yield
    except OSError as error:
        raise PackageError(path, "", error.strerror or str(error)) from None


def _entries(folder: Path, *, hidden: bool) -> list[Path]:
    with _telling(folder):
        entries = sorted(entry for entry in folder.iterdir() if hidden or not entry.name.startswith("."))
    for entry in entries:
        _check_name(folder, entry.name)
    return entries


def _mode(path: Path) -> int:
    """What kind of thing is there; 0 when there is nothing."""
    with _telling(path):
        try:
            return path.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError, ValueError):  # a path with NUL in it is a ValueError
            return 0


def _check_name(folder: Path, name: str) -> None:
    try:
        name.encode()
    except UnicodeEncodeError:
        raise PackageError(folder, "", f"the name {name!a} is not UTF-8") from None
    if any(letter < " " or letter == "\x7f" for letter in name):
        raise PackageError(folder, "", f"the name {name!a} holds a control character")
