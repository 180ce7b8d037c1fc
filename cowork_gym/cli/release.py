"""The verb `release`: tasks are sealed into a collection that others can cite, and a sealed one is verified."""

import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cowork_gym.cli.apart import apart
from cowork_gym.cli.complaint import complain
from cowork_gym.cli.document import print_document
from cowork_gym.cli.given import named
from cowork_gym.core.errors import UserError, nearest
from cowork_gym.core.wording import counted

if TYPE_CHECKING:
    from cowork_gym.synthesis.proof import Proof
    from cowork_gym.synthesis.release import Release, Use

__all__ = ["add_to", "release"]

_HELD_OUT = 0.2
_EPILOG = "\n".join([
    "\b",
    "Example: cowork release core-1 --suite core --split --for training,evaluation --author 'Ada Moreau' --to releases",
    "Example: cowork release --verify releases/core-1",
])


def add_to(app: typer.Typer) -> None:
    """Add the verb to the command."""
    app.command("release", epilog=_EPILOG)(release)


def release(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The new release's name, such as core-1.")] = None,
    tasks: Annotated[list[str] | None, typer.Argument(metavar="TASKS", help="Environment ids, their short forms, or packages' folders.")] = None,
    suite: Annotated[str | None, typer.Option("--suite", metavar="SUITE", callback=named, help="Release the tasks of a suite, too.")] = None,
    split: Annotated[bool, typer.Option("--split", help="Hold a fifth of the tasks out for validation; twins stay together.")] = False,
    fraction: Annotated[float | None, typer.Option("--fraction", metavar="X", help="Hold out this share, from 0 to 1.")] = None,
    uses: Annotated[list[str] | None, typer.Option("--for", metavar="USES", help="Any of training,evaluation,diagnosis.")] = None,
    author: Annotated[list[str] | None, typer.Option("--author", metavar="WHO", help="Who wrote the tasks; may be repeated.")] = None,
    teacher: Annotated[list[str] | None, typer.Option("--teacher", metavar="WHO", help="Who made demonstrations; may be repeated.")] = None,
    to: Annotated[Path, typer.Option("--to", metavar="FOLDER", help="The folder in which the release's folder is made.")] = Path("releases"),
    against: Annotated[list[Path] | None, typer.Option("--against", metavar="FOLDER", help="A release to compare with; may be repeated.")] = None,
    seeds: Annotated[int, typer.Option("--seeds", metavar="N", min=1, help="Examine this many forms of tasks that vary.")] = 1,
    verify: Annotated[Path | None, typer.Option("--verify", metavar="FOLDER", help="Compare a release with its seal, and do nothing else.")] = None,
    public: Annotated[bool, typer.Option("--public", help="With --verify: the copy has no private/.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Seal tasks into a new release, or verify a release.

    Every gate is asked about every task; what is refused is told, and nothing is written. Exit code 1 says that a task was refused, or
    that a verified release is not as it was sealed.
    """
    if verify is not None:
        if name is not None:
            raise UserError("--verify compares a release with its seal and makes none; leave the name out")
        _verify(verify, public, as_json)
        return
    if name is None:
        raise UserError("a release needs a name and tasks, such as: cowork release core-1 M1100 M1003 --for evaluation --author WHO")
    with apart(as_json):
        from cowork_gym.synthesis.release import Plan, Provenance, load_release, make_release

        plan = Plan(
            name, _uses(uses or []), Provenance(tuple(author or ()), tuple(teacher or ())), _HELD_OUT if split and fraction is None else fraction,
            tuple(range(seeds)), tuple(load_release(one, public=not (one / "private").exists()) for one in against or ()),
        )
        made = _unless_refused(lambda: make_release(plan, [*(tasks or ()), *_members(suite)], to, watch=_tell))
    _show(made, as_json)


def _uses(words: list[str]) -> tuple["Use", ...]:
    """The uses that `--for` names, in their own order."""
    from cowork_gym.synthesis.release import Use

    named = [word.strip() for text in words for word in text.split(",") if word.strip()]
    for word in named:
        if word not in [*Use]:
            raise UserError(f"--for: unknown use {word!r}, {nearest(word, map(str, Use))}")
    return tuple(one for one in Use if one in named)


def _members(suite: str | None) -> list[Path]:
    if suite is None:
        return []
    from cowork_gym.benchmarks.suite import load_suite

    chosen = load_suite(suite)
    members = chosen.load()
    return [folder for id, folder in chosen.candidates().items() if id in members]


def _unless_refused(make: Callable[[], "Release"]) -> "Release":
    from cowork_gym.synthesis.release import Refusal

    try:
        return make()
    except Refusal as refusal:
        for reason in refusal.reasons:
            complain(reason)
        complain("nothing was released")
        raise typer.Exit(1) from None


def _tell(proof: "Proof") -> None:
    """What became of one task, while others are still to be examined."""
    verdict = "admitted" if proof.passed else f"not admitted: {', '.join(proof.failed)}"
    print(f"{proof.task}: {verdict} ({sum(proof.seconds.values()):.1f} s)", file=sys.stderr, flush=True)


def _show(made: "Release", as_json: bool) -> None:
    if as_json:
        told = {"release": made.name, "folder": str(made.folder), "seal": made.seal, "uses": [*made.uses], "counts": {**made.counts}}
        sides = {"train": [*made.train], "validation": [*made.validation]}
        print_document({**told, **sides, "overlaps": [asdict(one) for one in made.overlaps]})
        return
    size = f"{counted(made.counts['tasks'], 'task')}, {counted(made.counts['executions'], 'execution')}"
    print(f"{made.folder} is the release {made.citation}: {size}, for {', '.join(made.uses)}")
    if made.fraction is not None:
        print(f"held out for validation: {', '.join(made.validation)}")
    if made.compared:
        print(f"compared with {', '.join(made.compared)}: {counted(len(made.overlaps), 'part')} in common, none that stands against it")


def _verify(folder: Path, public: bool, as_json: bool) -> None:
    from cowork_gym.synthesis.release import load_release, verify_release

    found = verify_release(folder, public=public)
    seal = "" if found else load_release(folder, public=public).seal
    if as_json:
        print_document({"folder": str(folder), "whole": not found, "seal": seal, "damages": [one._asdict() for one in found]})
    else:
        for one in found:
            print(f"{one.what}: {one.path}" + (f": {one.note}" if one.note else ""))
        print(f"{folder} is not as it was sealed" if found else f"{folder} is whole, sealed {seal}")
    if found:
        raise typer.Exit(1)
