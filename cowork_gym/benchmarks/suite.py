"""Suites: collections of tasks as data. A suite lists its tasks, or says by a rule on `task.yaml` which ones it takes."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from cowork_gym.core.errors import PackageError, UserError, nearest
from cowork_gym.core.task import Task
from cowork_gym.envs.package_files import Shape, Text, fit, read_mapping
from cowork_gym.envs.registration import REGISTRY, load_task
from cowork_gym.graders.problems import SchemaVersion

__all__ = ["SUITES", "Suite", "load_suite", "suite_names"]

SUITES = Path(__file__).parent / "suites"
"""The suites that come with the package, a file each."""


def _words(value: Any) -> Any:
    return (value,) if isinstance(value, str) else tuple(value) if isinstance(value, list) else value


_Words = Annotated[tuple[Text, ...], BeforeValidator(_words)]


class _Rule(Shape):
    """Which tasks a suite takes: those that have one of the words in each field that is named."""

    namespace: _Words = ()
    category: _Words = ()
    difficulty: _Words = ()
    language: _Words = ()


class _File(Shape):
    """The form of a suite's file."""

    schema_version: SchemaVersion
    name: Annotated[str, Field(max_length=80, pattern=r"^[a-z0-9]+([-_][a-z0-9]+)*$")]
    title: Text
    description: Text
    tasks: Annotated[list[Text], Field(min_length=1)] | None = None
    where: _Rule | None = None

    @model_validator(mode="after")
    def _one_way(self) -> "_File":
        if (self.tasks is None) is (self.where is None):
            raise ValueError("a suite has either tasks or where")
        if self.where is not None and not any(self.where.model_dump().values()):
            raise ValueError("where names no field: write namespace, category, difficulty or language")
        return self


@dataclass(frozen=True, slots=True)
class Suite:
    """A collection of tasks."""

    name: str
    title: str
    description: str
    folder: Path
    """Where its file lies; listed packages may be named from there."""
    listed: tuple[str, ...] = ()
    """The tasks by environment id, short name or folder; empty when a rule says which."""
    rule: Mapping[str, tuple[str, ...]] | None = None
    """The words that a task must have one of, by field; None when the tasks are listed."""

    def candidates(self) -> dict[str, Path]:
        """The packages that may be of the suite, by environment id, or by folder when they are not registered.

        Raises:
            UserError: A listed task is not there, or is listed twice.
        """
        registered = {path: id for id, path in REGISTRY.tasks().items()}
        if self.rule is not None:
            spaces = self.rule.get("namespace")
            return {id: path for path, id in registered.items() if not spaces or id.partition("/")[0] in spaces}
        found: dict[str, Path] = {}
        for name in self.listed:
            path = self._find(name)
            id = registered.get(path, str(path))
            if id in found:
                raise UserError(f"the suite {self.name} lists {name} twice")
            found[id] = path
        return found

    def takes(self, task: Task) -> bool:
        """Whether a candidate, once it is read, is of the suite."""
        fields = {name: words for name, words in (self.rule or {}).items() if name != "namespace" and words}
        return all(getattr(task, name) in words for name, words in fields.items())

    def load(self) -> dict[str, Task]:
        """The tasks by environment id, in order.

        Raises:
            UserError: A task is not there.
            PackageError: A package that may be of the suite cannot be used.
        """
        tasks = {id: load_task(path) for id, path in self.candidates().items()}
        return {id: task for id, task in tasks.items() if self.takes(task)}

    def _find(self, name: str) -> Path:
        beside = self.folder / name
        try:
            return (beside if os.sep in name and (beside / "task.yaml").is_file() else REGISTRY.find(name)).resolve()
        except UserError as error:
            raise UserError(f"the suite {self.name}: {error}") from None


def suite_names() -> tuple[str, ...]:
    """The suites that come with the package, sorted."""
    return tuple(sorted(path.stem for path in SUITES.glob("*.yaml")))


def load_suite(name: str | Path) -> Suite:
    """A suite.

    Args:
        name: One of `suite_names()`, or the path of a suite's file.

    Raises:
        UserError: There is no such suite; the nearest one is named.
        PackageError: The file is not of the form; file and field are named.
    """
    path = SUITES / f"{name}.yaml" if str(name) in suite_names() else Path(name)
    if path.suffix not in {".yaml", ".yml", ".json"}:
        shown = str(name)[:80]
        raise UserError(f"unknown suite {shown!r} (one's own is named by its file, such as mine.yaml), {nearest(shown, suite_names())}")
    file = fit(_File, read_mapping(path), path)
    if path.parent == SUITES and path.stem != file.name:
        raise PackageError(path, "name", f"is {file.name!r}, the file's name says {path.stem!r}")
    rule = None if file.where is None else file.where.model_dump()
    return Suite(file.name, file.title, file.description, path.parent, tuple(file.tasks or ()), rule)
