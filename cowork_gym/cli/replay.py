"""The verb `replay`: a recorded episode is taken again, each turn held against the record, and graded anew."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from cowork_gym.cli.apart import apart
from cowork_gym.cli.complaint import complain
from cowork_gym.cli.document import print_document
from cowork_gym.core.canonical import encode
from cowork_gym.core.wording import counted

if TYPE_CHECKING:
    from rich.console import Console

    from cowork_gym.core.episode import Episode, Turn
    from cowork_gym.core.grade import Grade
    from cowork_gym.harness.mismatch import Mismatch
    from cowork_gym.harness.replay import Replay

__all__ = ["add_to", "give_up", "replay"]


def add_to(app: typer.Typer) -> None:
    """Add the verb to the command."""
    app.command("replay", epilog="Example: cowork replay episodes/M1003_ticket_kb_resolution-reference-0-1f0c2a9b.jsonl --until 4")(replay)


def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An episode file.")],
    until: Annotated[int | None, typer.Option("--until", metavar="N", help="How many turns to take; by default all, and the end.")] = None,
    task: Annotated[str | None, typer.Option("--task", metavar="ID", help="The task or its folder, where the episode's is not registered.")] = None,
    judge: Annotated[str | None, typer.Option("--judge", metavar="JUDGE", help="Who judges by rubrics: openai:MODEL@BASE_URL.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Rebuild the world of an episode from its actions, and hold each turn against the record.

    Exit code 1 says that something came out otherwise than recorded; the first turn and the first row that differ are told.
    """
    from cowork_gym.cli.display import open_screen
    from cowork_gym.core.record import read_episode
    from cowork_gym.harness.judges import make_judge
    from cowork_gym.harness.mismatch import Mismatch
    from cowork_gym.harness.replay import Replay

    taken: list[Turn] = []
    episode, screen = read_episode(file), None if as_json else open_screen()
    with apart(as_json):
        found, grade, again = None, None, None
        try:
            again = Replay(episode, task=task, judge=None if judge is None else make_judge(judge))
            for turn in again.steps(until):
                taken.append(turn)
                if screen is not None:
                    _show(screen, turn)
            grade = None if until is not None else again.env.finish().grade
        except Mismatch as error:
            found = error
    report = _report(episode, again, taken, grade, found)
    if screen is None:
        print_document(report)
    else:
        _tell(screen, report)
    if found is not None or report["grade_equal"] is False:
        raise typer.Exit(1)


def _report(episode: "Episode", again: "Replay | None", taken: "list[Turn]", grade: "Grade | None", found: "Mismatch | None") -> dict[str, Any]:
    equal = None if grade is None or episode.grade is None else _told(grade) == _told(episode.grade)
    return {
        "task": episode.task, "seed": episode.seed, "turns": taken[-1].index + 1 if taken else 0, "of": len(episode.turns),
        "fingerprint": again.env.world.fingerprint() if again is not None and found is None else None,
        "reward": None if grade is None else grade.reward, "grade_equal": equal,
        "mismatch": None if found is None else _difference(found),
    }


def _difference(found: "Mismatch") -> dict[str, Any]:
    row = None if found.row is None else json.loads(encode(found.row._asdict()))
    return {"turn": found.turn, "what": found.what, "text": str(found), "row": row}


def give_up(found: "Mismatch", as_json: bool) -> NoReturn:
    """Tell of a replay that came to something else than the record, and exit with 1."""
    if as_json:
        print_document({"mismatch": _difference(found)})
    else:
        complain(str(found))
    raise typer.Exit(1) from None


def _told(grade: "Grade") -> dict[str, Any]:
    """A grade as far as it is about the episode, and not about the form of its record."""
    return {name: value for name, value in grade.to_dict().items() if name != "seal"}


def _show(screen: "Console", turn: "Turn") -> None:
    from rich.text import Text

    from cowork_gym.cli.display import short
    from cowork_gym.harness.debug import deed

    mark = "ok" if screen.options.ascii_only else "✓"
    screen.print(Text(mark, "green").append(f" {turn.index + 1:>3}  {short(deed(turn), max(screen.width - 8, 20))}"), soft_wrap=True)


def _tell(screen: "Console", report: dict[str, Any]) -> None:
    from rich.text import Text

    if report["mismatch"] is not None:
        mark = "x" if screen.options.ascii_only else "✗"
        screen.print(Text(f"{mark} {report['mismatch']['text']}", "bold red"), soft_wrap=True)
        return
    grade = {None: "", True: ", grade equal", False: ", grade not equal"}[report["grade_equal"]]
    if report["grade_equal"] is None and report["reward"] is not None:
        grade = f", reward {report['reward']:g}"
    text = f"replayed {counted(report['turns'], 'turn')} of {report['of']}, fingerprint {report['fingerprint'][:12]}{grade}"
    screen.print(Text(text, "bold red" if report["grade_equal"] is False else "bold"), soft_wrap=True)
