"""The verb `debug`: which turn lost an episode, found by playing every prefix of it on with the task's references."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cowork_gym.cli.apart import apart
from cowork_gym.cli.document import print_document
from cowork_gym.cli.replay import give_up

if TYPE_CHECKING:
    from cowork_gym.harness.debug import Diagnosis

__all__ = ["add_to", "debug"]


def add_to(app: typer.Typer) -> None:
    """Add the verb to the command."""
    app.command("debug", epilog="Example: cowork debug episodes/M1003_ticket_kb_resolution-random-0-1f0c2a9b.jsonl")(debug)


def debug(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An episode file.")],
    task: Annotated[str | None, typer.Option("--task", metavar="ID", help="The task or its folder, where the episode's is not registered.")] = None,
    judge: Annotated[str | None, typer.Option("--judge", metavar="JUDGE", help="Who judges by rubrics: openai:MODEL@BASE_URL.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Find the turn after which an episode could no longer be won, as far as the references of its task show it.

    Exit code 1 says that the replay came to another state than recorded.
    """
    from cowork_gym.core.record import read_episode
    from cowork_gym.harness.debug import debug as diagnose
    from cowork_gym.harness.judges import make_judge
    from cowork_gym.harness.mismatch import Mismatch

    episode = read_episode(file)
    wrong: Mismatch | None = None
    with apart(as_json):
        try:
            found = diagnose(episode, task, judge=None if judge is None else make_judge(judge))
        except Mismatch as error:
            wrong = error
    if wrong is not None:
        give_up(wrong, as_json)
    if as_json:
        print_document(found.to_dict())
    else:
        _show(found)


def _show(found: "Diagnosis") -> None:
    from rich.text import Text

    from cowork_gym.cli.display import open_screen, short, show_table

    rows: list[list[str | Text]] = [
        [str(one.turns), Text("yes", "green") if one.winnable else Text("no", "red"), "none" if one.reward is None else f"{one.reward:.3g}",
         ", ".join(one.failed), short(one.deed, 200)] for one in found.prospects
    ]
    screen = open_screen()
    show_table(screen, ["turns", "winnable", "best reward", "fails even so", "what was done"], rows)
    screen.print(Text(found.text, "bold"), soft_wrap=True)
