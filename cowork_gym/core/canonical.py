"""Values as text: exact JSON in and out, one spelling for what is hashed, and the limits at the door."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, cast

from cowork_gym.core.errors import ErrorKind, ToolError

__all__ = [
    "MAX_DEPTH", "MAX_ID", "MAX_SIZE", "canonical", "check_id", "check_value", "decode", "digest", "encode", "exact", "plain", "read_number", "utf8",
]

MAX_DEPTH = 32
"""Levels of nesting that an agent's value may have."""
MAX_ID = 256
"""Characters that an id may have."""
MAX_SIZE = 256 * 1024
"""Characters and elements, together, that an agent's value may have."""

_BARE = {None: "null", True: "true", False: "false"}
_MAPPING = (dict, Mapping)  # tuples, and dict before its abstract class: these questions are asked of every value of every call
_SEQUENCE, _SETS, _FRACTION, _WHOLE = (list, tuple), (set, frozenset), (float, Decimal), (str, int)
_MANY = _SEQUENCE + _SETS


def canonical(value: Any) -> str:
    """JSON with sorted keys, every number exact and in one spelling, and bytes as their hash.

    Equal values have equal text: 33, 33.0 and Decimal("33.00") are all `33`.

    Raises:
        ValueError: A number is not finite.
        TypeError: A value has no JSON form.
    """
    if isinstance(value, str):
        return json.encoder.encode_basestring(value)
    if value is None or isinstance(value, bool):
        return _BARE[value]
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, _FRACTION):
        return _number(value if isinstance(value, Decimal) else Decimal(float.__repr__(value)))
    if isinstance(value, _MAPPING):
        return "{" + ",".join([f"{canonical(key)}:{canonical(value[key])}" for key in sorted(value)]) + "}"
    if isinstance(value, bytes):
        return canonical({"$sha256": hashlib.sha256(value).hexdigest()})
    if isinstance(value, _MANY):
        items = [canonical(item) for item in value]
        return "[" + ",".join(sorted(items) if isinstance(value, _SETS) else items) + "]"
    raise TypeError(f"no canonical form for {type(value).__name__}")


def _number(exact: Decimal) -> str:
    if not exact.is_finite():
        raise ValueError(f"not a number that can be kept: {exact}")
    if exact and abs(exact.adjusted()) > 40:  # in full it might be as long as one likes
        sign, digits, exponent = exact.as_tuple()
        written = "".join(map(str, digits)).lstrip("0")
        kept = written.rstrip("0")
        return f"{'-' * sign}{kept}E{int(exponent) + len(written) - len(kept)}"
    text = format(exact, "f") if exact else "0"
    return text.rstrip("0").rstrip(".") if "." in text else text


def digest(value: Any) -> str:
    """The sha256 of a value's canonical text, in hex."""
    return hashlib.sha256(utf8(canonical(value))).hexdigest()


def utf8(text: str) -> bytes:
    """JSON text as bytes. What an agent wrote may hold a lone surrogate: its escape is JSON as well. Two that make a pair are one letter."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass").encode("utf-8", "backslashreplace")


def encode(value: Any, *, sort_keys: bool = False) -> str:
    """Compact JSON for records and observations. Decimals keep every digit.

    Raises:
        ValueError: A number is not finite.
    """
    try:
        return (_SORTING if sort_keys else _ENCODER).encode(value)
    except _Inexact:
        return canonical(value)


class _Inexact(Exception):
    """A decimal with more digits than a double can carry."""


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        if value == value.to_integral_value() and value.adjusted() < 16:
            return int(value)
        if len(value.as_tuple().digits) > 15:  # a double's shortest text gives back 15 digits, always
            raise _Inexact
        return float(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"no JSON form for {type(value).__name__}")


def _encoder(sort_keys: bool) -> json.JSONEncoder:
    return json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, sort_keys=sort_keys, default=_plain, check_circular=False)


_ENCODER, _SORTING = _encoder(False), _encoder(True)


def decode(text: str | bytes) -> Any:
    """JSON text as a value, fractions as exact decimals, NaN and infinities refused.

    Raises:
        ValueError: The text is not JSON (or nested too deeply for the reader).
    """
    try:
        return _DECODER.decode(text if isinstance(text, str) else text.decode())
    except RecursionError:
        raise ValueError("nested too deeply") from None


def read_number(text: str) -> Decimal:
    """A JSON number with a fraction or an exponent, exactly.

    Raises:
        ValueError: Its exponent is beyond what a decimal can have.
    """
    try:
        return Decimal(text)
    except ArithmeticError:
        raise ValueError(f"{text[:40]} is not a number that can be kept") from None


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_float=read_number, parse_constant=_refuse)


def exact(value: Any) -> Any:
    """The value with floats as the decimals that they are spelled as, so that one value has one form; itself when it has none."""
    if value is None or isinstance(value, _WHOLE):
        return value
    if isinstance(value, float):
        return Decimal(float.__repr__(value))
    if isinstance(value, _MAPPING):
        return {key: exact(item) for key, item in value.items()}
    return [exact(item) for item in value] if isinstance(value, _SEQUENCE) else value


def check_value(value: Any, *, what: str = "value") -> None:
    """Refuse what cannot be stored or hashed, before it reaches a handler.

    Args:
        value: Anything an agent sent, already parsed.
        what: How the text names it.

    Raises:
        ToolError: A lone surrogate, NUL, NaN or infinity, a key that is no string, a type that is not JSON,
            more than `MAX_DEPTH` levels or `MAX_SIZE` characters and elements.
    """
    size, level, depth = 0, [value], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise ToolError(f"{what} is nested more than {MAX_DEPTH} levels deep", ErrorKind.VALIDATION)
        below: list[Any] = []
        for item in level:
            if isinstance(item, str):
                size += _check_text(item, what)
            else:
                size += 1
                below += _inside(item, what)
                if len(below) > MAX_SIZE:
                    break
        if size + len(below) > MAX_SIZE:
            raise ToolError(f"{what} is too large: more than {MAX_SIZE} characters", ErrorKind.VALIDATION)
        level = below


def plain(arguments: Mapping[str, Any], *, what: str) -> dict[str, Any]:
    """An agent's arguments as plain, exact values of their own.

    Args:
        arguments: Whatever mapping the agent sent.
        what: How the text names it.

    Raises:
        ToolError: They hold what `check_value` refuses, or raise when they are read, as a mapping of another package's may.
    """
    try:
        check_value(arguments, what=what)
        return cast(dict[str, Any], exact(arguments))
    except ToolError:
        raise
    except Exception as error:
        raise ToolError(f"{what} cannot be read: {type(error).__name__}", ErrorKind.VALIDATION) from error


def check_id(id: str | None, what: str) -> None:
    """Refuse an id that cannot be kept.

    Raises:
        ToolError: It is no safe text (see `check_value`), or longer than `MAX_ID` characters.
    """
    if id is not None:
        check_value(id, what=what)
        if len(id) > MAX_ID:
            raise ToolError(f"{what} is longer than {MAX_ID} characters", ErrorKind.VALIDATION)


def _inside(item: Any, what: str) -> Sequence[Any]:
    """What a value contains, keys included."""
    if isinstance(item, _MAPPING):
        if not all(isinstance(key, str) for key in item):
            raise ToolError(f"{what} has a key that is not a string", ErrorKind.VALIDATION)
        return [*item, *item.values()]
    if isinstance(item, _SEQUENCE):
        return item
    if item is not None:
        _check_number(item, what)
    return ()


def _check_text(text: str, what: str) -> int:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ToolError(f"{what} contains a lone surrogate, which is not text", ErrorKind.VALIDATION) from None
    if "\0" in text:
        raise ToolError(f"{what} contains a NUL character", ErrorKind.VALIDATION)
    return len(text)


def _check_number(item: Any, what: str) -> None:
    if isinstance(item, int):
        if not -(2**63) <= item < 2**63:
            raise ToolError(f"{what} contains an integer of more than 64 bits", ErrorKind.VALIDATION)
        return
    if not isinstance(item, _FRACTION):
        raise ToolError(f"{what} contains a {type(item).__name__}, which is not JSON", ErrorKind.VALIDATION)
    if not (item.is_finite() if isinstance(item, Decimal) else math.isfinite(item)):
        raise ToolError(f"{what} contains {item}, which is not a number", ErrorKind.VALIDATION)
    number = item if isinstance(item, Decimal) else Decimal(float.__repr__(item))
    if item and (abs(number.adjusted()) > 40 or len(number.as_tuple().digits) > 80):
        raise ToolError(f"{what} contains a number that cannot be kept exactly: {str(item)[:40]}", ErrorKind.VALIDATION)
