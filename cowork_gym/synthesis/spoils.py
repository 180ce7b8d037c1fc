"""Executions with one wrong value in them: what a write says, or a line of a message, is replaced by something of the same kind."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from cowork_gym.core.canonical import decode, encode
from cowork_gym.core.task import Execution
from cowork_gym.synthesis.derived import Path, calls_of, leaves, put, rewritten

__all__ = ["Spoil", "spoiled"]

_WRONG = "unknown"
_STRANGER = "somebody.else@elsewhere.example"
_MOST = 150
"""Executions that are made of one."""
_LINE = re.compile(r"^(\W*([^:：\n]{1,80})[:：]\W*)(\S.*)$")
"""A labelled line: what stands before its value, the label in it, and the value."""
_MAIL = re.compile(r"[^@\s<>,;]+@[^@\s<>,;]+")
_FACT = re.compile(r"[\w.,@-]*\d[\w.,@-]*|(?<=\d )[A-Z]\b")
"""A word with a digit in it: a number, a date, an id. And the letter after one, as in `OF-2207 B`."""
_NUMBER = re.compile(r"-?\d{1,15}(?:,\d{3})*(?:\.\d{1,6})?")
_MOMENT = re.compile(r"(?P<day>\d{4}-\d\d-\d\d)(?P<time>T\d\d:\d\d(?::\d\d)?)?(?P<zone>Z|[+-]\d\d:\d\d|)")


class Spoil(NamedTuple):
    """An execution that says one thing wrong."""

    execution: Execution
    where: str
    """Such as `call 7 (todo_create_task.title)`, or `message 4`."""
    replaced: str | None
    """The text that the wrong one stands for: a label with its colon, a line, a fact in it. None where it is no text."""
    call: int | None
    """The number of the call; None where it is a message."""
    path: Path = ()
    value: Any = None
    """What stands there now."""


class _Wrong(NamedTuple):
    value: Any
    replaced: str | None = None


def spoiled(execution: Execution, writes: Collection[int], schemas: Mapping[str, Mapping[str, Any]]) -> tuple[Spoil, ...]:
    """What says one thing wrong.

    Args:
        execution: The right one.
        writes: The numbers of the calls that write.
        schemas: The schemas of the tools' arguments, by tool.
    """
    found = [*_wrong_messages(execution), *_wrong_calls(execution, writes, schemas)]
    return tuple(found[:_MOST])


def _wrong_calls(execution: Execution, writes: Collection[int], schemas: Mapping[str, Mapping[str, Any]]) -> Iterator[Spoil]:
    for number, call in enumerate(calls_of(execution)):
        if number not in writes:
            continue
        arguments, forms = call.decoded(), schemas.get(call.name, {}).get("properties", {})
        for path, value in leaves(arguments):
            place = f"{call.name}.{'.'.join(map(str, path))}"
            for at, wrong in enumerate(_wrong(value, forms.get(str(path[0]), {}))):
                other = rewritten(execution, f"spoil:{number} {place} {at}", _putting(number, path, wrong.value))
                yield Spoil(other, f"call {number} ({place})", wrong.replaced, number, path, wrong.value)


def _putting(number: int, path: Path, value: Any) -> Any:
    return lambda at, call: [replace(call, arguments=put(call.decoded(), path, value)) if at == number else call]


def _wrong_messages(execution: Execution) -> Iterator[Spoil]:
    for at, action in enumerate(execution.actions):
        if action.content and not action.tool_calls:
            for number, wrong in enumerate(_wrong_text(action.content)):
                actions = (*execution.actions[:at], replace(action, content=wrong.value), *execution.actions[at + 1 :])
                other = replace(execution, name=f"{execution.name}/spoil:message {at}, {number}", actions=actions)
                yield Spoil(other, f"message {at}", wrong.replaced, None)


def _wrong(value: Any, form: Mapping[str, Any]) -> Iterator[_Wrong]:
    """Wrong values of the same kind."""
    choices = form.get("enum") or next((one["enum"] for one in form.get("anyOf", ()) if "enum" in one), None)
    if choices:
        yield from [_Wrong(one) for one in choices if one != value][:1]
    elif isinstance(value, bool):
        yield _Wrong(not value)
    elif isinstance(value, int | float | Decimal):
        yield _Wrong(value * 2 + 1)
    elif isinstance(value, str):
        yield from _wrong_text(value)


def _wrong_text(text: str) -> Iterator[_Wrong]:
    if moments := [*_other_times(text)]:
        yield from map(_Wrong, moments)
    elif _MAIL.fullmatch(text):
        yield from map(_Wrong, (_STRANGER, f"{text}, {_STRANGER}"))
    elif isinstance(told := _json(text), Mapping | list):
        for path, value in leaves(told):
            for wrong in _wrong(value, {}):
                yield _Wrong(encode(put(told, path, wrong.value)), wrong.replaced)
    else:
        yield from {one.value: one for one in _wrong_lines(text)}.values()


def _wrong_lines(text: str) -> Iterator[_Wrong]:
    """The text with one labelled value, one fact, or one whole line replaced, or a labelled value told both ways."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        labelled = _LINE.match(line)
        label = labelled and f"{labelled[2].strip()}:"
        whole = [_Wrong(_WRONG, line)] if line.strip() else []
        if labelled:
            whole = [_Wrong(f"{labelled[1]}{_WRONG}", label), _Wrong(f"{line} or {_WRONG}", label)]
        facts = [_Wrong(f"{line[: one.start()]}{_other_fact(one[0])}{line[one.end() :]}", label or one[0]) for one in _FACT.finditer(line)]
        for wrong in [*whole, *facts]:
            yield _Wrong("\n".join([*lines[:at], wrong.value, *lines[at + 1 :]]), wrong.replaced)


def _other_fact(fact: str) -> str:
    """A number that is nearly the same, or the day after: who looks only roughly takes it for the right one."""
    ends = fact.rstrip(".,")
    if _NUMBER.fullmatch(ends):
        return f"{Decimal(ends.replace(',', '')) + 1}{fact[len(ends) :]}"
    return next(reversed([*_other_times(ends)]), _WRONG)


def _other_times(text: str) -> Iterator[str]:
    """A day, a day earlier and later; a moment, a quarter of an hour, so that what begins still ends later. Nothing for other texts."""
    moment = _MOMENT.fullmatch(text)
    if moment is None:
        return
    step = timedelta(minutes=15) if moment["time"] else timedelta(1)
    try:
        written = datetime.fromisoformat(moment["day"] + (moment["time"] or ""))
        for other in (written - step, written + step):
            yield other.isoformat(timespec="auto")[: len(text) - len(moment["zone"])] + moment["zone"]
    except (ValueError, OverflowError):
        return


def _json(text: str) -> Any:
    try:
        return decode(text)
    except ValueError:
        return None
