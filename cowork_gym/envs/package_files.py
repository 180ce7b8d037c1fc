"""Files that people write: YAML and JSON as plain values, under limits, with the place of every mistake.

YAML is read by the core rules of version 1.2, the cautious way: `yes`, `2026-01-05`, `10:30`, `007` and `12e4` are texts, fractions
are exact decimals, keys are texts. What could surprise is refused: repeated keys, aliases, tags, a second document.
"""

import json
import re
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Never, TypeVar

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict

from cowork_gym.core.canonical import MAX_DEPTH, check_value, read_number
from cowork_gym.core.errors import PackageError, ToolError
from cowork_gym.envs.package_tree import read_bytes
from cowork_gym.graders.matchers import show
from cowork_gym.graders.problems import read_form

__all__ = ["Shape", "Text", "fit", "read_day", "read_mapping"]

_PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CONSTANTS = {"": None, "~": None, "null": None, "true": True, "false": False}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,40})")
_YEARS = range(1970, 3000)
_FRACTION = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*)\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?")


class Shape(BaseModel):
    """The shape of a file, or of a part of one: nothing is coerced, nothing unknown is dropped."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _seen(text: str) -> str:
    if not any(letter.isprintable() and not letter.isspace() for letter in text):
        raise ValueError(f"expected a text that can be read, not {show(text)}")
    return text


Text = Annotated[str, AfterValidator(_seen)]
"""A text in which something can be seen."""
Fitted = TypeVar("Fitted", bound=Shape)


def read_mapping(path: Path) -> dict[str, Any]:
    """The mapping that a YAML file holds, or a JSON file if its name ends in `.json`.

    Raises:
        PackageError: `read_bytes` refuses it, or it is not UTF-8, not well formed, no mapping, nested more than `MAX_DEPTH` levels
            deep, or holds a value that the door would refuse too: a lone surrogate, NUL, a number that cannot be kept exactly.
    """
    text = _decode(path, read_bytes(path))
    try:
        value = _read_json(path, text) if path.suffix == ".json" else _read_yaml(path, text)
    except RecursionError:
        raise PackageError(path, "", f"nested more than {MAX_DEPTH} levels deep") from None
    if not isinstance(value, dict):
        raise PackageError(path, "", f"expected a mapping, not {show(value)}")
    _inspect(path, value, "", 1)
    return value


def read_day(value: Any) -> Any:
    """A day as it is written, for pydantic; what is no text is left to it.

    Raises:
        ValueError: It is not of the form 2026-03-10, or of a year that no world has.
    """
    if not isinstance(value, str):
        return value
    try:
        day = date.fromisoformat(value)
    except ValueError:
        day = None
    if day is None or day.isoformat() != value:  # there are other ways to write a day; one is read
        raise ValueError(f"expected a day such as 2026-03-10, not {show(value)}")
    if day.year not in _YEARS:
        raise ValueError(f"expected a day of the years {_YEARS[0]} to {_YEARS[-1]}, not {value}")
    return day


def fit(shape: type[Fitted], value: Mapping[str, Any], path: Path) -> Fitted:
    """A file's content in its shape.

    Raises:
        PackageError: A key is unknown or missing, or a value is of the wrong kind. The field is named.
    """
    return read_form(shape, value, path)


def _decode(path: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise PackageError(path, f"line {line}", f"not UTF-8: byte 0x{content[error.start]:02x}; save the file as UTF-8") from None


def _read_json(path: Path, text: str) -> Any:
    def refuse(name: str) -> Never:
        raise PackageError(path, "", f"{name} is not JSON")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise PackageError(path, "", f"the key {key!r} comes twice in one object")
            found[key] = value
        return found

    try:
        return json.loads(text, parse_float=read_number, parse_constant=refuse, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise PackageError(path, f"line {error.lineno}, column {error.colno}", error.msg) from None
    except ValueError as error:
        raise PackageError(path, "", str(error)) from None


def _read_yaml(path: Path, text: str) -> Any:
    try:
        events = yaml.parse(text, Loader=_PARSER)
        next(events)
        if isinstance(next(events), yaml.StreamEndEvent):
            return None
        value = _node(path, events, next(events))
        next(events)
        if not isinstance(extra := next(events), yaml.StreamEndEvent):
            raise _at(path, extra, "a second document; only one is read")
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise PackageError(path, f"line {mark.line + 1}, column {mark.column + 1}" if mark else "", error.problem or "not YAML") from None
    except yaml.YAMLError as error:
        raise PackageError(path, "", " ".join(str(error).split())) from None
    return value


def _node(path: Path, events: Iterator[Any], event: Any) -> Any:
    """The value that begins with this event."""
    if isinstance(event, yaml.AliasEvent):
        raise _at(path, event, f"the alias *{event.anchor} is not read: write the value out")
    if event.tag is not None:
        raise _at(path, event, f"the tag {event.tag} is not read")
    if isinstance(event, yaml.ScalarEvent):
        return _plain(event.value) if event.implicit[0] else event.value
    if isinstance(event, yaml.SequenceStartEvent):
        items = []
        while not isinstance(event := next(events), yaml.SequenceEndEvent):
            items.append(_node(path, events, event))
        return items
    found: dict[str, Any] = {}
    while not isinstance(event := next(events), yaml.MappingEndEvent):
        if not isinstance(event, yaml.ScalarEvent):
            raise _at(path, event, "a key must be a text")
        if event.value in found:
            raise _at(path, event, f"the key {event.value!r} comes twice in one mapping")
        found[event.value] = _node(path, events, next(events))
    return found


def _plain(text: str) -> Any:
    """A scalar without quotes."""
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    if _INTEGER.fullmatch(text):
        return int(text)
    return Decimal(text) if _FRACTION.fullmatch(text) else text


def _at(path: Path, event: Any, problem: str) -> PackageError:
    return PackageError(path, f"line {event.start_mark.line + 1}, column {event.start_mark.column + 1}", problem)


def _inspect(path: Path, value: Any, where: str, depth: int) -> None:
    """Refuse, with its place, what the door would refuse from an agent."""
    if depth > MAX_DEPTH and isinstance(value, dict | list):
        raise PackageError(path, where[:80], f"nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, list):
        for index, item in enumerate(value):
            _inspect(path, item, f"{where}[{index}]", depth + 1)
    elif isinstance(value, dict):
        for key, item in value.items():
            _check(path, key, where)
            _inspect(path, item, f"{where}.{key}" if where else key, depth + 1)
    else:
        _check(path, value, where)


def _check(path: Path, value: Any, where: str) -> None:
    try:
        check_value(value, what="the text" if isinstance(value, str) else "the number")
    except ToolError as error:
        raise PackageError(path, where, str(error)) from None
