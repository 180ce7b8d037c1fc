"""Executions with one wrong value in them: what a write says, or a line of the answer, is replaced by something of the same kind."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from cowork_gym.core.canonical import decode, encode
from cowork_gym.core.task import Execution
from cowork_gym.synthesis.derived import Path, calls_of, leaves, put, rewritten

__all__ = ["spoiled"]

_WRONG = "unknown"
_MOST = 60
"""Executions that are made of one."""
_LINE = re.compile(r"^(\W*[^:\n]{1,80}:\W*)(\S.*)$")
"""A labelled line: what stands before its value, and the value."""
_FACT = re.compile(r"[\w.,@-]*\d[\w.,@-]*")
"""A word with a digit in it: a number, a date, an id."""
_MOMENT = re.compile(r"(?P<day>\d{4}-\d\d-\d\d)(?P<time>T\d\d:\d\d(?::\d\d)?)?(?P<zone>Z|[+-]\d\d:\d\d|)")


def spoiled(execution: Execution, writes: Collection[int], schemas: Mapping[str, Mapping[str, Any]]) -> tuple[Execution, ...]:
    """Executions that say one thing wrong.

    Args:
        execution: The right one.
        writes: The numbers of the calls that write.
        schemas: The schemas of the tools' arguments, by tool.
    """
    found = [*_wrong_texts(execution), *_wrong_calls(execution, writes, schemas)]
    return tuple(found[:_MOST])


def _wrong_calls(execution: Execution, writes: Collection[int], schemas: Mapping[str, Mapping[str, Any]]) -> Iterator[Execution]:
    for number, call in enumerate(calls_of(execution)):
        if number not in writes:
            continue
        arguments, forms = call.decoded(), schemas.get(call.name, {}).get("properties", {})
        for path, value in leaves(arguments):
            for at, wrong in enumerate(_wrong(value, forms.get(str(path[0]), {}))):
                name = f"spoil:{number} {call.name}.{'.'.join(map(str, path))} {at}"
                yield rewritten(execution, name, _putting(number, path, wrong))


def _putting(number: int, path: Path, value: Any) -> Any:
    return lambda at, call: [replace(call, arguments=put(call.decoded(), path, value)) if at == number else call]


def _wrong_texts(execution: Execution) -> Iterator[Execution]:
    for at, action in enumerate(execution.actions):
        if action.content and not action.tool_calls:
            for number, text in enumerate(_wrong_text(action.content)):
                actions = (*execution.actions[:at], replace(action, content=text), *execution.actions[at + 1 :])
                yield replace(execution, name=f"{execution.name}/spoil:message {at}, {number}", actions=actions)


def _wrong(value: Any, form: Mapping[str, Any]) -> Iterator[Any]:
    """Wrong values of the same kind."""
    choices = form.get("enum") or next((one["enum"] for one in form.get("anyOf", ()) if "enum" in one), None)
    if choices:
        yield from [one for one in choices if one != value][:1]
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float | Decimal):
        yield value * 2 + 1
    elif isinstance(value, str):
        yield from _wrong_text(value)


def _wrong_text(text: str) -> Iterator[str]:
    if moments := [*_other_times(text)]:
        yield from moments
    elif isinstance(told := _json(text), Mapping | list):
        for path, value in leaves(told):
            for wrong in _wrong(value, {}):
                yield encode(put(told, path, wrong))
    else:
        yield from dict.fromkeys(_wrong_lines(text))


def _wrong_lines(text: str) -> Iterator[str]:
    """The text with one labelled value, one fact, or one whole line replaced."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        facts = [f"{line[: one.start()]}{_WRONG}{line[one.end() :]}" for one in _FACT.finditer(line)]
        labelled = _LINE.match(line)
        whole = [f"{labelled[1]}{_WRONG}"] if labelled else [_WRONG] if line.strip() else []
        for wrong in [*whole, *([] if labelled and len(facts) == 1 else facts)]:
            yield "\n".join([*lines[:at], wrong, *lines[at + 1 :]])


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
