"""Reading releases: only what is whole is read, only what is authorised is handed out."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

from cowork_gym.core.errors import UserError, nearest
from cowork_gym.synthesis.release.form import Release, ReleasedTask, Use, read_record
from cowork_gym.synthesis.release.identity import shingles
from cowork_gym.synthesis.release.seal import PRIVATE, Damage, damages, seal_of

__all__ = ["CARD", "RECORD", "authorised", "load_release", "request_of", "unpack", "verify_release"]

RECORD = "release.json"
CARD = "card.json"
"""In `public/<task>/`: what anyone may know of the task."""


def verify_release(folder: str | Path, *, public: bool = False) -> tuple[Damage, ...]:
    """Everything in a release that is not as it was sealed; nothing when it is whole.

    Args:
        folder: The release's folder, whose name is the release's.
        public: Whether it is a copy without `private/`, which is not missed then.

    Raises:
        UserError: There is no such folder, or it cannot be read.
    """
    place = Path(folder).resolve()
    if not place.is_dir():
        raise UserError(f"{folder}: no such folder")
    try:
        found = damages(place, public=public)
        name = place.name if found else read_record((place / RECORD).read_bytes(), place / RECORD).name
        if name != place.name:
            return (Damage(place.name, "renamed", f"the folder must have the release's name, {name}"),)
    except OSError as error:
        raise UserError(f"{error.filename or folder}: {error.strerror or error}") from None
    return found


def load_release(folder: str | Path, *, public: bool = False) -> Release:
    """A release, if it is whole.

    Args:
        folder: The release's folder.
        public: Whether it is a copy without `private/`.

    Raises:
        UserError: There is no such folder, it is no release, or a file is not as it was sealed.
    """
    if found := verify_release(folder, public=public):
        first, more = found[0], len(found) - 1
        if first.what == "unfinished":
            raise UserError(f"{folder}: not a release, or not a finished one: {first.path} does not agree with the manifest")
        note = f": {first.note}" if first.note else ""
        raise UserError(f"{folder}: not as it was sealed: {first.path} is {first.what}{note}" + (f", and {more} more" if more else ""))
    place = Path(folder).resolve()
    return replace(read_record((place / RECORD).read_bytes(), place / RECORD), folder=place, seal=seal_of(place))


def authorised(release: Release, task_id: str, use: Use | str) -> ReleasedTask:
    """The task, if its release authorises the use.

    Raises:
        UserError: The release has no such task, there is no such use, or the task is not authorised for it.
    """
    if use not in [*Use]:
        raise UserError(f"unknown use {str(use)!r}, {nearest(str(use), map(str, Use))}")
    task = next((one for one in release.tasks if one.id == task_id), None)
    if task is None:
        raise UserError(f"{release.name} has no task {task_id!r}, {nearest(task_id, [one.id for one in release.tasks])}")
    if use not in task.uses:
        side = " and held out for validation" if task.split == "validation" else ""
        raise UserError(f"{task_id} is not authorised for {use}: {release.name} releases it for {' and '.join(task.uses)}{side}")
    return task


def unpack(release: Release, task_id: str, use: Use | str, into: Path) -> Path:
    """Lay out a task's package, byte for byte as it was released, if the use is authorised.

    Args:
        release: A release that was loaded with its private part.
        task_id: The task.
        use: What it is wanted for.
        into: The folder in which the package's folder is made.

    Returns:
        The package's folder, which `load_task` and `gymnasium` take.

    Raises:
        UserError: The task is not authorised for the use, the private part is not there, or the folder exists already.
    """
    authorised(release, task_id, use)
    public, private, folder = release.folder / "public" / task_id, release.folder / PRIVATE / "packages" / task_id, into / task_id
    if not private.is_dir():
        raise UserError(f"{release.folder}: a copy without {PRIVATE}/ cannot be unpacked")
    try:
        shutil.copytree(private, folder)
        for path in public.iterdir():
            if path.is_dir():
                shutil.copytree(path, folder / path.name)
    except OSError as error:
        raise UserError(f"{error.filename or folder}: {error.strerror or error}") from None
    return folder


def request_of(release: Release, task_id: str) -> frozenset[str]:
    """The wording of a task's request, as shingles."""
    card = json.loads((release.folder / "public" / task_id / CARD).read_bytes())
    return shingles(card["request"])
