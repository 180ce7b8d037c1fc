"""The verb `regrade`: sealed episodes are graded again by the grader of today, and the grades appended to them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cowork_gym.cli.apart import apart
from cowork_gym.cli.complaint import complain
from cowork_gym.cli.document import print_document
from cowork_gym.core.errors import UserError, nearest

if TYPE_CHECKING:
    from cowork_gym.core.grade import Grade
    from cowork_gym.harness.regrade import Regraded

__all__ = ["add_to", "regrade"]


def add_to(app: typer.Typer) -> None:
    """Add the verb to the command."""
    app.command("regrade", epilog="Example: cowork regrade runs/first")(regrade)


def regrade(
    paths: Annotated[list[Path], typer.Argument(metavar="FILE", help="Episode files, or directories that have some.")],
    task: Annotated[str | None, typer.Option("--task", metavar="ID", help="The task or its folder, where the episode's is not registered.")] = None,
    spec: Annotated[str | None, typer.Option("--reward", metavar="SPEC", help="The reward spec, where it is not to be the task's own.")] = None,
    judge: Annotated[str | None, typer.Option("--judge", metavar="JUDGE", help="Who judges by rubrics: openai:MODEL@BASE_URL.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Grade sealed episodes again, and append the grades. What is sealed is not touched.

    Exit code 1 says that one of them has no grade, by a fault, or is no episode that could be graded.
    """
    from cowork_gym.graders.scoring import REWARD_SPECS
    from cowork_gym.harness import regrade as regrading
    from cowork_gym.harness.judges import make_judge

    if spec is not None and spec not in REWARD_SPECS:
        raise UserError(f"unknown reward {spec!r}, {nearest(spec, REWARD_SPECS)}")
    files = _files(paths)
    done: list[tuple[Path, Regraded]] = []
    with apart(as_json):
        asked = None if judge is None else make_judge(judge)
        for file in files:
            try:
                done.append((file, regrading.regrade(file, task=task, reward=spec, judge=asked)))
            except UserError as error:
                if len(files) == 1:
                    raise
                complain(f"{file}: {str(error).removeprefix(f'{file}: ')}")  # the others are graded all the same
                continue
            if not as_json:
                _show(*done[-1])
    if as_json:
        rows = [
            {"episode": str(file), "before": _reward(one.before), "after": one.after.reward, "appended": one.appended,
             "fault": None if one.after.fault is None else one.after.fault.message} for file, one in done
        ]
        print_document({"regraded": len(rows), "appended": sum(one.appended for _, one in done), "episodes": rows})
    if len(done) < len(files) or any(one.after.reward is None for _, one in done):
        raise typer.Exit(1)


def _files(paths: Sequence[Path]) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        inside = sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
        if not inside:
            raise UserError(f"{path}: no episode in it")
        found += inside
    return found


def _reward(grade: "Grade | None") -> float | None:
    return grade.reward if grade else None


def _show(file: Path, one: "Regraded") -> None:
    before, after = _reward(one.before), one.after.reward
    told = f"{_number(before)} -> {_number(after)}" if one.appended else f"{_number(before)}, as before"
    fault = f" ({one.after.fault.message})" if one.after.fault else ""
    print(f"{file}: {told}{fault}")


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"
