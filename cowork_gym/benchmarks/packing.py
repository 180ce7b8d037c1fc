"""How full packed rows are: the demonstrations of a suite, tokenised and packed. `python -m cowork_gym.benchmarks.packing [--tokenizer PATH]`."""

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from cowork_gym.benchmarks.suite import load_suite
from cowork_gym.core.task import Task
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.envs.variation import instance
from cowork_gym.harness.agents import make_agent
from cowork_gym.harness.loop import play
from cowork_gym.harness.tokens import ChatFormat
from cowork_gym.trainers.data.dialogue import Dialogue
from cowork_gym.trainers.data.sample import Sample
from cowork_gym.trainers.data.sft.catalog import Catalog
from cowork_gym.trainers.data.sft.dialogues import build_dialogues
from cowork_gym.trainers.data.sft.packing import pack
from cowork_gym.trainers.data.sft.render import Rules, render
from cowork_gym.trainers.data.views.source import load_format

__all__ = ["CAPACITIES", "FORMS", "Filling", "demonstrations", "lengths_of", "main", "measure_packing"]

CAPACITIES = (8_192, 16_384, 32_768, 65_536)
"""Tokens of a row."""
FORMS = 4
"""Of each task. Rows are full where there are many samples for each; with few, half a row at the end weighs much."""


_RULES = Rules(spans=False)


class Filling(NamedTuple):
    """What came of packing."""

    capacity: int
    samples: int
    rows: int
    dropped: int
    """Samples longer than a row."""
    efficiency: float
    """The share of tokens that are no padding."""
    alone: float
    """The same with each sample in a row of its own, as long as the longest."""


def demonstrations(tasks: Sequence[Task], forms: int = FORMS) -> list[Dialogue]:
    """Every reference execution of the tasks, played and graded, as dialogues.

    Args:
        tasks: Whose.
        forms: How many forms of each task, from the author's own on.
    """
    catalog, found = Catalog(tasks), list[Dialogue]()
    for task, seed in product(tasks, range(forms)):
        form = instance(task, seed)
        for reference in form.references:
            with CoworkEnv(task) as env:
                episode = play(env, make_agent(f"reference:{reference.name}", form), seed=seed)
            found += build_dialogues(episode, catalog).dialogues
    return found


def lengths_of(dialogues: Iterable[Dialogue], format: ChatFormat) -> tuple[list[int], Counter[str]]:
    """The number of tokens of each sample, and how many dialogues became none, by reason."""
    lengths, dropped = list[int](), Counter[str]()
    for one in dialogues:
        match render(one, format, _RULES):
            case Sample() as sample:
                lengths.append(len(sample))
            case none:
                dropped[none.reason] += 1
    return lengths, dropped


def measure_packing(lengths: Sequence[int], capacity: int) -> Filling:
    """How full rows of a length become."""
    packed = pack(lengths, capacity)
    kept = [lengths[at] for row in packed.bins for at in row]
    efficiency, alone = (sum(kept) / room if room else 0.0 for room in (len(packed.bins) * capacity, len(kept) * max(kept, default=0)))
    return Filling(capacity, len(kept), len(packed.bins), len(packed.dropped), efficiency, alone)


def main() -> None:
    """Print the table."""
    parser = ArgumentParser(prog="python -m cowork_gym.benchmarks.packing", description="Pack the demonstrations of a suite.")
    parser.add_argument("--tokenizer", default="smollm2", metavar="PATH", help="a folder with tokenizer and chat template; smollm2 unless given")
    parser.add_argument("--suite", default="core", metavar="NAME", help="whose tasks; core unless given")
    parser.add_argument("--forms", type=int, default=FORMS, metavar="N", help=f"forms of each task; {FORMS} unless given")
    asked = parser.parse_args()
    lengths, dropped = lengths_of(demonstrations([*load_suite(asked.suite).load().values()], asked.forms), load_format(asked.tokenizer))
    title = f"{len(lengths)} demonstrations, {sum(lengths):,} tokens by {asked.tokenizer}, the longest {max(lengths, default=0):,}"
    table = Table("tokens a row", "samples", "rows", "overlong", "filled", "filled without packing", title=title)
    for one in (measure_packing(lengths, capacity) for capacity in CAPACITIES):
        counts = (one.capacity, one.samples, one.rows, one.dropped)
        table.add_row(*(f"{count:,}" for count in counts), f"{one.efficiency:.1%}", f"{one.alone:.1%}")
    console = Console(width=120)
    console.print(table)
    for reason, count in dropped.items():
        console.print(f"no sample: {reason} {count}", markup=False)


if __name__ == "__main__":
    main()
