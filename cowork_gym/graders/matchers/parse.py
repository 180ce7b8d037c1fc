"""From YAML to matchers: a scalar or a list is meant literally, a mapping names its matchers."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from cowork_gym.core.errors import nearest
from cowork_gym.graders.matchers.compound import AllOf, AnyOf, Fields, Json, NotThat
from cowork_gym.graders.matchers.durations import Duration, read_duration
from cowork_gym.graders.matchers.folding import fold, normalise
from cowork_gym.graders.matchers.labels import Labelled
from cowork_gym.graders.matchers.matcher import Matcher, MatcherError, show
from cowork_gym.graders.matchers.patterns import compile_pattern
from cowork_gym.graders.matchers.sequences import Commands, NamesOf, SequenceOf
from cowork_gym.graders.matchers.texts import ContainsAll, ContainsAny, ContainsNone, Regex, Text
from cowork_gym.graders.matchers.values import Date, Equals, MentionsNumber, Number, OneOf, Present, SetOf, read_date
from cowork_gym.graders.numerals import exact

__all__ = ["MATCHERS", "parse_matcher"]

_TOLERANT = ("number", "mentions_number")


def parse_matcher(value: Any, at: str = "") -> Matcher:
    """A matcher from what its author wrote.

    Args:
        value: A scalar or a list, which is meant literally, or a mapping such as `{contains: refund}` or
            `{number: 33, tolerance: 0.5}`. Several matchers in one mapping must all match.
        at: Where it stands, seen from the field that holds it.

    Raises:
        MatcherError: It names no known matcher, or one that cannot take what it is given.
    """
    if not isinstance(value, Mapping):
        return _build("equals", value, {}, at)
    names = [name for name in value if name != "tolerance"]
    for name in names:
        if name not in MATCHERS:
            raise MatcherError(f"unknown matcher {name!r}: {nearest(str(name), MATCHERS)} (a mapping meant literally is {{equals: …}})", at)
    if not names:
        raise MatcherError(f"a mapping must name a matcher: {nearest('', MATCHERS)}", at)
    options = {name: value[name] for name in value if name == "tolerance"}
    if options and not any(name in _TOLERANT for name in names):
        raise MatcherError(f"tolerance goes with {' or '.join(_TOLERANT)} only", f"{at}.tolerance")
    parts = tuple(_build(name, value[name], options if name in _TOLERANT else {}, f"{at}.{name}") for name in names)
    return parts[0] if len(parts) == 1 else AllOf(parts)


def _build(name: str, value: Any, options: Mapping[str, Any], at: str) -> Matcher:
    try:
        return MATCHERS[name](value, at, **options)
    except MatcherError as error:
        raise MatcherError(str(error), error.at or at) from None


def _equals(value: Any, at: str) -> Matcher:
    return Equals(value)


def _number(value: Any, at: str, tolerance: Any = 0) -> Matcher:
    return Number(_exact(value), _tolerance(tolerance, at))


def _mentions_number(value: Any, at: str, tolerance: Any = 0) -> Matcher:
    return MentionsNumber(_exact(value), _tolerance(tolerance, at))


def _tolerance(value: Any, at: str) -> Decimal:
    found = exact(value)
    if found is None or found < 0:
        raise MatcherError(f"expected a number of 0 or more, not {show(value)}", f"{at.rpartition('.')[0]}.tolerance")
    return found


def _exact(value: Any) -> Decimal:
    found = exact(value)
    if found is None:
        raise MatcherError(f"expected a number, not {show(value)}")
    return found


def _text(value: Any, at: str) -> Matcher:
    return Text(_needle(value))


def _contains(value: Any, at: str) -> Matcher:
    return ContainsAll((_needle(value),))


def _contains_all(value: Any, at: str) -> Matcher:
    return ContainsAll(tuple(map(_needle, _items(value))))


def _contains_any(value: Any, at: str) -> Matcher:
    return ContainsAny(tuple(map(_needle, _items(value))))


def _contains_none(value: Any, at: str) -> Matcher:
    return ContainsNone(tuple(map(_needle, _items(value))))


def _regex(value: Any, at: str) -> Matcher:
    return Regex(compile_pattern(_string(value)))


def _duration(value: Any, at: str) -> Matcher:
    seconds = read_duration(_string(value))
    if seconds is None:
        raise MatcherError(f"expected a duration such as 36 hours, not {show(value)}")
    return Duration(value, seconds)


def _sequence(value: Any, at: str) -> Matcher:
    return SequenceOf(tuple(map(_needle, _items(value))))


def _names(value: Any, at: str) -> Matcher:
    return NamesOf(tuple(map(_needle, _items(value))))


def _commands(value: Any, at: str) -> Matcher:
    return Commands(tuple(map(_needle, _items(value))))


def _labelled(value: Any, at: str) -> Matcher:
    return Labelled(_lines(value, at))


def _form(value: Any, at: str) -> Matcher:
    return Labelled(_lines(value, at), only=True)


def _set(value: Any, at: str) -> Matcher:
    return SetOf(tuple(Equals(item).expected for item in _items(value, least=0)))


def _date(value: Any, at: str) -> Matcher:
    moment = read_date(value)
    if moment is None:
        raise MatcherError(f"expected an ISO 8601 date or time in quotes, not {show(value)}")
    return Date(moment)


def _one_of(value: Any, at: str) -> Matcher:
    return OneOf(tuple(Equals(item).expected for item in _items(value)))


def _json(value: Any, at: str) -> Matcher:
    return Json(parse_matcher(value, at))


def _present(value: Any, at: str) -> Matcher:
    if not isinstance(value, bool):
        raise MatcherError(f"expected true or false, not {show(value)}")
    return Present(value)


def _all(value: Any, at: str) -> Matcher:
    return AllOf(_matchers(value, at))


def _any(value: Any, at: str) -> Matcher:
    return AnyOf(_matchers(value, at))


def _not(value: Any, at: str) -> Matcher:
    return NotThat(parse_matcher(value, at))


def _fields(value: Any, at: str) -> Matcher:
    if not isinstance(value, Mapping) or not value or not all(isinstance(name, str) for name in value):
        raise MatcherError(f"expected a mapping of fields to matchers, not {show(value)}")
    return Fields({name: parse_matcher(value[name], f"{at}.{name}") for name in value})


def _lines(value: Any, at: str) -> Mapping[str, Matcher]:
    if not isinstance(value, Mapping) or not value:
        raise MatcherError(f"expected a mapping of labels to matchers, not {show(value)}")
    labels = [label if isinstance(label, str) else "" for label in value]
    for label, folded in zip(labels, map(normalise, labels), strict=True):
        if not folded or ":" in folded or [normalise(one) for one in labels].count(folded) > 1:
            raise MatcherError(f"expected labels without colon, each once, not {show(label)}")
    meant = {label: fold(value[label]) if isinstance(value[label], str) else value[label] for label in labels}  # as values are seen
    return {label: parse_matcher(meant[label], f"{at}.{label}") for label in labels}


def _matchers(value: Any, at: str) -> tuple[Matcher, ...]:
    return tuple(parse_matcher(item, f"{at}[{index}]") for index, item in enumerate(_items(value)))


def _items(value: Any, least: int = 1) -> list[Any]:
    if not isinstance(value, list | tuple) or len(value) < least:
        raise MatcherError(f"expected a list{' of one item or more' if least else ''}, not {show(value)}")
    return list(value)


def _string(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise MatcherError(f"expected a text, not {show(value)}")
    return value


def _needle(value: Any) -> str:
    if not normalise(_string(value)):
        raise MatcherError("a text of white space alone is in every text")
    return _string(value)


MATCHERS: Mapping[str, Callable[..., Matcher]] = {
    "all": _all, "any": _any, "commands": _commands, "contains": _contains, "contains_all": _contains_all, "contains_any": _contains_any,
    "contains_none": _contains_none, "date": _date, "duration": _duration, "equals": _equals, "fields": _fields, "form": _form,
    "json": _json, "labelled": _labelled, "mentions_number": _mentions_number, "names": _names, "not": _not, "number": _number,
    "one_of": _one_of, "present": _present, "regex": _regex, "sequence": _sequence, "set": _set, "text": _text,
}
"""What a mapping may name, and how each is read: a function of the value and of where it stands."""
