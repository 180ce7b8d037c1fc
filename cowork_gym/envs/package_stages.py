"""The later parts of a task, as people write them in `stages.yaml`: a day, a request, and what has changed in the world."""

from dataclasses import replace
from datetime import date
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from cowork_gym.core.clock import Clock
from cowork_gym.core.errors import Fault, PackageError, UserError, nearest
from cowork_gym.core.task import Stage, WorldChange
from cowork_gym.envs.blueprint import Blueprint
from cowork_gym.envs.happenings import table_of
from cowork_gym.envs.package_files import Shape, Text, fit, read_day, read_mapping
from cowork_gym.envs.world import World
from cowork_gym.graders.matchers import show
from cowork_gym.graders.problems import SchemaVersion
from cowork_gym.mock_services.kit.files import File

__all__ = ["foresee", "read_stages"]


class _Change(Shape):
    insert: Text | None = None
    update: Text | None = None
    delete: Text | None = None
    key: Text | None = None
    record: dict[str, Any] | None = None
    fields: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _one(self) -> "_Change":
        ops = [name for name in ("insert", "update", "delete") if getattr(self, name) is not None]
        if len(ops) != 1:
            raise ValueError("a change is one of insert, update and delete, with the table's name")
        needs = {"insert": {"record"}, "update": {"key", "fields"}, "delete": {"key"}}[ops[0]]
        has = {name for name in ("key", "record", "fields") if getattr(self, name) is not None}
        if has != needs:
            raise ValueError(f"{ops[0]} takes {' and '.join(sorted(needs))}, not {' and '.join(sorted(has)) or 'nothing'}")
        return self


class _Stage(Shape):
    day: Annotated[date, BeforeValidator(read_day)]
    request: Text
    changes: list[_Change] = Field(default_factory=list)


class _File(Shape):
    schema_version: SchemaVersion
    stages: Annotated[list[_Stage], Field(min_length=1)]


def read_stages(path: Path, blueprint: Blueprint, first: date) -> tuple[Stage, ...]:
    """The stages of a package; none where there is no such file.

    Args:
        path: The file.
        blueprint: Of the task's worlds, for the names of tables and their keys.
        first: The day on which the task begins.

    Raises:
        PackageError: The file is not of that form, names an unknown table, or its days do not go forward.
    """
    if not path.exists():
        return ()
    file = fit(_File, read_mapping(path), path)
    for at, (before, stage) in enumerate(zip([first, *(one.day for one in file.stages)], file.stages, strict=False)):
        if stage.day < before:
            raise PackageError(path, f"stages[{at}].day", f"{stage.day} is before {before}, on which the part before it begins")
    return tuple(
        Stage(stage.day, stage.request, tuple(_change(one, blueprint, path, f"stages[{at}].changes[{n}]") for n, one in enumerate(stage.changes)))
        for at, stage in enumerate(file.stages)
    )


def _change(one: _Change, blueprint: Blueprint, path: Path, where: str) -> WorldChange:
    name = one.insert or one.update or one.delete or ""
    try:
        model, _ = table_of(blueprint.tables, name)
    except UserError as error:
        raise PackageError(path, where, str(error)) from None
    column = model.wire.get(model.key_column(), model.key_column())
    if one.insert is None:
        if column in (one.fields or {}):
            raise PackageError(path, f"{where}.fields.{column}", "is what the record is told by, and stays: delete it and insert another one")
        return WorldChange("update" if one.update else "delete", name, one.key or "", one.fields or {})
    key = (one.record or {}).get(column)
    if not isinstance(key, str):
        raise PackageError(path, f"{where}.record", f"has no {column}")
    if model is File and (PurePosixPath(key).as_posix() != key or not {"", ".", "..", "/"}.isdisjoint(PurePosixPath(key).parts) or "\\" in key):
        raise PackageError(path, f"{where}.record.{column}", f"expected a path inside the workspace such as notes/plan.md, not {show(key)}")
    return WorldChange("insert", name, key, one.record or {})


def foresee(blueprint: Blueprint, stages: tuple[Stage, ...], path: object = "stages.yaml") -> Blueprint:
    """The blueprint, which knows what each move of the world changes if nobody does anything.

    Raises:
        PackageError: A change does not fit its table, or changes nothing.
    """
    world, given = World(blueprint), []
    for at, stage in enumerate(stages):
        for n, change in enumerate(stage.changes):
            before, where = world.row(change.table, change.key), f"stages[{at}].changes[{n}]"
            if (before is not None) is (change.op == "insert"):
                hint = "there is one already" if before is not None else nearest(change.key, world.rows(change.table))
                raise PackageError(path, where, f"cannot {change.op} {change.table}/{change.key}, {hint}")
            try:
                world.move_on(Clock.on(stage.day).start, [change])
            except Fault as fault:
                raise PackageError(path, where, fault.record.message) from None
            if world.row(change.table, change.key) == before:
                raise PackageError(path, where, f"changes nothing: {change.table}/{change.key} is so already")
        given.append(world.diff())
    world.close()
    return replace(blueprint, given=tuple(given)) if given else blueprint
