"""Measuring: every item of every contender in turn, round by round, so that a busy machine is unfair to none."""

import cProfile
import gc
import io
import pstats
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from cowork_gym.benchmarks.speed.items import Item

__all__ = ["Sample", "measure", "profile"]


class Sample(NamedTuple):
    """Times of one item of one contender, in milliseconds."""

    cpu: float
    """Median CPU time of the process."""
    p90: float
    """The 90th percentile of it."""
    wall: float
    """Median by the clock."""

    @classmethod
    def of(cls, times: Sequence[tuple[int, int]]) -> "Sample":
        """The figures of some (CPU, wall) times in nanoseconds."""
        cpu, wall = zip(*times, strict=True)
        return cls(statistics.median(cpu) / 1e6, _percentile(cpu, 0.9) / 1e6, statistics.median(wall) / 1e6)


def measure(items: Sequence[Item], contenders: Sequence[Any], rounds: int) -> dict[tuple[str, str], Sample]:
    """Measure items.

    Args:
        items: What to measure.
        contenders: Who does it.
        rounds: How often; one more round comes first and does not count.

    Returns:
        The sample of each (item title, contender name) that the contender has.
    """
    times: dict[tuple[str, str], list[tuple[int, int]]] = {}
    with _no_collection():
        for number in range(rounds + 1):
            for item in items:
                for one in contenders:
                    if (run := getattr(one, item.run, None)) is not None:
                        taken = _once(one, item, run)
                        if number:
                            times.setdefault((item.title, one.name), []).append(taken)
            gc.collect()
    return {at: Sample.of(taken) for at, taken in times.items()}


def profile(item: Item, contender: Any, times: int = 300, lines: int = 25) -> str:
    """Where an item's time goes: the functions with the most time of their own."""
    profiler = cProfile.Profile()
    run = getattr(contender, item.run)
    for _ in range(times):
        for name in item.before:
            getattr(contender, name)()
        profiler.enable()
        run()
        profiler.disable()
    text = io.StringIO()
    pstats.Stats(profiler, stream=text).strip_dirs().sort_stats("tottime").print_stats(lines)
    return text.getvalue()


def _once(contender: Any, item: Item, run: Callable[[], object]) -> tuple[int, int]:
    for name in item.before:
        getattr(contender, name)()
    wall, cpu = time.perf_counter_ns(), time.process_time_ns()
    kept = run()
    taken = time.process_time_ns() - cpu, time.perf_counter_ns() - wall
    del kept  # freeing the result is not part of the call
    return taken


@contextmanager
def _no_collection() -> Iterator[None]:
    """No garbage collection in the middle of a measurement; there is one after each round."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _percentile(values: Sequence[int], share: float) -> float:
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]
