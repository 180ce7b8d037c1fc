"""Memory: how many worlds fit into one GiB."""

import gc
import os
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

    @classmethod
    def of(cls, state: str, before: int, worlds: int, target: int | None = None) -> "Memory":
        """What each of some worlds holds, by what the process has grown."""
        each = max((_resident() - before) / worlds, 1)
        return cls(state, each / 1024, int(_GIB / each), target)


def measure_memory(ours: Ours, worlds: int) -> list[Memory]:
    """Fork worlds, bring them from state to state, and see each time how much the process has grown.

    Args:
        ours: The contender that they are forks of.
        worlds: How many to keep alive.
    """
    ours.reset()
    ours.write()
    gc.collect()
    before, alive = _resident(), [ours.fork() for _ in range(worlds)]
    found = [Memory.of("forked, not called yet", before, worlds)]
    for state, bring, target in (("after one read", Ours.read, 2000), ("after ten more calls", Ours.play, None)):
        for one in alive:
            bring(one)
        gc.collect()
        found.append(Memory.of(state, before, worlds, target))
    for one in alive:
        one.close()
    return found


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
