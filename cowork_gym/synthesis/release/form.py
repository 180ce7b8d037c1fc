"""What a release says about itself: the values of `release.json`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config

from cowork_gym.core.errors import CoworkError, PackageError

__all__ = ["GateCount", "Handler", "Identity", "Overlap", "Provenance", "Refusal", "Release", "ReleasedTask", "Use", "read_record", "record_of"]

_strict = with_config(ConfigDict(extra="forbid", strict=True))


class Use(StrEnum):
    """What a task may be used for."""

    TRAINING = "training"
    EVALUATION = "evaluation"
    DIAGNOSIS = "diagnosis"


class Refusal(CoworkError):
    """Tasks that cannot be released as they are.

    Args:
        reasons: One line for each thing that stands against it.
    """

    def __init__(self, reasons: tuple[str, ...]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


@_strict
@dataclass(frozen=True, slots=True)
class Provenance:
    """Who made what. Writing tasks and showing how they are done are two roles, even where one person has both."""

    authors: tuple[str, ...]
    """Who wrote the tasks."""
    teachers: tuple[str, ...]
    """Who made the demonstrations; empty when there are none but the authors' references."""


@_strict
@dataclass(frozen=True, slots=True)
class Identity:
    """Hashes of the parts of a task, so that each can be compared by itself. An empty part has an empty hash, equal to no other."""

    request: str
    world: str
    tools: str
    grader: str
    structure: str
    """The digest of the task's structural signature."""


@_strict
@dataclass(frozen=True, slots=True)
class Handler:
    """A permitted tool, and what answers its calls."""

    tool: str
    code: str
    """Such as `cowork_gym.mock_services.crm:CRM.get_customer`."""
    build: str
    """sha256 over the source of the service and its records."""


@_strict
@dataclass(frozen=True, slots=True)
class GateCount:
    """What became of one admission gate."""

    gate: str
    asked: int
    """How often: once for each form that was examined."""
    passed: int
    seconds: float


@_strict
@dataclass(frozen=True, slots=True)
class Overlap:
    """Something that a task has in common with a task of another release."""

    task: str
    release: str
    """The other one, as it is cited."""
    other: str
    """The other task's id."""
    part: Literal["request", "near-request", "world", "tools", "grader", "structure"]
    likeness: float
    """1 for equality; for requests that are nearly equal, the share of the shorter one that the other one has."""


@_strict
@dataclass(frozen=True, slots=True)
class ReleasedTask:
    """One task of a release."""

    id: str
    version: int
    release_id: str
    title: str
    category: str
    difficulty: str
    language: str
    services: tuple[str, ...]
    split: Literal["train", "validation", ""]
    """Empty when the release is not divided."""
    uses: tuple[Use, ...]
    """What this task is authorised for."""
    identity: Identity
    requested: tuple[Handler, ...]
    """The tools that the task permits."""
    realised: Mapping[str, int]
    """The tools that answered a call of a reference, and how many calls."""
    references: int
    negatives: int
    gates: tuple[GateCount, ...]


@_strict
@dataclass(frozen=True, slots=True)
class Release:
    """A sealed collection of admitted tasks."""

    schema_version: Literal[1]
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$")]
    made_with: Mapping[str, str]
    """Versions: of the package, of the grader, of Python."""
    provenance: Provenance
    uses: tuple[Use, ...]
    """What it was made for; what a single task is authorised for is said there."""
    seeds: tuple[int, ...]
    """The forms in which tasks were examined."""
    fraction: float | None
    """The share that was to be held out for validation; None when the release is not divided."""
    tasks: tuple[ReleasedTask, ...]
    counts: Mapping[str, int]
    gates: tuple[GateCount, ...]
    compared: tuple[str, ...]
    """The releases that it was compared with, as they are cited."""
    overlaps: tuple[Overlap, ...]
    folder: Path = field(default=Path(), compare=False)
    """Where this copy lies; no part of the record."""
    seal: str = ""
    """sha256 of the manifest; no part of the record, which the manifest covers."""

    @property
    def citation(self) -> str:
        """How to cite it: the name and the beginning of the seal."""
        return f"{self.name}@{self.seal[:16]}"

    @property
    def train(self) -> tuple[str, ...]:
        """The ids of the tasks that are for training."""
        return tuple(one.id for one in self.tasks if one.split == "train")

    @property
    def validation(self) -> tuple[str, ...]:
        """The ids of the tasks that were held out."""
        return tuple(one.id for one in self.tasks if one.split == "validation")


_RECORD = TypeAdapter(Release)


def record_of(release: Release) -> bytes:
    """The content of `release.json`."""
    return _RECORD.dump_json(release, indent=2, exclude={"folder", "seal"}) + b"\n"


def read_record(content: bytes, path: Path) -> Release:
    """The release that a `release.json` tells of.

    Raises:
        PackageError: It is not of the form.
    """
    try:
        return _RECORD.validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise PackageError(path, ".".join(map(str, first["loc"])), str(first["msg"])) from None
