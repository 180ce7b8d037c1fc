"""The gate `leaks`: the request gives away neither records that are to be found nor answers that are to be worked out."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cowork_gym.core.canonical import encode
from cowork_gym.core.wording import counted
from cowork_gym.graders.matchers.folding import normalise
from cowork_gym.synthesis.gates.gate import Gate, Problem
from cowork_gym.synthesis.gates.subject import Subject
from cowork_gym.synthesis.identifiers import Identifiers, texts_in

__all__ = ["LEAKS"]

_EXPECTING = ("commands", "contains", "contains_all", "contains_any", "date", "duration", "equals", "mentions_number", "number", "one_of",
              "sequence", "set", "text")
_COMPOUND = ("all", "any", "json")
_LINES = ("form", "labelled")
_GROUPS = re.compile(r"(?<=\d),(?=\d{3})")
"""The comma between a number's thousands."""
_LEAST = 4
"""Characters from which a value is so special that it does not stand in a request by chance."""


def _examine(subject: Subject) -> tuple[tuple[Problem, ...], tuple[str, ...]]:
    task, identifiers = subject.task, subject.identifiers
    public = _public(subject)
    sought = {one for value in (*_written(subject), task.grading) for text in texts_in(value) for one in identifiers.known(text)}
    given = frozenset(task.given)
    values = sorted({(label, one) for label, one in _values(task.grading) if one not in given | identifiers.keys})
    problems = (*_identifiers(public, sought - given, identifiers), *_answers(public, values), *_idle(task.given, public))
    return problems, (
        f"{counted(len(sought), 'identifier')} and {counted(len(values), 'expected value')} looked for in {counted(len(public), 'public text')}",
        f"given on purpose: {', '.join(task.given) or 'none'}",
    )


def _public(subject: Subject) -> Mapping[str, str]:
    """What every agent reads without a call, by its place."""
    task = subject.task
    stages = {f"stages.yaml: stages[{at}].request": one.request for at, one in enumerate(task.stages)}
    tools = {f"the schema of {name}": encode(schema) for name, schema in task.contracts.items()}
    return {"task.yaml: request": task.request, **stages, **tools}


def _written(subject: Subject) -> Iterator[Any]:
    for reference in subject.task.references:
        for action in reference.actions:
            yield action.content or ""
            yield from (call.decoded() for call in action.tool_calls)


def _identifiers(public: Mapping[str, str], sought: set[str], identifiers: Identifiers) -> Iterator[Problem]:
    for place, text in public.items():
        for one in sorted(identifiers.known(text) & sought):
            advice = f"describe the record instead, or list {one} under `given` when the request names it on purpose"
            yield Problem(place, f"names {one}, which is to be found out", advice)


def _answers(public: Mapping[str, str], values: Sequence[tuple[str, str]]) -> Iterator[Problem]:
    for place, text in public.items():
        if place.startswith("the schema"):
            continue
        folded, lines = _GROUPS.sub("", normalise(text)), {normalise(line).rstrip(".") for line in text.splitlines()}
        for label, value in values:
            stands = _special(value) and _stands(normalise(value), folded)
            if stands or (label and f"{normalise(label)}: {normalise(value)}" in lines):
                advice = "ask for it without saying what it is, or list it under `given` when it is no part of the work"
                yield Problem(place, f"says {value!r}, which is the answer that is expected{f' under {label!r}' if label else ''}", advice)


def _idle(given: Sequence[str], public: Mapping[str, str]) -> Iterator[Problem]:
    texts = [normalise(text) for text in public.values()]
    for one in given:
        if not any(_stands(normalise(one), text) for text in texts):
            yield Problem("task.yaml: given", f"{one} is given, and no request names it", "take it out of the list")


def _special(value: str) -> bool:
    return len(value) >= _LEAST and any(letter.isdigit() for letter in value)


def _stands(value: str, text: str) -> bool:
    """Whether a value stands in a text by itself, and not as a part of a longer word or number."""
    at = text.find(value)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(value) : at + len(value) + 1]
        if not (before.isalnum() and before.isascii()) and not (after.isalnum() and after.isascii()):
            return True
        at = text.find(value, at + 1)
    return False


def _values(grading: Any) -> Iterator[tuple[str, str]]:
    """What answers and forms are expected to say, each with its label, if it has one."""
    if isinstance(grading, Mapping):
        for name, value in grading.items():
            if name in _LINES and isinstance(value, Mapping):
                for label, matcher in value.items():
                    yield from ((str(label), one) for one in _expected(matcher))
            elif name == "matches" and grading.get("kind") == "answer":
                yield from (("", one) for one in _expected(value))
                yield from _values(value)
            else:
                yield from _values(value)
    elif isinstance(grading, Sequence) and not isinstance(grading, str):
        for item in grading:
            yield from _values(item)


def _expected(matcher: Any) -> Iterator[str]:
    """The values that a matcher asks for; what it refuses, and expressions, say no value."""
    if not isinstance(matcher, Mapping):
        yield from _scalars(matcher)
        return
    for name, value in matcher.items():
        if name in _EXPECTING:
            yield from _scalars(value)
        elif name in _COMPOUND:
            for part in value if isinstance(value, list | tuple) else [value]:
                yield from _expected(part)
        elif name == "fields" and isinstance(value, Mapping):
            for part in value.values():
                yield from _expected(part)


def _scalars(value: Any) -> Iterator[str]:
    for one in value if isinstance(value, list | tuple) else [value]:
        if one is not None and not isinstance(one, bool | Mapping):
            yield str(one)


LEAKS = Gate("leaks", "What is to be found out stands in no request and no tool's description.", _examine)
