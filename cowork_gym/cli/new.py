"""The verb `new`: scaffolds that pass `cowork check` at once. Nothing is ever overwritten."""

import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Annotated

import typer

from cowork_gym.core.errors import UserError

__all__ = ["app", "new_service", "new_task"]

_TASK = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*")
_LONGEST = 80
_SERVICE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")

app = typer.Typer(help="Write the scaffold of a task or a service.", epilog="Example: cowork new task Rooms", rich_markup_mode=None)

Into = Annotated[Path, typer.Option(metavar="DIR", help="The folder in which the new one is made.")]


@app.command("task", epilog="Example: cowork new task Rooms --into tasks")
def new_task(name: Annotated[str, typer.Argument(metavar="NAME", help="Such as Rooms or M7_room_booking.")], into: Into = Path()) -> None:
    """Write a complete small task package to start from."""
    from cowork_gym.cli.templates.task import FILES

    if not _TASK.fullmatch(name):
        raise UserError(f"{name!r} is no name for a task: write letters and digits, with single underscores between them, such as M7_room_booking")
    if len(name) > _LONGEST:
        raise UserError(f"the name has {len(name)} characters; a task's has at most {_LONGEST}")
    folder = _write(into / name, FILES, {"name": name})
    print(f"{folder} is a task package. Check it: cowork check {folder}\nPlay it: cowork run {folder} --agent reference")
    print(f"Prove that it is sound: cowork admit {folder}")


@app.command("service", epilog="Example: cowork new service bookings --into services")
def new_service(name: Annotated[str, typer.Argument(metavar="NAME", help="Such as bookings.")], into: Into = Path()) -> None:
    """Write a complete small service with its test and its entry point."""
    from cowork_gym.cli.templates.service import FILES
    from cowork_gym.envs.registration import REGISTRY

    if not _SERVICE.fullmatch(name):
        raise UserError(f"{name!r} is no name for a service: write lower-case letters and digits, with single underscores between them")
    if f"{name}_".startswith(("test_", "conftest")):
        raise UserError(f"a service {name!r} would be taken for tests; take another name")
    if name in REGISTRY.services():
        raise UserError(f"there is a service {name!r} already; take another name")
    class_name = "".join(part.capitalize() for part in name.split("_")) + "Service"
    folder = _write(into / name, FILES, {"name": name, "class_name": class_name, "package": name.replace("_", "-")})
    print(f"{folder} is a service. Check it: cowork check {folder}\nMake it known to tasks: pip install --editable {folder}")


def _write(folder: Path, files: Mapping[str, str], values: Mapping[str, str]) -> Path:
    """Write files into a new folder, all of them or none.

    Raises:
        UserError: The folder is there already, or cannot be made.
    """
    if folder.exists() or folder.is_symlink():
        raise UserError(f"{folder} exists already; nothing was written")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-"))
        try:
            for path, text in files.items():
                file = draft / Template(path).substitute(values)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(Template(text).substitute(values), encoding="utf-8")
            draft.chmod(0o755)
            draft.rename(folder)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
    except OSError as error:
        raise UserError(f"{folder}: {error.strerror or error}; nothing was written") from None
    return folder
