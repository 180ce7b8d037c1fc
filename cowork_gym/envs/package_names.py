"""Whatever a task package names must exist: services, tools, tables, rows, audit collections. What does not is told with the nearest choice."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from cowork_gym.core.errors import PackageError, ToolError, nearest
from cowork_gym.core.task import Execution
from cowork_gym.envs.blueprint import Blueprint
from cowork_gym.graders import Contract
from cowork_gym.graders.checks import Reference
from cowork_gym.mock_services.kit.service import Service

__all__ = ["check_calls", "check_contract", "choose_services", "choose_tools"]


def choose_services(names: Sequence[str], known: Mapping[str, type[Service]], path: Path) -> dict[str, type[Service]]:
    """The services that a task names.

    Raises:
        PackageError: One is unknown, or named twice.
    """
    for at, name in enumerate(names):
        if name not in known:
            raise PackageError(path, f"services[{at}]", f"unknown service {name!r}, {nearest(name, known)}")
    _refuse_repeats(names, "services", path)
    return {name: known[name] for name in names}


def choose_tools(names: Sequence[str], services: Mapping[str, type[Service]], path: Path) -> dict[str, dict[str, object]]:
    """The schemas of the tools that a task permits, by name.

    Raises:
        PackageError: One belongs to no service of the task, or is named twice.
    """
    tools = {name: tool for service in services.values() for name, tool in service.tools().items()}
    for at, name in enumerate(names):
        if name not in tools:
            raise PackageError(path, f"tools[{at}]", f"no service of the task has a tool {name!r}, {nearest(name, tools)}")
    _refuse_repeats(names, "tools", path)
    return {name: tools[name].schema for name in names}


def check_contract(contract: Contract, blueprint: Blueprint) -> None:
    """See that everything that a grading contract names exists in the task's world.

    Raises:
        PackageError: Something does not.
    """
    tools = {name for service in blueprint.services for name in service.tools()}
    for one in contract.references():
        forbidden = one.where.startswith("forbidden_tools")
        if one.what == "tool":
            _known(contract, one, "tool", one.name, tools if forbidden else blueprint.tools)
        elif one.what == "collection":
            _known(contract, one, "audit collection", one.name, _collections(blueprint))
        elif one.what in ("table", "row"):
            tables = {table.public: table for table in blueprint.tables.values()}
            _known(contract, one._replace(where=one.where.removesuffix("key").removesuffix("table") + "table"), "table", one.name, tables)
            if one.what == "row":
                _known(contract, one, f"record of {one.name}", one.key, blueprint.reader.rows(tables[one.name]))


def check_calls(executions: Iterable[Execution], blueprint: Blueprint, path: Path, *, valid: bool) -> None:
    """See that executions call permitted tools.

    Args:
        executions: References or negatives.
        blueprint: Of the task's worlds.
        path: Their file, for errors.
        valid: Whether the arguments must be right too. A negative may be wrong on purpose, but not about a tool's name.

    Raises:
        PackageError: A call is not as required.
    """
    for at, execution in enumerate(executions):
        for turn, action in enumerate(action for action in execution.actions if action.tool_calls):
            where = f"executions[{at}] ({execution.name}).turns[{turn}]"
            for call in action.tool_calls:
                if call.name not in blueprint.tools:
                    raise PackageError(path, where, f"the task permits no tool {call.name!r}, {nearest(call.name, blueprint.tools)}")
                try:
                    blueprint.tools[call.name].tool.validate(call.decoded()) if valid else None
                except ToolError as error:
                    raise PackageError(path, where, str(error)) from None


def _collections(blueprint: Blueprint) -> set[str]:
    audited = {f"{service.name}.{tool.audit}" for service in blueprint.services for tool in service.tools().values() if tool.audit}
    return audited | set(blueprint.aliases)


def _known(contract: Contract, one: Reference, what: str, name: str, choices: Iterable[str]) -> None:
    if name not in choices:
        raise PackageError(contract.path, one.where, f"no {what} {name!r}, {nearest(name, choices)}")


def _refuse_repeats(names: Sequence[str], field: str, path: Path) -> None:
    for at, name in enumerate(names):
        if name in names[:at]:
            raise PackageError(path, f"{field}[{at}]", f"{name!r} is listed twice")
