"""The verb `merge`: models of one lineage become one."""

import importlib.util
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cowork_gym.cli.apart import apart
from cowork_gym.cli.document import print_document
from cowork_gym.core.errors import MissingExtra, UserError
from cowork_gym.core.wording import counted

if TYPE_CHECKING:
    from cowork_gym.trainers.merge import Merged

__all__ = ["add_to", "merge"]

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def add_to(app: typer.Typer) -> None:
    """Add the verb to the command."""
    app.command("merge", epilog="Example: cowork merge --method soup models/marathon models/sprint --out models/merged")(merge)


def merge(
    parents: Annotated[list[Path], typer.Argument(metavar="PARENT...", help="Folders of models with one architecture and tokenizer, two or more.")],
    method: Annotated[Literal["soup", "slerp", "task", "ties"], typer.Option("--method", help="How: uniform soup, SLERP, task arithmetic, TIES.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The merged model's folder, which must not exist.")],
    base: Annotated[Path | None, typer.Option("--base", metavar="DIR", help="What the parents were trained from: task, ties.")] = None,
    weights: Annotated[str | None, typer.Option("--weights", metavar="W,W", help="One for each parent, 1 by default: soup, task, ties.")] = None,
    t: Annotated[float | None, typer.Option("--t", metavar="T", help="Where between the parents, 0.5 by default: slerp.")] = None,
    density: Annotated[float | None, typer.Option("--density", metavar="D", help="The share of changes that stays, 0.5 by default: ties.")] = None,
    lam: Annotated[float | None, typer.Option("--lambda", metavar="L", help="A factor on the change, 1 by default: task, ties.")] = None,
    select: Annotated[int, typer.Option("--select", metavar="N", min=1, help="Whose layout, index, configuration and tokenizer are kept.")] = 1,
    shard_size: Annotated[str | None, typer.Option("--shard-size", metavar="SIZE", help="Such as 5GB; by default files are as N has them.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the merge's record as JSON and nothing else.")] = False,
) -> None:
    """Merge models into one.

    Everything is accumulated in float32, and compared with the parents once more after writing. The record is DIR/merge.json.
    """
    if missing := [name for name in ("torch", "safetensors") if importlib.util.find_spec(name) is None]:
        raise MissingExtra(missing[0], "pip install 'cowork-gym[train]'")
    from cowork_gym.trainers import merge as merging

    recipe = merging.Recipe(method, weights=_numbers(weights), t=t, density=density, lam=lam)
    with apart(as_json), _progress() as tell:
        merged = merging.merge(parents, out, recipe, base=base, selected=select - 1, shard_size=_bytes(shard_size), tell=tell)
    if as_json:
        print_document({"out": str(merged.folder), **merged.record})
    else:
        _tell(merged)


def _numbers(text: str | None) -> tuple[float, ...] | None:
    try:
        return None if text is None else tuple(float(one) for one in text.split(","))
    except ValueError:
        raise UserError(f"--weights {text}: write a number for each parent, such as 0.5,0.5") from None


def _bytes(text: str | None) -> int | None:
    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?B|)", text.strip().upper())
    if found is None:
        raise UserError(f"--shard-size {text}: write a size such as 5GB or 500MB")
    return int(float(found[1]) * _UNITS[found[2]])


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """A line on standard error that says what is done now, where somebody watches."""
    from rich.console import Console
    from rich.markup import escape

    console = Console(stderr=True, highlight=False, emoji=False)
    if not console.is_terminal:
        yield lambda line: None
        return
    with console.status("reading") as status:
        yield lambda line: status.update(escape(line))


def _tell(merged: "Merged") -> None:
    """What was averaged, what not, and what was verified."""
    record, counts = merged.record, merged.counts
    experts = record["alignment"]
    others = [counted(counts["identical"], "integer tensor") + " kept as in all parents"] if counts["identical"] else []
    others += [f"{len(record['tied'])} tied to the embedding"] if record["tied"] else []
    print(", ".join([f"{record['method']}: {counted(counts['averaged'], 'tensor')} averaged", *others]))
    for name, parent in record["tensors"]["inherited"].items():
        print(f"inherited from {parent}: {name}")
    for name in record["in_base_only"]:
        print(f"in the base only, left out: {name}")
    if experts is not None:
        worst = f"cosine {experts['lowest_matched']:.3f} or more, {experts['highest_wrong']:.3f} or less with wrong ones"
        print(f"{counted(experts['matrices'], 'matrix', 'matrices')} of experts correspond: {worst}")
    if not record["tokenizers_compared"]:
        print("the tokenizers were not compared: not all of the folders have one")
    print(f"verified: {counted(counts['tensors'], 'tensor')} and {counted(counts['expert_slices'], 'expert slice')} recomputed, all equal")
    print(merged.folder)
