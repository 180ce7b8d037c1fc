"""The verb `check`: a task package is read and played, a service is called from all sides."""

import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cowork_gym.cli.apart import apart
from cowork_gym.cli.document import print_document
from cowork_gym.core.errors import UserError

if TYPE_CHECKING:
    from cowork_gym.mock_services.kit import Service
    from cowork_gym.testing import Finding

__all__ = ["add_to", "check"]


def add_to(app: typer.Typer) -> None:
    """Add the verb to the command."""
    app.command("check", epilog="Example: cowork check envs/catalog/M1100_at_risk_key_rotation")(check)


def check(
    path: Annotated[str, typer.Argument(metavar="PATH", help="A task package, an environment id, a service's module, or the folder that it is in.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Check a task package or a service.

    Of a package, every file must be in order, references must earn 1 and negatives no more than their bound. A service's code is run.
    Exit code 1 says that something fell short, 2 that something cannot be used at all.
    """
    if not path.strip():
        raise UserError("PATH is empty; write . for the folder that you are in")
    with apart(as_json):
        modules = _modules(Path(path))
        name, findings = _check_services(modules) if modules else _check_package(path)
    passed = all(one.passed for one in findings)
    if as_json:
        rows = [{"name": one.name, "passed": one.passed, "detail": one.detail} for one in findings]
        print_document({"checked": name, "passed": passed, "findings": rows})
    else:
        _show(name, findings)
    if not passed:
        raise typer.Exit(1)


def _check_package(path: str) -> tuple[str, list["Finding"]]:
    from cowork_gym.envs.registration import REGISTRY
    from cowork_gym.testing import check_task

    namespaces = {id.partition("/")[0] for id in REGISTRY.tasks()}
    if "/" in path and path.partition("/")[0] not in namespaces and not Path(path).exists():
        raise UserError(f"{path}: no such file or folder")
    report = check_task(path)
    return report.release_id, [*report.findings]


def _check_services(modules: list[Path]) -> tuple[str, list["Finding"]]:
    from cowork_gym.testing import Finding, check_service

    findings = []
    for service in (one for module in modules for one in _services(module)):
        try:
            check_service(service)
            findings.append(Finding(f"service {service.name}", True, f"{len(service.tools())} tools keep what every tool promises"))
        except AssertionError as error:
            findings.append(Finding(f"service {service.__name__}", False, str(error)))
    if not findings:
        raise UserError(f"{', '.join(map(str, modules))}: there is no subclass of Service in it")
    return ", ".join(map(str, modules)), findings


def _modules(path: Path) -> list[Path]:
    """The Python modules that a person means; none when it is about a task package."""
    if path.suffix == ".py" and path.is_file():
        return [path]
    if not path.is_dir() or (path / "task.yaml").exists():
        return []
    return sorted(one for one in path.glob("*.py") if not one.name.startswith(("test_", "_", "conftest")))


def _services(path: Path) -> Iterator[type["Service"]]:
    """The services that a module defines.

    Raises:
        UserError: The module cannot be imported.
    """
    from cowork_gym.mock_services.kit import Service

    name = f"_checked_{path.stem}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UserError(f"{path}: not a Python module")
    module = module_from_spec(spec)
    sys.modules[name] = module  # where typing looks the annotations up
    try:
        spec.loader.exec_module(module)
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    except (Exception, SystemExit) as error:
        raise UserError(f"{path}: cannot be imported: {type(error).__name__}: {error}") from error
    yield from (one for one in vars(module).values() if isinstance(one, type) and issubclass(one, Service) and one.__module__ == name)


def _show(name: str, findings: list["Finding"]) -> None:
    from rich.text import Text

    from cowork_gym.cli.display import open_screen, show_table

    screen, fell_short = open_screen(), sum(not one.passed for one in findings)
    screen.print(Text(name, "bold"), soft_wrap=True)
    rows: list[list[str | Text]] = [[one.name, Text("pass", "green") if one.passed else Text("fail", "red"), one.detail] for one in findings]
    show_table(screen, ["finding", "verdict", "detail"], rows)
    screen.print(Text(f"{fell_short} of {len(findings)} fell short", "bold red") if fell_short else Text("all is in order", "bold green"))
