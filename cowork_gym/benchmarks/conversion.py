"""Rollouts from sealed episodes: how fast they become rows, and how much memory that takes. `python -m cowork_gym.benchmarks.conversion`.

Some distinct episodes are played with tokens that nobody sampled, under names that are linked to them until there are as many as asked for. Each
number of them is read, verified, converted and exported in a process of its own, whose memory is its own too.
"""

import argparse
import os
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from cowork_gym.benchmarks.speed.desk import ANSWER, SCRIPT, make_task
from cowork_gym.core.columns import SUFFIX
from cowork_gym.core.ids import generator
from cowork_gym.core.messages import Message, ToolCall, final
from cowork_gym.core.record import write_episode
from cowork_gym.core.trajectory import Tokens
from cowork_gym.envs.env import CoworkEnv
from cowork_gym.harness.compose import compose
from cowork_gym.harness.loop import play
from cowork_gym.harness.middleware import Window
from cowork_gym.harness.policies.policy import Draw, Usage
from cowork_gym.harness.policies.scripted import ScriptedPolicy
from cowork_gym.trainers.data import RolloutReader
from cowork_gym.trainers.data.exports import slime_rows

__all__ = ["Converted", "convert", "link_episodes", "main", "write_episodes"]

_DISTINCT, _TRIALS = 200, 8
_CONTEXT, _SAMPLED = 200, 300
"""Tokens that come back, and that are sampled, in each turn."""
_MIB = 1024


class Converted(NamedTuple):
    """What a number of episodes gave, and took."""

    episodes: int
    rows: int
    tokens: int
    """That are trained."""
    seconds: float
    """By the clock."""
    cpu: float
    """Seconds of CPU time."""
    before: int
    """Resident memory before the first episode, in KiB."""
    peak: int
    """The most that was resident, in KiB."""


class _Invented(ScriptedPolicy):
    """Follows its lines, and says that it sampled tokens, whose ids are drawn at random.

    Args:
        lines: What it says.
        number: Of the episode.
    """

    tokenizer = "invented"

    def __init__(self, lines: Sequence[Message], number: int) -> None:
        super().__init__("script", lines)
        self._chance, self._fresh = generator(number, "tokens"), True
        self.version = f"step-{number // 50}"

    def reset(self, tools: Sequence[Mapping[str, Any]], seed: int) -> None:
        """Start from the first line."""
        super().reset(tools, seed)
        self._fresh, self.draw = True, Draw()

    def restart(self) -> None:
        """The next prompt is rendered anew."""
        self._fresh = True

    def act(self, history: Sequence[Message]) -> Message:
        """The next line with its tokens."""
        read = _CONTEXT * (len(history) if self._fresh else 1)
        context, ids = (tuple([self._chance.randrange(150_000) for _ in range(count)]) for count in (read, _SAMPLED))
        tokens = Tokens(context, ids, tuple([-self._chance.expovariate(4) for _ in ids]), (True,) * _SAMPLED)
        self.draw, self.usage, self._fresh = Draw("stop", self.version, tokens, fresh=self._fresh), Usage(read, _SAMPLED), False
        return super().act(history)


def write_episodes(folder: Path, distinct: int = _DISTINCT) -> list[Path]:
    """Play and write distinct episodes of eleven turns, every second one under a FIFO window. Three of eight do less than they should."""
    env, plain = CoworkEnv(make_task()), compose()
    harnesses = plain, plain.with_middleware(Window(6, 3))
    paths = []
    for number in range(distinct):
        calls = SCRIPT if number % _TRIALS < 5 else SCRIPT[4:]
        lines = [*(Message("assistant", None, (ToolCall(*one),)) for one in calls), final(ANSWER)]
        seed, trial = divmod(number, _TRIALS)
        episode = play(env, _Invented(lines, number), harness=harnesses[number % 2], seed=seed, sampling=number)
        paths.append(write_episode(episode, folder, stem=f"Desk-s{seed}-t{trial}"))
    return paths


def link_episodes(paths: Sequence[Path], folder: Path, count: int) -> None:
    """Let a folder have so many episodes: links to these, over and over."""
    folder.mkdir(parents=True)
    for number in range(count):
        path, seed, trial = paths[number % len(paths)], *divmod(number, _TRIALS)
        for suffix in (".jsonl", SUFFIX):
            os.link(path.with_suffix(suffix), folder / f"Desk-s{seed}-t{trial}{suffix}")


def convert(folder: Path) -> Converted:
    """Read the episodes of a folder and make rows of them, of which none is kept."""
    before, begun, worked, rows = _memory("VmRSS"), time.perf_counter(), time.process_time(), 0
    reader = RolloutReader([folder])
    for _ in slime_rows(reader):
        rows += 1
    counts = reader.counts
    return Converted(
        counts.episodes, rows, counts.tokens, time.perf_counter() - begun, time.process_time() - worked, before, _memory("VmHWM"),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table for a thousand episodes and for as many as asked for."""
    parser = argparse.ArgumentParser(prog="python -m cowork_gym.benchmarks.conversion", description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--episodes", type=int, default=10_000, help="how many to convert beside 1,000 (default: 10,000)")
    most = parser.parse_args(arguments).episodes
    table = Table("episodes", "rows", "trained tokens", "seconds", "of CPU", "rows/s", "rows/CPU s", "MiB before", "MiB at most")
    with TemporaryDirectory() as place:
        paths = write_episodes(Path(place, "distinct"))
        for count in sorted({min(1000, most), most}):
            folder = Path(place, f"{count}")
            link_episodes(paths, folder, count)
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                one = pool.submit(convert, folder).result()
            table.add_row(
                f"{one.episodes:,}", f"{one.rows:,}", f"{one.tokens:,}", f"{one.seconds:.1f}", f"{one.cpu:.1f}",
                f"{one.rows / one.seconds:,.0f}", f"{one.rows / one.cpu:,.0f}", f"{one.before / _MIB:.0f}", f"{one.peak / _MIB:.0f}",
            )
    Console(width=120).print(table)


def _memory(what: str) -> int:
    """Resident memory of this process in KiB, now or at its most."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{what}:"))


if __name__ == "__main__":
    main()
