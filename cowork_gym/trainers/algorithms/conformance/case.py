"""One case of a file of numeric cases: its inputs, what is expected, and how a result is held against that."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

__all__ = ["Case", "Compute", "Readings", "Results", "difference"]

Results: TypeAlias = Mapping[str, Any | Callable[[], Any]]
"""Quantities by the name that expectations use. A function is called only when its quantity is expected."""
Compute: TypeAlias = Callable[[Mapping[str, Any]], Results]
"""From a case's inputs to every quantity that can be computed from them."""


@dataclass(frozen=True, slots=True)
class Readings:
    """What one quantity is under each reading that its name has, where the inputs do not say which is meant. One of them has to be met."""

    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """A case as its file has it."""

    name: str
    family: str
    inputs: Mapping[str, Any]
    expected: Mapping[str, Any]
    tolerance: float

    @classmethod
    def read(cls, form: Any) -> "Case":
        """A case from its JSON form; keys that are not needed may stand there.

        Raises:
            ValueError: It has not the keys of a case, or they are of other types.
        """
        kinds: Mapping[str, type | tuple[type, ...]] = {"name": str, "family": str, "inputs": dict, "expected": dict, "tolerance": (int, float)}
        if not isinstance(form, Mapping):
            raise ValueError("a case is an object")
        for name, kind in kinds.items():
            if name not in form:
                raise ValueError(f"{name} is missing")
            if not isinstance(form[name], kind) or isinstance(form[name], bool):
                raise ValueError(f"{name} cannot be of type {type(form[name]).__name__}")
        if not form["expected"]:
            raise ValueError("expected is empty: such a case could not fail")
        tolerance = float(form["tolerance"])
        if not 0 <= tolerance < math.inf:
            raise ValueError(f"tolerance is {tolerance}")
        return cls(form["name"], form["family"], form["inputs"], form["expected"], tolerance)


def difference(expected: Any, found: Any, tolerance: float, at: str = "") -> str | None:
    """Where a result differs from what is expected, in one line; None when it does not.

    Numbers may differ by the tolerance; a truth value counts as 0 or 1 beside a number. Tensors and arrays are compared as lists.
    """
    if isinstance(found, Readings):
        problems = [difference(expected, one, tolerance, at) for one in found.values]
        return None if None in problems else problems[0]
    if hasattr(found, "tolist"):
        found = found.tolist()
    if isinstance(expected, Mapping):
        if not isinstance(found, Mapping) or {*map(str, found)} != {*map(str, expected)}:
            return f"{at or 'value'}: expected the keys {sorted(map(str, expected))}, found {_brief(found)}"
        named = {str(key): value for key, value in found.items()}
        return _first(difference(value, named[str(key)], tolerance, f"{at}.{key}") for key, value in expected.items())
    if isinstance(expected, Sequence) and not isinstance(expected, str):
        if not isinstance(found, Sequence) or isinstance(found, str) or len(found) != len(expected):
            return f"{at or 'value'}: expected {_brief(expected)}, found {_brief(found)}"
        return _first(difference(one, other, tolerance, f"{at}[{number}]") for number, (one, other) in enumerate(zip(expected, found, strict=True)))
    if isinstance(expected, int | float) and isinstance(found, int | float):
        close = expected == found or abs(expected - found) <= tolerance
        return None if close else f"{at or 'value'}: expected {expected!r}, found {found!r}"
    if expected == found and (expected is None) is (found is None):
        return None
    return f"{at or 'value'}: expected {_brief(expected)}, found {_brief(found)}"


def _first(found: Any) -> str | None:
    return next((one for one in found if one is not None), None)


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 160 else f"{text[:157]}..."
