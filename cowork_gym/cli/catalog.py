"""The verbs that tell what there is: `list` and `show`. Nothing of a task's private half is shown."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from cowork_gym.cli.apart import apart
from cowork_gym.cli.complaint import complain
from cowork_gym.cli.document import print_document
from cowork_gym.cli.given import named
from cowork_gym.core.errors import UserError
from cowork_gym.core.task import Task

if TYPE_CHECKING:
    from cowork_gym.benchmarks.suite import Suite

__all__ = ["add_to", "list_tasks", "show_task"]

_TABLE_WIDTH = 120
"""Columns from which on the list is a table."""


def add_to(app: typer.Typer) -> None:
    """Add the verbs to the command."""
    app.command("list", epilog="Example: cowork list --suite safety --json")(list_tasks)
    app.command("show", epilog="Example: cowork show M1100")(show_task)


def list_tasks(
    suite: Annotated[str | None, typer.Option("--suite", metavar="SUITE", callback=named, help="Only those of a suite: a name, or a file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list of objects.")] = False,
) -> None:
    """List the tasks that can be played.

    Exit code 2 says that a package cannot be used; the others are listed all the same.
    """
    from cowork_gym.benchmarks.suite import load_suite

    with apart(as_json):
        tasks, problems = _load_tasks(None if suite is None else load_suite(suite))
    if as_json:
        plain = ("title", "services", "difficulty", "category", "language")
        print_document([{"id": id, **{name: getattr(one, name) for name in plain}} for id, one in tasks.items()])
    else:
        _show_tasks(tasks)
    for problem in problems:
        complain(problem)
    if problems:
        raise typer.Exit(2)


def _show_tasks(tasks: Mapping[str, Task]) -> None:
    """A table; where it would be too narrow to read, two lines a task."""
    from rich.text import Text

    from cowork_gym.cli.display import open_screen, show_table

    screen = open_screen()
    if screen.width >= _TABLE_WIDTH:
        rows = [[id, one.category, one.language, one.difficulty, ", ".join(one.services), one.title] for id, one in tasks.items()]
        show_table(screen, ["id", "category", "language", "difficulty", "services", "title"], rows)
        return
    for id, one in tasks.items():
        facts = ", ".join(filter(None, [one.category, one.language, one.difficulty]))
        screen.print(Text(id, "bold").append(f"  {one.title}", "not bold"), soft_wrap=True)
        screen.print(Text(f"  {facts}; {', '.join(one.services)}", "dim"), soft_wrap=True)


def _load_tasks(suite: "Suite | None") -> tuple[dict[str, Task], list[str]]:
    """The registered tasks that can be used, or those of a suite, and what is wrong with the others."""
    from cowork_gym.envs.registration import REGISTRY, load_task

    tasks, problems = {}, []
    for id, folder in (REGISTRY.tasks() if suite is None else suite.candidates()).items():
        try:
            tasks[id] = load_task(folder)
        except (UserError, OSError) as error:
            problems.append(f"{id}: {error}")
    return {id: task for id, task in tasks.items() if suite is None or suite.takes(task)}, problems


def show_task(
    id: Annotated[str, typer.Argument(metavar="ID", help="An environment id, the part of it that says enough, or a package's folder.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, with the tools' schemas.")] = False,
) -> None:
    """Show what an agent may know of a task: its request, tools and budgets."""
    from rich.text import Text

    from cowork_gym.cli.display import open_screen, show_table
    from cowork_gym.envs.registration import load_task
    from cowork_gym.synthesis.card import card

    with apart(as_json):
        task = load_task(id)
    if as_json:
        print_document(card(task))
        return
    screen = open_screen()
    screen.print(Text(f"{task.id}: {task.title}", "bold"), soft_wrap=True)
    facts = {
        "release": task.release_id, "category": task.category, "difficulty": task.difficulty, "language": task.language,
        "capabilities": _graph(task), "topology": str(task.structure.topology), "deliverables": ", ".join(task.structure.deliverables),
        "hazards": ", ".join(task.structure.hazards), "services": ", ".join(task.services), "day": task.mock_today.isoformat(),
        "budgets": ", ".join(f"{value} {name}" for name, value in asdict(task.budgets).items() if value is not None),
    }
    for name, value in facts.items():
        screen.print(Text(f"{name:<13}{value}"), soft_wrap=True) if value else None
    screen.print(Text(f"\n{task.request.strip()}\n"), soft_wrap=True)
    show_table(screen, ["tool", "what it does"], [[name, _description(task, name)] for name in task.tools])


def _graph(task: Task) -> str:
    """The capability graph on one line, each capability behind those that it builds on: `discover, extract < discover`."""
    graph = task.structure.capabilities
    return ", ".join(f"{name} < {' + '.join(before)}" if before else str(name) for name, before in graph.items())


def _description(task: Task, tool: str) -> str:
    return str(task.contracts[tool]["function"]["description"])
