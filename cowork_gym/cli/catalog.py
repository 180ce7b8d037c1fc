"""The verbs that tell what there is: `list` and `show`. Nothing of a task's private half is shown."""

import json
from dataclasses import asdict
from typing import Annotated, Any

import typer

from cowork_gym.cli.apart import apart
from cowork_gym.cli.complaint import complain
from cowork_gym.core.errors import UserError
from cowork_gym.core.task import Task

__all__ = ["add_to", "list_tasks", "show_task"]


def add_to(app: typer.Typer) -> None:
    """Add the verbs to the command."""
    app.command("list", epilog="Example: cowork list --json")(list_tasks)
    app.command("show", epilog="Example: cowork show M1100")(show_task)


def list_tasks(as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list of objects.")] = False) -> None:
    """List the tasks that can be played.

    Exit code 2 says that a package cannot be used; the others are listed all the same.
    """
    from cowork_gym.cli.display import open_screen, show_table

    with apart(as_json):
        tasks, problems = _load_tasks()
    if as_json:
        forms = [{"id": id, "title": one.title, "services": [*one.services], "difficulty": one.difficulty} for id, one in tasks.items()]
        print(json.dumps(forms, indent=2))
    else:
        rows = [[id, ", ".join(one.services), one.difficulty, one.title] for id, one in tasks.items()]
        show_table(open_screen(), ["id", "services", "difficulty", "title"], rows)
    for problem in problems:
        complain(problem)
    if problems:
        raise typer.Exit(2)


def _load_tasks() -> tuple[dict[str, Task], list[str]]:
    """The registered tasks that can be used, and what is wrong with the others."""
    from cowork_gym.envs.registration import REGISTRY, load_task

    tasks, problems = {}, []
    for id, folder in REGISTRY.tasks().items():
        try:
            tasks[id] = load_task(folder)
        except (UserError, OSError) as error:
            problems.append(f"{id}: {error}")
    return tasks, problems


def show_task(
    id: Annotated[str, typer.Argument(metavar="ID", help="An environment id, the part of it that says enough, or a package's folder.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, with the tools' schemas.")] = False,
) -> None:
    """Show what an agent may know of a task: its request, tools and budgets."""
    from rich.text import Text

    from cowork_gym.cli.display import open_screen, show_table
    from cowork_gym.envs.registration import load_task

    with apart(as_json):
        task = load_task(id)
    if as_json:
        print(json.dumps(_public(task), indent=2))
        return
    screen = open_screen()
    screen.print(Text(f"{task.id}: {task.title}", "bold"), soft_wrap=True)
    facts = {
        "release": task.release_id, "category": task.category, "difficulty": task.difficulty, "language": task.language,
        "capabilities": ", ".join(task.capabilities), "services": ", ".join(task.services), "day": task.mock_today.isoformat(),
        "budgets": ", ".join(f"{value} {name}" for name, value in asdict(task.budgets).items() if value is not None),
    }
    for name, value in facts.items():
        screen.print(Text(f"{name:<13}{value}"), soft_wrap=True) if value else None
    screen.print(Text(f"\n{task.request.strip()}\n"), soft_wrap=True)
    show_table(screen, ["tool", "what it does"], [[name, _description(task, name)] for name in task.tools])


def _public(task: Task) -> dict[str, Any]:
    """The public half as plain JSON values."""
    return {
        "id": task.id, "version": task.version, "release_id": task.release_id, "title": task.title, "category": task.category,
        "difficulty": task.difficulty, "language": task.language, "capabilities": [*task.capabilities], "services": [*task.services],
        "mock_today": task.mock_today.isoformat(), "budgets": asdict(task.budgets), "request": task.request,
        "tools": [task.contracts[name] for name in task.tools],
    }


def _description(task: Task, tool: str) -> str:
    return str(task.contracts[tool]["function"]["description"])
