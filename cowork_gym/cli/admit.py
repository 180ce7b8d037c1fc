"""The verb `admit`: the gates are asked about tasks, and what they found is shown, printed or written as a page."""

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from cowork_gym.cli.apart import apart
from cowork_gym.cli.complaint import complain
from cowork_gym.cli.document import print_document
from cowork_gym.cli.given import named
from cowork_gym.core.errors import UserError, nearest
from cowork_gym.core.wording import counted

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from cowork_gym.synthesis.gates.gate import Result
    from cowork_gym.synthesis.proof import Proof

__all__ = ["add_to", "admit", "prove"]

Tell: TypeAlias = Callable[[str], None]
"""Shows what is being done."""


def add_to(app: typer.Typer) -> None:
    """Add the verb to the command."""
    app.command("admit", epilog="Example: cowork admit M1100 --seeds 20 --html proof.html")(admit)


def admit(
    tasks: Annotated[list[str] | None, typer.Argument(metavar="TASK", help="Environment ids, or folders of packages.")] = None,
    suite: Annotated[str | None, typer.Option("--suite", metavar="NAME", callback=named, help="All tasks of a suite.")] = None,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="How many forms: the author's is seed 0, the others count on from it.")] = 1,
    gate: Annotated[list[str] | None, typer.Option("--gate", metavar="NAME", help="Only this gate; may be repeated.")] = None,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="How many tasks are examined at a time, each in a process of its own.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object; of several tasks a list.")] = False,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write the proof as a page.")] = None,
) -> None:
    """Prove that tasks are solvable, discoverable and cannot be won without work.

    Exit code 1 says that a gate found a problem, 2 that a package cannot be loaded.
    """
    names = [*(tasks or ()), *(_tasks_of(suite) if suite else ())]
    if not names:
        raise UserError("name a task, a package's folder, or a --suite")
    with apart(as_json), _progress() as tell:
        proofs = _prove_all(names, seeds, _chosen(gate or []), jobs, tell)
    if html is not None:
        _write(html, proofs)
    if as_json:
        told = [one.to_dict() for one in proofs]
        print_document(told[0] if len(told) == 1 and not suite else told)
    else:
        _show(proofs)
    for proof in proofs:
        if not proof.loaded:
            complain(proof.problems[0][1].found)
    if not all(one.passed for one in proofs):
        raise typer.Exit(1 if all(one.loaded for one in proofs) else 2)


def prove(name: str, seeds: int, gates: Sequence[str], tell: Tell | None = None) -> "Proof":
    """The proof of one task; what a process of its own is asked for, so that it takes names alone.

    Args:
        name: An environment id or a folder.
        seeds: How many forms.
        gates: The gates' names; all when empty.
        tell: Shows what is being done.
    """
    from cowork_gym.synthesis.admission import admit as ask
    from cowork_gym.synthesis.gates.registry import GATES

    def show(result: "Result") -> None:
        if tell is not None:
            tell(f"{name}: {result.gate}" + (f", seed {result.seed}" if result.seed else ""))

    return ask(name, range(seeds), [one for one in GATES if not gates or one.name in gates], show)


def _prove_all(names: Sequence[str], seeds: int, gates: Sequence[str], jobs: int, tell: Tell) -> list["Proof"]:
    if jobs == 1 or len(names) == 1:
        return [prove(name, seeds, gates, tell) for name in names]
    found: dict[int, Proof] = {}
    with ProcessPoolExecutor(min(jobs, len(names)), mp_context=get_context("spawn")) as pool:
        asked = {pool.submit(prove, name, seeds, gates): at for at, name in enumerate(names)}
        for one in as_completed(asked):
            try:
                found[asked[one]] = one.result()
            except BrokenProcessPool:
                raise UserError("a process that examined a task was ended, perhaps for want of memory; --jobs 1 shows by which task") from None
            tell(f"{len(found)} of {counted(len(names), 'task')}, the last one {names[asked[one]]}")
    return [found[at] for at in range(len(names))]


def _chosen(names: Sequence[str]) -> Sequence[str]:
    from cowork_gym.synthesis.gates.registry import GATES

    known = [one.name for one in GATES]
    for name in names:
        if name not in known:
            raise UserError(f"unknown gate {name!r}, {nearest(name, known)}")
    return names


def _tasks_of(suite: str) -> list[str]:
    from cowork_gym.benchmarks.suite import load_suite

    return [*load_suite(suite).load()]


@contextmanager
def _progress() -> Iterator[Tell]:
    """What is being done, on standard error, where a person looks at it."""
    if not sys.stderr.isatty():
        yield lambda text: None
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status("the gates are being asked") as status:
        yield lambda text: status.update(Text(text))


def _write(path: Path, proofs: Sequence["Proof"]) -> None:
    from cowork_gym.core.files import write_whole
    from cowork_gym.synthesis.proof import proof_html

    try:
        write_whole(path, proof_html(*proofs).encode())
    except OSError as error:
        raise UserError(f"{path}: the page cannot be written: {error.strerror}") from None


def _show(proofs: Sequence["Proof"]) -> None:
    from rich.text import Text

    from cowork_gym.cli.display import open_screen, show_table

    screen, loaded = open_screen(), [one for one in proofs if one.loaded]
    if len(proofs) == 1 and loaded:
        _show_gates(screen, loaded[0])
    elif loaded:
        rows: list[list[str | Text]] = [
            [one.task, _verdict(one.passed), ", ".join(one.failed), str(len(one.seeds)), f"{sum(one.seconds.values()):.2f}"] for one in loaded
        ]
        show_table(screen, ["task", "verdict", "failed gates", "forms", "seconds"], rows)
    for proof in loaded:
        _show_problems(screen, proof)
    passed = sum(one.passed for one in proofs)
    if len(proofs) > 1:
        screen.print(Text(f"{passed} of {len(proofs)} admitted", "bold green" if passed == len(proofs) else "bold red"))
    elif loaded:
        text = "admitted" if passed else f"not admitted: {', '.join(proofs[0].failed)}"
        screen.print(Text(text, "bold green" if passed else "bold red"), soft_wrap=True)


def _show_gates(screen: "Console", proof: "Proof") -> None:
    """One line for each gate; of several forms, what was found in the first one that tells it."""
    from rich.text import Text

    from cowork_gym.cli.display import short, show_table

    rows = list[list[str | Text]]()
    for name, seconds in proof.seconds.items():
        results = [one for one in proof.results if one.gate == name]
        passed = sum(one.passed for one in results)
        told = next((one for one in results if not one.passed), results[0])
        forms = f"{passed} of {counted(len(results), 'form')}; " if len(results) > 1 else ""
        rows.append([name, _verdict(passed == len(results)), f"{seconds:.2f}", short(forms + "; ".join(told.evidence), max(screen.width - 48, 40))])
    screen.print(Text(proof.release_id, "bold"), soft_wrap=True)
    show_table(screen, ["gate", "verdict", "seconds", "evidence"], rows)
    if any(isinstance(row[-1], str) and row[-1].endswith("...") for row in rows):
        screen.print(Text("--json and --html FILE have the whole evidence", "dim"), soft_wrap=True)


def _show_problems(screen: "Console", proof: "Proof") -> None:
    """Each problem once, with the first seed that has it, and what to change."""
    from rich.text import Text

    told = set[tuple[str, str, str]]()
    for result, problem in proof.problems:
        key = (result.gate, problem.where, problem.found)
        if key not in told:
            told.add(key)
            seed = f", seed {result.seed}" if result.seed else ""
            screen.print(Text(f"{proof.task}: {result.gate}{seed}: {problem.where}: ", "bold").append(problem.found, "not bold"), soft_wrap=True)
            screen.print(Text(f"  {problem.advice}", "cyan"), soft_wrap=True)


def _verdict(passed: bool) -> "Text":
    from rich.text import Text

    return Text("pass", "green") if passed else Text("fail", "red")
