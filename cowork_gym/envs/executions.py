"""Executions as people write them: turns of tool calls, then a final answer. References, negatives and scripts have this form."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, PlainValidator, model_validator

from cowork_gym.core.errors import PackageError, nearest
from cowork_gym.core.messages import Message, ToolCall, final, message
from cowork_gym.core.task import Execution
from cowork_gym.envs.edits import Edit, edited
from cowork_gym.envs.package_files import Shape, Text, fit, read_mapping
from cowork_gym.graders.matchers import show
from cowork_gym.graders.problems import SchemaVersion

__all__ = ["read_negatives", "read_references", "read_script"]


def _turn(value: Any) -> Message:
    if isinstance(value, str):
        return final(value)
    calls = value if isinstance(value, list) else [value]
    if not calls or not all(isinstance(one, dict) and len(one) == 1 for one in calls):
        raise ValueError(f"a turn is `tool: {{arguments}}`, a list of these for calls in one message, or a text, not {show(value)}")
    return message(None, *(_call(*pair) for one in calls for pair in one.items()))


def _call(tool: str, arguments: Any) -> ToolCall:
    if not isinstance(arguments, Mapping | None):
        raise ValueError(f"the arguments of {tool} are a mapping, not {show(arguments)}")
    return ToolCall(tool, arguments or {})


def _bound(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | Decimal) or not 0 <= value < 1:
        raise ValueError(f"a bound is a number from 0 to less than 1, not {show(value)}")
    return float(value)


class _Turns(Shape):
    turns: list[Annotated[Message, PlainValidator(_turn)]] = Field(default_factory=list)
    final: str | None = None

    @property
    def actions(self) -> tuple[Message, ...]:
        """The messages in order."""
        return (*self.turns, *([] if self.final is None else [final(self.final)]))


class _Reference(_Turns):
    name: Text


class _Negative(_Reference):
    max_reward: Annotated[float, PlainValidator(_bound)]
    why: Text
    like: Text | None = None
    edits: Annotated[list[Edit], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _one_way(self) -> "_Negative":
        if (self.like is None) is not (self.edits is None):
            raise ValueError("like and edits belong together")
        if self.like is not None and (self.turns or self.final is not None):
            raise ValueError("write either turns and final, or like and edits; the edits may have a final")
        return self


class _Script(_Turns):
    schema_version: SchemaVersion = 1


class _References(Shape):
    schema_version: SchemaVersion = 1
    executions: Annotated[list[_Reference], Field(min_length=1)]


class _Negatives(Shape):
    schema_version: SchemaVersion = 1
    executions: Annotated[list[_Negative], Field(min_length=1)]


def read_references(path: Path) -> tuple[Execution, ...]:
    """The executions of a `reference.yaml`.

    Raises:
        PackageError: The file is not of that form, or a name comes twice.
    """
    file = fit(_References, read_mapping(path), path)
    return _named(path, [Execution(one.name, one.actions) for one in file.executions])


def read_negatives(path: Path, references: Sequence[Execution] = ()) -> tuple[Execution, ...]:
    """The executions of a `negatives.yaml`, each with its bound and reason.

    Args:
        path: The file.
        references: What a negative may depart from.

    Raises:
        PackageError: The file is not of that form, a name comes twice, or an edit does not fit its reference.
    """
    file, known = fit(_Negatives, read_mapping(path), path), {one.name: one for one in references}
    executions = []
    for at, one in enumerate(file.executions):
        where, actions = f"executions[{at}] ({one.name})", one.actions
        if one.like is not None:
            if one.like not in known:
                raise PackageError(path, f"{where}.like", f"no reference {one.like!r}, {nearest(one.like, known)}")
            try:
                actions = edited(known[one.like].actions, one.edits or ())
            except ValueError as error:
                raise PackageError(path, f"{where}.edits", str(error)) from None
        executions.append(Execution(one.name, actions, one.max_reward, one.why))
    return _named(path, executions)


def read_script(path: str | Path) -> Execution:
    """One execution from a file of its own, YAML or JSON, with `turns` and `final`. Its name is the file's.

    Raises:
        PackageError: The file is not of that form.
    """
    place = Path(path)
    return Execution(place.stem, fit(_Script, read_mapping(place), place).actions)


def _named(path: Path, executions: list[Execution]) -> tuple[Execution, ...]:
    names = [one.name for one in executions]
    for at, name in enumerate(names):
        if name in names[:at]:
            raise PackageError(path, f"executions[{at}].name", f"the name {name!r} comes twice")
    return tuple(executions)
