"""The gate `contracts`: what a tool's schema promises, its handler keeps."""

import dis
from collections.abc import Iterator
from functools import cache
from inspect import unwrap

from cowork_gym.core.canonical import canonical, encode
from cowork_gym.core.wording import counted
from cowork_gym.mock_services.kit.tools import Tool
from cowork_gym.synthesis.gates.gate import Gate, Problem
from cowork_gym.synthesis.gates.subject import Subject

__all__ = ["CONTRACTS"]

_EXEMPT = "no effect"


def _examine(subject: Subject) -> tuple[tuple[Problem, ...], tuple[str, ...]]:
    tools = {name: door.tool for name, door in subject.blueprint.tools.items()}
    results = dict.fromkeys((one.tool, encode(one.outcome)) for episode in subject.references for one in episode.ledger if not one.failed)
    problems = [*_schemas(subject, tools), *_idle(tools)]
    for name, text in results:
        if name in tools:
            problems += _misfits(tools[name], text)
    arguments = sum(len(tool.arguments) for tool in tools.values())
    return tuple(problems), (
        f"{counted(len(tools), 'schema')} with {counted(arguments, 'argument')}, {counted(len(results), 'different result')} of the references",
    )


def _schemas(subject: Subject, tools: dict[str, Tool]) -> Iterator[Problem]:
    for name, schema in subject.task.contracts.items():
        if name not in tools or canonical(schema) != canonical(tools[name].schema):
            found = "the task's schema is another one than that of the tool that answers"
            yield Problem(f"tool {name}", found, "load the package again; a release is to be made anew when a tool changes")


def _idle(tools: dict[str, Tool]) -> Iterator[Problem]:
    for tool in tools.values():
        unread = [one for one in tool.arguments if one not in _read_by(tool)]
        for name in unread:
            if _EXEMPT not in tool.parameters["properties"][name].get("description", "").lower():
                advice = f"give it an effect, take it out, or say `{_EXEMPT}` where it is described"
                yield Problem(f"tool {tool.name}", f"the handler never looks at its argument {name!r}", advice)


def _misfits(tool: Tool, text: str) -> Iterator[Problem]:
    try:
        tool.check_result(text)
    except ValueError as error:
        yield Problem(f"tool {tool.name}", f"a result does not fit the return annotation: {str(error)[:300]}", "mend the handler or the annotation")


@cache
def _read_by(tool: Tool) -> frozenset[str]:
    """The names that a handler reads, functions within it included; all arguments where that cannot be told."""
    code = getattr(unwrap(tool.function), "__code__", None)
    if code is None or "locals" in code.co_names:
        return frozenset(tool.arguments)
    names, codes = set[str](), [code]
    while codes:
        for one in dis.get_instructions(codes.pop()):
            if hasattr(one.argval, "co_code"):
                codes.append(one.argval)
            elif one.opname.startswith("LOAD"):
                names |= set(one.argval) if isinstance(one.argval, tuple) else {str(one.argval)}
    return frozenset(names)


CONTRACTS = Gate("contracts", "Tools have the schemas that the task shows, use each argument, return what they promise.", _examine, once=True)
