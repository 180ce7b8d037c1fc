"""Mutants of checks: each asks for a little less than the check does. A good set of recorded executions tells all of them from the check."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, NamedTuple, TypeVar

from cowork_gym.graders.checks import Allowance, AuditRecord, Check, Event, Order, ToolCalled, Unchanged
from cowork_gym.graders.matchers import AllOf, AnyOf, ContainsAll, Fields, Json, Labelled, Matcher, MentionsNumber, NotThat, Number

__all__ = ["Mutant", "weakened"]

_Item = TypeVar("_Item")
_ANYTHING = AllOf(())
_WIDER = Decimal("0.1")
"""The share of a number by which its tolerance grows."""


class Mutant(NamedTuple):
    """A check that asks for less."""

    what: str
    """What it no longer asks for, such as `fields.status`."""
    check: Check
    whole: bool
    """Whether it is a whole field, argument or line that is no longer asked for."""


class _Looser(NamedTuple):
    at: str
    matcher: Matcher
    whole: bool


def weakened(check: Check) -> Iterator[Mutant]:
    """The check with one thing less in it, for each thing that it asks for."""
    for name in type(check).model_fields:
        value = getattr(check, name)
        if _is_matcher(value):
            for one in _looser(value):
                yield _mutant(check, f"{name}{one.at}", {name: one.matcher}, whole=one.whole)
        elif isinstance(value, dict):
            for at, changed, whole in _fewer(value):
                yield _mutant(check, f"{name}{at}", {name: changed}, whole=whole)
    yield from _of_kind(check)
    if check.stage is not None:
        yield _mutant(check, f"stage {check.stage}", {"stage": None})


def _mutant(check: Check, what: str, update: Mapping[str, Any], *, whole: bool = False) -> Mutant:
    return Mutant(what, check.model_copy(update=update), whole)


def _of_kind(check: Check) -> Iterator[Mutant]:
    """What only some kinds have: counts, events, allowances, and what has to come first."""
    if isinstance(check, AuditRecord):
        if check.max is not None:
            yield _mutant(check, f"max {check.max}", {"max": None})
        if check.min > 1:
            yield _mutant(check, f"min {check.min}", {"min": 1})
    elif isinstance(check, ToolCalled) and check.min_calls > 1:
        yield _mutant(check, f"min_calls {check.min_calls}", {"min_calls": 1})
    elif isinstance(check, Order):
        for what, events in _fewer_events(check.events):
            yield _mutant(check, what, {"events": events})
    elif isinstance(check, Unchanged):
        for what, allow in _wider_allowances(check.allow):
            yield _mutant(check, what, {"allow": allow})
    elif getattr(check, "before", None) is not None:
        yield _mutant(check, "before", {"before": None})


def _fewer_events(events: tuple[Event, ...]) -> Iterator[tuple[str, tuple[Event, ...]]]:
    for at, event in enumerate(events):
        yield f"events[{at}]", (*events[:at], *events[at + 1 :])
        for inner, arguments, _ in _fewer(event.arguments):
            yield f"events[{at}].arguments{inner}", (*events[:at], event.model_copy(update={"arguments": arguments}), *events[at + 1 :])


def _wider_allowances(allow: tuple[Allowance, ...]) -> Iterator[tuple[str, tuple[Allowance, ...]]]:
    for at, one in enumerate(allow):
        for name, wide in (("key", None), ("fields", None), ("change", "any")):
            if getattr(one, name) != wide:
                yield f"allow[{at}].{name}", (*allow[:at], one.model_copy(update={name: wide}), *allow[at + 1 :])


def _fewer(fields: Mapping[str, Matcher]) -> Iterator[tuple[str, dict[str, Matcher], bool]]:
    """Named matchers with one of them asking for nothing, or for less."""
    for name, matcher in fields.items():
        yield f".{name}", {**fields, name: _ANYTHING}, True
        for one in _looser(matcher):
            yield f".{name}{one.at}", {**fields, name: one.matcher}, one.whole


def _looser(matcher: Matcher) -> Iterator[_Looser]:
    """The matcher asking for one thing less."""
    match matcher:
        case AllOf(parts) | AnyOf(parts):
            yield from _parts(matcher, parts)
        case Json(part):
            yield from (_Looser(f".json{one.at}", Json(one.matcher), one.whole) for one in _looser(part))
        case Fields(fields):
            yield from (_Looser(at, Fields(fewer), whole) for at, fewer, whole in _fewer(fields))
        case Labelled():
            yield from _lines(matcher)
        case ContainsAll(needles) if len(needles) > 1:
            yield from (_Looser(f".contains {one!r}", ContainsAll(rest), False) for one, rest in _without_one(needles))
        case Number() | MentionsNumber():
            more = max(abs(matcher.expected) * _WIDER, Decimal(1))
            yield _Looser(" tolerance", replace(matcher, tolerance=matcher.tolerance + more), False)
        case NotThat():
            yield _Looser(".not", _ANYTHING, False)


def _lines(matcher: Labelled) -> Iterator[_Looser]:
    yield from (_Looser(at, Labelled(fewer, matcher.only), whole) for at, fewer, whole in _fewer(matcher.lines))
    if matcher.only:
        yield _Looser(" as a form", Labelled(matcher.lines), False)


def _parts(matcher: AllOf | AnyOf, parts: tuple[Matcher, ...]) -> Iterator[_Looser]:
    for at, part in enumerate(parts):
        for one in _looser(part):
            yield _Looser(f"[{at}]{one.at}", replace(matcher, parts=(*parts[:at], one.matcher, *parts[at + 1 :])), one.whole)
    if isinstance(matcher, AllOf) and len(parts) > 1:
        yield from (_Looser(f"[{at}]", AllOf(rest), False) for at, (_, rest) in enumerate(_without_one(parts)))


def _without_one(items: tuple[_Item, ...]) -> Iterator[tuple[_Item, tuple[_Item, ...]]]:
    for at, one in enumerate(items):
        yield one, (*items[:at], *items[at + 1 :])


def _is_matcher(value: Any) -> bool:
    return callable(getattr(value, "matches", None)) and callable(getattr(value, "describe", None))
