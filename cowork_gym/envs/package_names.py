"""Whatever a task package names must exist: services, tools, tables, rows, audit collections. What does not is told with the nearest choice."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from cowork_gym.core.errors import PackageError, ToolError, nearest
from cowork_gym.core.messages import ToolCall
from cowork_gym.core.task import Execution, PlannedFault
from cowork_gym.envs.blueprint import Blueprint
from cowork_gym.envs.dialogue import Dialogue
from cowork_gym.envs.variation import Variation
from cowork_gym.graders import Contract
from cowork_gym.graders.checks import Asked
from cowork_gym.mock_services.kit.service import Service

__all__ = ["check_calls", "check_contract", "check_faults", "check_heard", "check_noise", "check_stages", "choose_services", "choose_tools"]

_OWN = "services of your own are seen when they are installed (entry point cowork_gym.services) or registered"


def choose_services(names: Sequence[str], known: Mapping[str, type[Service]], path: Path) -> dict[str, type[Service]]:
    """The services that a task names.

    Raises:
        PackageError: One is unknown, or named twice.
    """
    for at, name in enumerate(names):
        if name not in known:
            raise PackageError(path, f"services[{at}]", f"unknown service {name!r}, {nearest(name, known)}; {_OWN}")
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
    tools, rows = {name for service in blueprint.services for name in service.tools()}, blueprint.start_rows
    for one in contract.references():
        if one.what == "tool":
            _known(contract, one.where, "tool", one.name, tools if one.where.startswith("forbidden_tools") else blueprint.tools)
        elif one.what == "collection":
            _known(contract, one.where, "audit collection", one.name, _collections(blueprint))
        elif one.what != "file":
            _known(contract, f"{one.where.rpartition('.')[0]}.table", "table", one.name, rows)
        if one.what == "row":
            later = [each.key for given in blueprint.given for each in given if each.table == one.name]
            _known(contract, one.where, f"record of {one.name}", one.key, {*rows[one.name], *later})


def check_stages(contract: Contract, parts: int) -> None:
    """See that every check is asked of a part that the task has.

    Raises:
        PackageError: One is not.
    """
    for where, check in contract.placed():
        if check.stage is not None and check.stage > parts:
            raise PackageError(contract.path, f"{where}.stage", f"the task has {parts} part{'s' if parts > 1 else ''}, not {check.stage}")


def check_heard(contract: Contract, dialogue: Dialogue | None) -> None:
    """See that every fact that must be asked for is one that the user knows.

    Raises:
        PackageError: One is not.
    """
    known = [] if dialogue is None else [*dialogue.told_by]
    for where, check in contract.placed():
        if isinstance(check, Asked):
            _known(contract, f"{where}.fact", "fact", check.fact, known)


def check_noise(variation: Variation, blueprint: Blueprint, path: Path) -> None:
    """See that what seeds add records to is there.

    Raises:
        PackageError: A table is not.
    """
    tables = [table.public for table in blueprint.tables.values()]
    for at, noise in enumerate(variation.noise):
        if noise.table not in tables:
            raise PackageError(path, f"noise[{at}].table", f"no table {noise.table!r}, {nearest(noise.table, tables)}")


def check_faults(faults: Sequence[PlannedFault], blueprint: Blueprint, path: Path) -> None:
    """See that the calls that fail by plan can be made, and leave a trace where their answer is lost.

    Raises:
        PackageError: A tool is not permitted, a call fails twice, or a lost answer is that of a call without an audit record.
    """
    seen = set[tuple[str, int]]()
    for at, fault in enumerate(faults):
        where = f"faults[{at}]"
        if fault.tool not in blueprint.tools:
            raise PackageError(path, f"{where}.tool", f"the task permits no tool {fault.tool!r}, {nearest(fault.tool, blueprint.tools)}")
        if (fault.tool, fault.call) in seen:
            raise PackageError(path, where, f"call {fault.call} of {fault.tool} fails twice")
        seen.add((fault.tool, fault.call))
        if fault.kind == "timeout_after" and blueprint.tools[fault.tool].tool.audit is None:
            raise PackageError(path, f"{where}.kind", f"{fault.tool} writes no audit record, so nothing would tell that it did its work")


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
                if valid:
                    _check_arguments(call, blueprint, path, where)


def _check_arguments(call: ToolCall, blueprint: Blueprint, path: Path, where: str) -> None:
    try:
        blueprint.tools[call.name].tool.validate(call.decoded())
    except ToolError as error:
        raise PackageError(path, where, str(error)) from None


def _collections(blueprint: Blueprint) -> set[str]:
    audited = {f"{service.name}.{tool.audit}" for service in blueprint.services for tool in service.tools().values() if tool.audit}
    return audited | set(blueprint.aliases)


def _known(contract: Contract, where: str, what: str, name: str, choices: Collection[str]) -> None:
    if name not in choices:
        raise PackageError(contract.path, where, f"no {what} {name!r}, {nearest(name, choices)}")


def _refuse_repeats(names: Sequence[str], field: str, path: Path) -> None:
    for at, name in enumerate(names):
        if name in names[:at]:
            raise PackageError(path, f"{field}[{at}]", f"{name!r} is listed twice")
