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
    def of(cls, times: Sequence[tuple[float, float]]) -> "Sample":
        """The figures of some (CPU, wall) times."""
        cpu, wall = zip(*times, strict=True)
        return cls(statistics.median(cpu), _percentile(cpu, 0.9), statistics.median(wall))


def measure(items: Sequence[Item], contenders: Sequence[Any], rounds: int) -> dict[tuple[str, str], Sample]:
    """Measure items.

    Args:
        items: What to measure.
        contenders: Who does it, in one order and the other by turns: whoever comes first after a collection has cold caches.
        rounds: How many samples; one more round comes first and does not count.

    Returns:
        The sample of each (item title, contender name) that the contender has.
    """
    times: dict[tuple[str, str], list[tuple[float, float]]] = {}
    with _no_collection():
        for number in range(rounds + 1):
            for item in items:
                for one in contenders[:: 1 if number % 2 else -1]:
                    if hasattr(one, item.run):
                        taken = _take(item, one)
                        if number:
                            times.setdefault((item.title, one.name), []).append(taken)
            gc.collect()
    return {at: Sample.of(taken) for at, taken in times.items()}


def profile(item: Item, contender: Any, rounds: int = 50, lines: int = 25) -> str:
    """Where an item's time goes: the functions with the most time of their own."""
    profiler = cProfile.Profile()
    for _ in range(rounds):
        for run in _runs(item, contender):
            profiler.enable()
            run()
            profiler.disable()
    text = io.StringIO()
    pstats.Stats(profiler, stream=text).strip_dirs().sort_stats("tottime").print_stats(lines)
    return text.getvalue()


def _take(item: Item, contender: Any) -> tuple[float, float]:
    """The mean (CPU, wall) time of some runs in a row, in milliseconds."""
    cpu = wall = 0
    for run in _runs(item, contender):
        wall_start, cpu_start = time.perf_counter_ns(), time.process_time_ns()
        kept = run()
        cpu += time.process_time_ns() - cpu_start
        wall += time.perf_counter_ns() - wall_start
        del kept  # freeing the result is not part of the run
    return cpu / item.times / 1e6, wall / item.times / 1e6


def _runs(item: Item, contender: Any) -> Iterator[Callable[[], object]]:
    """What is measured, as often as the item says; whatever comes before happens outside of the measurement."""
    for name in item.before:
        getattr(contender, name)()
    for _ in range(item.times):
        for name in item.between:
            getattr(contender, name)()
        yield getattr(contender, item.run)


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


def _percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]
