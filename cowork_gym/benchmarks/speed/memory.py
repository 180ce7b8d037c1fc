"""Memory: how many worlds fit into one GiB."""

import gc
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from cowork_gym.benchmarks.speed.ours import Ours

__all__ = ["Memory", "measure_memory"]

_GIB = 2**30


class Memory(NamedTuple):
    """What a live world holds in a given state."""

    state: str
    kib: float
    """Of resident memory, each."""
    per_gib: int
    """How many of them fit."""
    target: int | None = None


def measure_memory(ours: Ours, worlds: int) -> list[Memory]:
    """Fork worlds, bring each into a state, and see how much the process has grown.

    Args:
        ours: The contender that they are forks of.
        worlds: How many to keep alive at once.
    """
    states: list[tuple[str, Callable[[Ours], object], int | None]] = [
        ("forked, not called yet", lambda one: None, None), ("after one read", Ours.read, 2000), ("after the ten calls", Ours.play, None),
    ]
    ours.reset()
    ours.write()
    found = []
    for state, bring, target in states:
        alive = [_one(ours, bring) for _ in range(10)]  # so that pools which grow once have grown
        gc.collect()
        before = _resident()
        alive += [_one(ours, bring) for _ in range(worlds)]
        each = max((_resident() - before) / worlds, 1)
        found.append(Memory(state, each / 1024, int(_GIB / each), target))
        for one in alive:
            one.close()
        del alive, one
    return found


def _one(ours: Ours, bring: Callable[[Ours], object]) -> Ours:
    fork = ours.fork()
    bring(fork)
    return fork


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
