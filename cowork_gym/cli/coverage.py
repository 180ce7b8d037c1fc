"""The verb `coverage`: what the tasks of a suite cover, and what none of them does, as a table and a picture."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cowork_gym.cli.apart import apart
from cowork_gym.cli.document import print_document
from cowork_gym.core.errors import UserError
from cowork_gym.core.wording import counted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from cowork_gym.synthesis.coverage import Coverage

__all__ = ["add_to", "show_coverage"]

_WIDEST = 24
"""Characters of the longest bar."""


def add_to(app: typer.Typer) -> None:
    """Add the verb to the command."""
    app.command("coverage", epilog="Example: cowork coverage core --png coverage.png")(show_coverage)


def show_coverage(
    suite: Annotated[str, typer.Argument(metavar="SUITE", help="A suite's name, or the path of a suite's file.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    png: Annotated[Path | None, typer.Option("--png", metavar="FILE", help="Draw a picture, too; needs matplotlib.")] = None,
) -> None:
    """Show how many tasks of a suite show each capability, service, hazard and so on, and list what none shows."""
    from cowork_gym.benchmarks.suite import load_suite
    from cowork_gym.envs.registration import REGISTRY
    from cowork_gym.synthesis.coverage import coverage

    if png is not None and png.suffix.lower() not in {".png", ".svg", ".pdf"}:
        raise UserError(f"{png}: a picture's name ends in .png, .svg or .pdf")
    with apart(as_json):
        chosen = load_suite(suite)
        found = coverage(chosen.load().values(), REGISTRY.services())
    if png is not None:
        from cowork_gym.synthesis.coverage_chart import draw_coverage

        draw_coverage(found, chosen.title, png)
    if as_json:
        print_document({"suite": chosen.name, **found.to_dict()})
    else:
        _show(chosen.title, found, png)


def _show(title: str, found: "Coverage", png: Path | None) -> None:
    from rich.text import Text

    from cowork_gym.cli.display import open_screen, show_table

    screen = open_screen()
    screen.print(Text(f"{title}: {counted(found.tasks, 'task')}", "bold"))
    most = max([found.tasks, 1])
    rows: list[list[str | Text]] = []
    for axis, values in found.axes.items():
        for at, (value, count) in enumerate(values.items()):
            bar = Text("█" * max(round(count / most * _WIDEST), 1), "blue") if count else Text("gap", "red")
            rows.append([axis if at == 0 else "", value, str(count), bar])
    show_table(screen, ["axis", "value", "tasks", ""], rows)
    _show_edges(screen, found)
    _show_gaps(screen, found)
    if png is not None:
        screen.print(Text(f"picture: {png}"), soft_wrap=True)


def _show_edges(screen: "Console", found: "Coverage") -> None:
    """The capability edges as a grid, of which the column builds on the row."""
    from rich.text import Text

    from cowork_gym.cli.display import show_table

    names = list(dict.fromkeys(name for pair in found.edges for name in pair))
    rows: list[list[str | Text]] = [
        [before, *(_cell(found.edges.get((before, after))) for after in names)] for before in names
    ]
    screen.print(Text("Which capabilities build on which: the column on the row; · is a gap", "bold"))
    show_table(screen, ["", *names], rows)


def _cell(count: int | None) -> "Text":
    from rich.text import Text

    return Text("") if count is None else Text(str(count)) if count else Text("·", "red")


def _show_gaps(screen: "Console", found: "Coverage") -> None:
    from rich.text import Text

    from cowork_gym.cli.display import show_table

    gaps = found.gaps
    if not gaps:
        screen.print(Text("no gaps", "bold green"))
        return
    by_axis = {axis: [one.value for one in gaps if one.axis == axis] for axis in dict.fromkeys(one.axis for one in gaps)}
    screen.print(Text(counted(len(gaps), "gap"), "bold"))
    show_table(screen, ["axis", "no task shows"], [[axis, ", ".join(values)] for axis, values in by_axis.items()])
