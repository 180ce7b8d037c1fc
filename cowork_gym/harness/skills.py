"""Skills: folders of instructions that an agent may read when it needs them. `prompt` lists them, the tool `read_skill` shows them."""

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from cowork_gym.core.canonical import check_value
from cowork_gym.core.errors import PackageError, ToolError

__all__ = ["Skill", "read_skills"]

_FILE = "SKILL.md"
_FENCE = "---"
_LARGEST = 256 * 1024
_LONGEST = {"name": 64, "description": 1024}
_NAME = re.compile(r"[^\W_][\w .-]*")


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

    The lengths of both are those of the Agent Skills format, https://agentskills.io/specification.

    Args:
        folder: The folder of skills, or of one skill. Folders in it whose names begin with a point are not looked into.

    Returns:
        The skills, by name.

    Raises:
        PackageError: There is none, or one cannot be used.
    """
    skills: dict[str, tuple[Path, Skill]] = {}
    for file in _files(Path(folder)):
        skill = _read(file)
        other, same = skills.setdefault(unicodedata.normalize("NFKC", skill.name).casefold(), (file, skill))
        if same is not skill:
            called = repr(skill.name) if skill.name == same.name else f"{same.name!r} and {skill.name!r}, which is hard to tell apart"
            raise PackageError(file, "name", f"two skills are called {called}; the other one is {other}")
    return tuple(sorted((skill for _, skill in skills.values()), key=lambda one: one.name))


def _files(place: Path) -> list[Path]:
    try:
        if (place / _FILE).is_file():
            return [place / _FILE]
        files = [one / _FILE for one in sorted(place.iterdir()) if one.is_dir() and not one.name.startswith(".")] if place.is_dir() else []
    except OSError as error:
        raise PackageError(place, "", f"the folder cannot be read: {error.strerror}") from None
    if not files:
        raise PackageError(place, "", f"no skill in it: a skill is a folder with a {_FILE}")
    return files


def _read(file: Path) -> Skill:
    lines = _text(file).split("\n")
    fences = [at for at, one in enumerate(lines) if one.strip() == _FENCE]
    if len(fences) < 2 or fences[0] != 0:
        raise PackageError(file, "line 1", f"a skill begins with name and description between two lines {_FENCE}")
    head, body = _head(file, "\n".join(lines[1 : fences[1]])), "\n".join(lines[fences[1] + 1 :]).strip()
    name, description = (_line(file, field, head.get(field), longest) for field, longest in _LONGEST.items())
    if not _NAME.fullmatch(name):
        raise PackageError(file, "name", f"must be letters, digits, spaces and -_. and begin with a letter or digit, not {name!a}")
    if not body:
        raise PackageError(file, "", "has no instructions")
    return Skill(name, description, body)


def _text(file: Path) -> str:
    try:
        if not file.is_file():
            raise PackageError(file.parent, "", f"no skill: it has no file {_FILE}")
        if file.stat().st_size > _LARGEST:
            raise PackageError(file, "", f"too large: more than {_LARGEST} bytes")
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise PackageError(file, "", f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise PackageError(file, f"line {line}", "cannot be read: save the file as UTF-8") from None
    if not text.strip():
        raise PackageError(file, "", "the file is empty")
    if "\0" in text:
        raise PackageError(file, "", "has a NUL character in it")
    return text


def _head(file: Path, text: str) -> Mapping[str, Any]:
    """The YAML before the instructions, in which each key stands once."""
    try:
        node = yaml.compose(text, yaml.SafeLoader)
        head = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise PackageError(file, "", f"the head is not YAML: {str(error).splitlines()[0]}") from None
    if not isinstance(head, dict) or not isinstance(node, yaml.MappingNode):
        raise PackageError(file, "", "the head must have a name and a description")
    keys = [key.value for key, _ in node.value]
    for at, key in enumerate(keys):
        if key in keys[:at]:
            raise PackageError(file, str(key)[:80], "comes twice in the head")
    return head


def _line(file: Path, field: str, value: Any, longest: int) -> str:
    text = value.strip() if isinstance(value, str) else ""
    if len(text.splitlines()) != 1:
        raise PackageError(file, field, "must be a text of one line")
    if len(text) > longest:
        raise PackageError(file, field, f"must have at most {longest} characters, not {len(text)}")
    try:
        check_value(text, what="the text")
    except ToolError as error:
        raise PackageError(file, field, str(error)) from None
    return text
