"""Task packages: from a folder to a `Task`, and from a task to the blueprint of its worlds. `docs/tasks.md` has the format."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from cowork_gym.core.errors import PackageError, nearest
from cowork_gym.core.task import Budgets, Task
from cowork_gym.envs.blueprint import Blueprint, Records
from cowork_gym.envs.executions import read_negatives, read_references
from cowork_gym.envs.package_files import Shape, fit, read_bytes, read_mapping
from cowork_gym.envs.package_names import check_calls, check_contract, choose_services, choose_tools
from cowork_gym.graders import GRADER_VERSION, Contract, Evidence, classify
from cowork_gym.graders.matchers import show
from cowork_gym.mock_services.kit.service import Service

__all__ = ["blueprint_of", "load_task"]

_TOP = ("task.yaml", "world", "private", "README.md")
_PRIVATE = ("grading.yaml", "reference.yaml", "negatives.yaml")


def _day(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise ValueError(f"expected a day such as 2026-03-10, not {show(value)}") from None


def _inexact(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value


Words = Annotated[str, Field(min_length=1)]


class _Budgets(Shape):
    turns: Annotated[int, Field(ge=1)] = 1
    calls: Annotated[int, Field(ge=1)] = 1
    tokens: Annotated[int, Field(ge=1)] | None = None
    seconds: Annotated[float, Field(gt=0), BeforeValidator(_inexact)] | None = None


class _File(Shape):
    """The form of `task.yaml`."""

    schema_version: Literal[1]
    id: Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*$")]
    version: Annotated[int, Field(ge=0)]
    title: Words
    request: Words
    mock_today: Annotated[date, BeforeValidator(_day)]
    services: Annotated[list[str], Field(min_length=1)]
    tools: Annotated[list[str], Field(min_length=1)]
    budgets: _Budgets = _Budgets()
    category: Words = "general"
    difficulty: str = ""
    language: Words = "en"
    capabilities: list[Words] = Field(default_factory=list)
    notes: str = ""


def load_task(path: str | Path, services: Mapping[str, type[Service]]) -> Task:
    """Read a task package and see that it holds together.

    Args:
        path: The package's folder.
        services: The services that a task may name.

    Raises:
        PackageError: The package cannot be used. One line names the file, the line or field, and the nearest valid choice.
    """
    folder = Path(path)
    _check_layout(folder)
    head = folder / "task.yaml"
    file = fit(_File, read_mapping(head), head)
    chosen = choose_services(file.services, services, head)
    contracts = choose_tools(file.tools, chosen, head)
    contract_file, reference, negatives = (folder / "private" / name for name in _PRIVATE)
    grading = read_mapping(contract_file)
    contract = Contract.parse(grading, str(contract_file))
    plain = file.model_dump(include={"id", "version", "title", "request", "mock_today", "category", "difficulty", "language", "notes"})
    task = Task(
        **plain, services=tuple(chosen), tools=tuple(contracts), capabilities=tuple(file.capabilities), contracts=contracts,
        budgets=Budgets(**file.budgets.model_dump(exclude_unset=True)), world=_read_world(folder, chosen), files=_read_files(folder),
        grading=grading, grader_version=GRADER_VERSION, references=read_references(reference), negatives=read_negatives(negatives),
    )
    blueprint = _laid_out(task, services, folder)
    check_contract(contract, blueprint)
    check_calls(task.references, blueprint, reference, valid=True)
    check_calls(task.negatives, blueprint, negatives, valid=False)
    classify(contract, Evidence(blueprint.start_rows))
    return task


def blueprint_of(task: Task, services: Mapping[str, type[Service]]) -> Blueprint:
    """The blueprint of a task's worlds, built once for each release.

    Args:
        task: The task.
        services: The services that a task may name.

    Raises:
        PackageError: The task's records do not fit its services.
        KeyError: A service of the task is not among the services.
    """
    return _build(_Release(task.release_id, tuple(services[name] for name in task.services), task))


@dataclass(frozen=True)
class _Release:
    id: str
    services: tuple[type[Service], ...]
    task: Task = field(compare=False)


@lru_cache(maxsize=256)
def _build(release: _Release) -> Blueprint:
    task = release.task
    return Blueprint.build(release.services, task.world, task.files, start=task.mock_today, tools=task.tools)


def _laid_out(task: Task, services: Mapping[str, type[Service]], folder: Path) -> Blueprint:
    """The blueprint, with the places of mistakes as its author knows them."""
    try:
        return blueprint_of(task, services)
    except PackageError as error:
        place = folder / error.path
        written = place if place.exists() else place.with_suffix(".json")
        raise PackageError(written if written.exists() else folder, error.where, error.problem) from None


def _check_layout(folder: Path) -> None:
    if not folder.is_dir():
        raise PackageError(folder, "", "a task package is a folder" if folder.exists() else "no such folder")
    for inside, known in ((folder, _TOP), (folder / "private", _PRIVATE)):
        for entry in _entries(inside):
            if entry.name not in known:
                raise PackageError(entry, "", f"does not belong here, {nearest(entry.name, known)}")


def _read_world(folder: Path, services: Mapping[str, type[Service]]) -> Records:
    world: dict[str, Mapping[str, Any]] = {}
    known = [*services, "files"]
    for entry in _entries(folder / "world"):
        if entry.name == "files":
            continue
        if entry.stem not in services or entry.suffix not in (".yaml", ".json"):
            raise PackageError(entry, "", f"no service of the task has this file, {nearest(entry.name, [f'{one}.yaml' for one in known])}")
        if entry.stem in world:
            raise PackageError(entry, "", f"the records of {entry.stem} are in {entry.stem}.json too")
        collections = read_mapping(entry)
        for name, records in collections.items():
            if not isinstance(records, list):
                raise PackageError(entry, name, f"expected a list of records, not {show(records)}")
        world[entry.stem] = collections
    return world


def _read_files(folder: Path) -> dict[str, bytes]:
    root = folder / "world" / "files"
    return {path.relative_to(root).as_posix(): read_bytes(path) for path in sorted(root.rglob("*")) if path.is_symlink() or not path.is_dir()}


def _entries(folder: Path) -> list[Path]:
    """What stands in a folder, without hidden files; nothing when there is no folder."""
    return sorted(entry for entry in folder.iterdir() if not entry.name.startswith(".")) if folder.is_dir() else []
