"""Parts of a harness from text: a name and `key=value` pairs, read by the fields of the part's dataclass."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from cowork_gym.core.errors import UserError, nearest

__all__ = ["built", "check_names", "settings", "written"]

Part = TypeVar("Part")
_NUMBER = re.compile(r"[-+]?0*[0-9]{1,18}")
_DIGITS = re.compile(r"[-+]?[0-9]+")
_NOTHING = object()


def settings(kind: type) -> dict[str, Field[Any]]:
    """The fields of a part that a text can set: numbers, texts and the like."""
    hints = get_type_hints(kind)
    return {one.name: one for one in fields(kind) if any(_key(each) in _READERS for each in _kinds(hints[one.name]) if each is not NoneType)}


def built(kind: type[Part], part: str) -> Part:
    """A part from its text, such as `summary:at=2000,keep=2`.

    Args:
        kind: The class that the name stands for.
        part: The whole text, the name included.

    Raises:
        UserError: A setting is unknown, missing, given twice or of another type, or the part refuses its settings.
    """
    name, colon, text = part.partition(":")
    hints, known, given = get_type_hints(kind), settings(kind), dict[str, Any]()
    for pair in text.split(",") if colon else ():
        key, equals, value = pair.partition("=")
        if key not in known:
            raise UserError(f"harness: {name} has no setting {key!r}, {nearest(key, known)}")
        if not equals or key in given:
            raise UserError(f"harness: {name}: write {key}=VALUE, once")
        given[key] = _read(value, hints[key], f"harness: {name}: {key}")
    for one in fields(kind):  # type: ignore[arg-type]  # parts are dataclasses
        if one.default is MISSING and one.default_factory is MISSING and one.name not in given:
            raise UserError(f"harness: {name} needs {one.name}: write {name}:{one.name}=VALUE")
    try:
        return kind(**given)
    except (TypeError, ValueError) as error:
        raise UserError(f"harness: {part}: {error}") from None


def written(kind: type, manifest: Mapping[str, Any]) -> str:
    """The text of a part, as far as a text can have it: its name, and what differs from its defaults.

    Args:
        kind: The part's class.
        manifest: As the part gives it.
    """
    changed = [f"{name}={_text(manifest[name])}" for name, one in settings(kind).items() if name in manifest and manifest[name] != one.default]
    return f"{manifest['name']}:{','.join(changed)}" if changed else str(manifest["name"])


def check_names(names: Sequence[str], where: str) -> None:
    """See that a list of names has each once, and no empty one.

    Raises:
        UserError: It has not.
    """
    for at, name in enumerate(names):
        if not name:
            raise UserError(f"{where}: a name is empty")
        if name in names[:at]:
            raise UserError(f"{where}: {name[:80]!r} comes twice")


def _kinds(hint: Any) -> Sequence[Any]:
    """The alternatives of a field's type."""
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _key(kind: Any) -> Any:
    return Literal if get_origin(kind) is Literal else kind


def _read(text: str, hint: Any, where: str) -> Any:
    """A value of the first of a field's types that the text fits."""
    kinds = [one for one in _kinds(hint) if _key(one) in _READERS]
    for kind in sorted(kinds, key=lambda one: [*_READERS].index(_key(one))):
        if (value := _READERS[_key(kind)](text, kind)) is not _NOTHING:
            return value
    raise UserError(f"{where} is {_told(kinds, text)}, not {text[:80]!r}")


def _told(kinds: Sequence[Any], text: str) -> str:
    """The kinds in words; of whole numbers the range, where one is out of it."""
    words = [", ".join(get_args(one)) if get_origin(one) is Literal else _WORDS[one] for one in kinds]
    beyond = int in kinds and _DIGITS.fullmatch(text)
    return " or ".join(f"{word} between -10^18 and 10^18" if beyond and word == _WORDS[int] else word for word in words)


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "/".join(map(str, value))
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def _float(text: str, kind: Any) -> Any:
    try:
        value = float(text)
    except ValueError:
        return _NOTHING
    return value if math.isfinite(value) else _NOTHING


def _constant(values: Mapping[str, Any]) -> Callable[[str, Any], Any]:
    return lambda text, kind: values.get(text.lower(), _NOTHING)


_READERS: Mapping[Any, Callable[[str, Any], Any]] = {
    NoneType: _constant({"none": None}),
    bool: _constant({"true": True, "false": False}),
    int: lambda text, kind: int(text) if _NUMBER.fullmatch(text) else _NOTHING,
    float: _float,
    Literal: lambda text, kind: text if text in get_args(kind) else _NOTHING,
    tuple[str, ...]: lambda text, kind: tuple(text.split("/")) if text else (),
    Path: lambda text, kind: Path(text) if text else _NOTHING,
    str: lambda text, kind: text,
}
"""How each type is read, the narrower ones first."""
_WORDS = {
    NoneType: "none", bool: "true or false", int: "a whole number", float: "a number", tuple[str, ...]: "names with / between them", Path: "a file",
    str: "a text",
}
