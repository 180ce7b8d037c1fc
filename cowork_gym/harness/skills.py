"""Skills: folders of instructions that an agent may read when it needs them. `prompt` lists them, the tool `read_skill` shows them."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from cowork_gym.core.errors import PackageError

__all__ = ["Skill", "read_skills"]

_FILE = "SKILL.md"
_FENCE = "---"
_LARGEST = 256 * 1024


@dataclass(frozen=True, slots=True)
class Skill:
    """Instructions for one kind of work."""

    name: str
    description: str
    """One line: what it is good for."""
    text: str
    """The instructions, as Markdown."""

    def manifest(self) -> Mapping[str, Any]:
        """Name, and the hash of all that can be read."""
        return {"name": self.name, "sha256": hashlib.sha256(f"{self.description}\n{self.text}".encode()).hexdigest()}


def read_skills(folder: str | Path) -> tuple[Skill, ...]:
    """The skills in a folder: each a folder with a `SKILL.md` that begins with YAML between two lines `---`: its name and description.

    Args:
        folder: The folder of skills, or of one skill.

    Returns:
        The skills, by name.

    Raises:
        PackageError: There is none, or one cannot be used.
    """
    place = Path(folder)
    files = [place / _FILE] if (place / _FILE).is_file() else sorted(place.glob(f"*/{_FILE}"))
    if not files:
        raise PackageError(folder, "", f"no skill in it: a skill is a folder with a {_FILE}")
    skills = sorted((_read(file) for file in files), key=lambda one: one.name)
    for first, second in pairwise(skills):
        if first.name == second.name:
            raise PackageError(folder, "", f"two skills are called {first.name!r}")
    return tuple(skills)


def _read(file: Path) -> Skill:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PackageError(file, "", f"cannot be read: {error}") from None
    if len(text) > _LARGEST:
        raise PackageError(file, "", f"too large: more than {_LARGEST} characters")
    lines = text.splitlines()
    if not lines or lines[0].strip() != _FENCE or _FENCE not in (one.strip() for one in lines[1:]):
        raise PackageError(file, "line 1", f"a skill begins with name and description between two lines {_FENCE}")
    end = next(at for at, one in enumerate(lines) if at and one.strip() == _FENCE)
    try:
        head = yaml.safe_load("\n".join(lines[1:end]))
    except yaml.YAMLError as error:
        raise PackageError(file, "", f"the head is not YAML: {str(error).splitlines()[0]}") from None
    body = "\n".join(lines[end + 1 :]).strip()
    if not isinstance(head, dict):
        raise PackageError(file, "", "the head must have a name and a description")
    for field in ("name", "description"):
        if not isinstance(head.get(field), str) or not head[field].strip() or "\n" in head[field].strip():
            raise PackageError(file, field, "must be a text of one line")
    if not body:
        raise PackageError(file, "", "has no instructions")
    return Skill(head["name"].strip(), head["description"].strip(), body)
