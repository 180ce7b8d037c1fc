"""Task packages: from a folder to a `Task`, and from a task to the blueprint of its worlds. `docs/tasks.md` has the format."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from cowork_gym.core.errors import PackageError, nearest
from cowork_gym.core.task import Budgets, Task
from cowork_gym.envs.blueprint import Blueprint, Records
from cowork_gym.envs.dialogue import parse_dialogue
from cowork_gym.envs.executions import read_negatives, read_references
from cowork_gym.envs.package_files import Shape, Text, fit, read_day, read_mapping
from cowork_gym.envs.package_names import (
    check_calls,
    check_contract,
    check_faults,
    check_heard,
    check_noise,
    check_stages,
    choose_services,
    choose_tools,
)
from cowork_gym.envs.package_stages import foresee, read_stages
from cowork_gym.envs.package_structure import Capabilities, FaultShape, StructureShape, structure_of
from cowork_gym.envs.package_tree import list_folder, list_root, read_tree
from cowork_gym.envs.variation import check_variation, parse_variation
from cowork_gym.graders import GRADER_VERSION, Contract, Evidence, classify
from cowork_gym.graders.matchers import show
from cowork_gym.graders.problems import SchemaVersion
from cowork_gym.mock_services.kit.service import Service

__all__ = ["blueprint_of", "load_task"]

_TOP = ("task.yaml", "stages.yaml", "world", "private", "README.md")
_PRIVATE = ("grading.yaml", "reference.yaml", "negatives.yaml", "dialogue.yaml", "variation.yaml")


def _inexact(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value


class _Budgets(Shape):
    turns: Annotated[int, Field(ge=1)] = 1
    calls: Annotated[int, Field(ge=1)] = 1
    tokens: Annotated[int, Field(ge=1)] | None = None
    seconds: Annotated[float, Field(gt=0), BeforeValidator(_inexact)] | None = None


class _File(Shape):
    """The form of `task.yaml`."""

    schema_version: SchemaVersion
    id: Annotated[str, Field(max_length=80, pattern=r"^[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*$")]
    version: Annotated[int, Field(ge=0)]
    title: Text
    request: Text
    mock_today: Annotated[date, BeforeValidator(read_day)]
    services: Annotated[list[str], Field(min_length=1)]
    tools: Annotated[list[str], Field(min_length=1)]
    budgets: _Budgets = _Budgets()
    category: Text = "general"
    difficulty: str = ""
    language: Text = "en"
    capabilities: Capabilities = Field(default_factory=dict)
    structure: StructureShape = StructureShape()
    given: list[Text] = Field(default_factory=list)
    faults: list[FaultShape] = Field(default_factory=list)
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
    contract_file, reference, negatives, dialogue, variation = (folder / "private" / name for name in _PRIVATE)
    grading = read_mapping(contract_file)
    contract = Contract.parse(grading, str(contract_file))
    plain = file.model_dump(include={"id", "version", "title", "request", "mock_today", "category", "difficulty", "language", "notes"})
    task = Task(
        **plain, services=tuple(chosen), tools=tuple(contracts), contracts=contracts, given=tuple(file.given),
        structure=structure_of(file.capabilities, file.structure), faults=tuple(one.planned() for one in file.faults),
        dialogue=read_mapping(dialogue) if dialogue.exists() else {}, variation=read_mapping(variation) if variation.exists() else {},
        budgets=Budgets(**file.budgets.model_dump(exclude_unset=True)), world=_read_world(folder, chosen),
        files=read_tree(folder / "world" / "files"), grading=grading, grader_version=GRADER_VERSION, references=read_references(reference),
        negatives=read_negatives(negatives, read_references(reference)),
    )
    task = replace(task, stages=read_stages(folder / "stages.yaml", _laid_out(task, services, folder), task.mock_today))
    _check_whole(task, contract, _laid_out(task, services, folder), folder)
    return task


def _check_whole(task: Task, contract: Contract, blueprint: Blueprint, folder: Path) -> None:
    """See that the parts of a package fit each other."""
    _, reference, negatives, dialogue, variation = (folder / "private" / name for name in _PRIVATE)
    check_faults(task.faults, blueprint, folder / "task.yaml")
    check_contract(contract, blueprint)
    check_stages(contract, len(task.stages) + 1)
    check_calls(task.references, blueprint, reference, valid=True)
    check_calls(task.negatives, blueprint, negatives, valid=False)
    check_heard(contract, parse_dialogue(task.dialogue, str(dialogue)) if task.dialogue else None)
    classify(contract, Evidence(blueprint.start_rows, given=blueprint.given))
    if task.variation:
        check_noise(parse_variation(task.variation, variation), blueprint, variation)
        with _placed(folder):
            check_variation(task)


def blueprint_of(task: Task, services: Mapping[str, type[Service]]) -> Blueprint:
    """The blueprint of a task's worlds, built once for each form of a release.

    Args:
        task: The task.
        services: The services that a task may name.

    Raises:
        PackageError: The task's records do not fit its services.
        KeyError: A service of the task is not among the services.
    """
    return _build(_Release(task.instance_id, tuple(services[name] for name in task.services), task))


@dataclass(frozen=True)
class _Release:
    id: str
    services: tuple[type[Service], ...]
    task: Task = field(compare=False)


@lru_cache(maxsize=256)
def _build(release: _Release) -> Blueprint:
    task = release.task
    blueprint = Blueprint.build(release.services, task.world, task.files, start=task.mock_today, tools=task.tools, faults=task.faults)
    return foresee(blueprint, task.stages)


def _laid_out(task: Task, services: Mapping[str, type[Service]], folder: Path) -> Blueprint:
    with _placed(folder):
        return blueprint_of(task, services)


@contextmanager
def _placed(folder: Path) -> Iterator[None]:
    """Mistakes in a package, told with their places as its author knows them."""
    try:
        yield
    except PackageError as error:
        place = folder / error.path
        written = place if place.exists() else place.with_suffix(".json")
        raise PackageError(written if written.exists() else folder, error.where, error.problem) from None


def _check_layout(folder: Path) -> None:
    for entries, known in ((list_root(folder), _TOP), (list_folder(folder / "private"), _PRIVATE)):
        for entry in entries:
            if entry.name not in known:
                raise PackageError(entry, "", f"does not belong here, {nearest(entry.name, known)}")


def _read_world(folder: Path, services: Mapping[str, type[Service]]) -> Records:
    world: dict[str, Mapping[str, Any]] = {}
    known = [*services, "files"]
    for entry in list_folder(folder / "world"):
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
