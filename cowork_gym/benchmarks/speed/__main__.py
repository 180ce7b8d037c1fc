"""The command: `python -m cowork_gym.benchmarks.speed [--rounds N] [--quick] [--profile] [--json FILE]`."""

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path

from rich.console import Console

from cowork_gym.benchmarks.speed.desk import make_task
from cowork_gym.benchmarks.speed.items import HTTP, ITEMS
from cowork_gym.benchmarks.speed.measure import measure, profile
from cowork_gym.benchmarks.speed.memory import measure_memory
from cowork_gym.benchmarks.speed.ours import Ours
from cowork_gym.benchmarks.speed.recording import measure_recording
from cowork_gym.benchmarks.speed.report import Report, facts
from cowork_gym.benchmarks.speed.rivals import PlainDict, RawSqlite
from cowork_gym.core.errors import MissingExtra

ROUNDS, QUICK, WORLDS, WIDTH = 100, 15, 200, 150


def main() -> None:
    """Measure, print the tables, and write the report where it was asked for."""
    options = _options()
    rounds = options.rounds or (QUICK if options.quick else ROUNDS)
    report = run(rounds)
    console = Console()
    if not console.is_terminal:
        console.width = WIDTH
    console.print(report.table())
    console.print(report.memory_table())
    console.print(report.recording_table())
    if options.json:
        options.json.write_text(json.dumps(report.to_dict(), indent=2) + "\n", encoding="utf-8")
    if options.profile:
        ours = Ours(make_task())
        for item in report.missed():
            console.print(f"{item.title}:", profile(item, ours), markup=False)


def run(rounds: int) -> Report:
    """Measure everything once."""
    task, before = make_task(), facts()
    contenders = (Ours(task), RawSqlite(task), PlainDict(task))
    items = list(ITEMS)
    samples = measure(ITEMS, contenders, rounds)
    try:
        door = Ours(task, "asgi")
    except MissingExtra:
        pass
    else:
        items.append(HTTP)
        samples |= measure([HTTP], [door], rounds)
        door.close()
    memory = measure_memory(contenders[0], min(2 * rounds, WORLDS))
    return Report(items, [one.name for one in contenders], samples, memory, before, measure_recording(task, rounds))


def _options() -> Namespace:
    parser = ArgumentParser(prog="python -m cowork_gym.benchmarks.speed", description="Measure the environment beside raw SQLite and plain dicts.")
    parser.add_argument("--rounds", type=int, help=f"samples of each item; {ROUNDS} unless given")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} rounds")
    parser.add_argument("--profile", action="store_true", help="show where the time goes for each target that is missed")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report there")
    return parser.parse_args()


if __name__ == "__main__":
    main()
