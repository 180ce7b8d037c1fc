"""The report: a table for people, a mapping for machines, and the facts of the machine that was measured on."""

import os
import platform
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from types import MappingProxyType
from typing import Any, NamedTuple

from rich.table import Table

from cowork_gym.benchmarks.speed.items import MOST_RECORDED, Item
from cowork_gym.benchmarks.speed.measure import Sample
from cowork_gym.benchmarks.speed.memory import Memory

__all__ = ["Report", "facts"]


def facts() -> dict[str, Any]:
    """What one has to know of the machine to read the numbers."""
    packages = ("gymnasium", "pydantic", "SQLAlchemy")
    return {
        "python": platform.python_version(), "sqlite": sqlite3.sqlite_version, "machine": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 2), **{name.lower(): version(name) for name in packages},
    }


class Report(NamedTuple):
    """Everything that one run measured."""

    items: Sequence[Item]
    names: Sequence[str]
    """The contenders, ours first."""
    samples: Mapping[tuple[str, str], Sample]
    memory: Sequence[Memory]
    facts: Mapping[str, Any]
    recording: Mapping[tuple[str, str], Sample] = MappingProxyType({})
    """Of each (item title, `recorded` or `unrecorded`)."""

    def missed(self) -> list[Item]:
        """The items over their target."""
        return [one for one in self.items if one.target is not None and self._ours(one).cpu > one.target]

    def table(self) -> Table:
        """The table for people. Times are milliseconds of CPU time; a ratio is ours to the reference's."""
        title = ", ".join(f"{name} {value}" for name, value in self.facts.items())
        table = Table("item", *(_right(name) for name in ("target", "median", "p90", "wall", *self._heads(), "")), caption=title)
        for item in self.items:
            own = self._ours(item)
            verdict = "" if item.target is None else "met" if own.cpu <= item.target else "MISSED"
            target = "" if item.target is None else f"{item.target:.2f}"
            table.add_row(item.title, target, f"{own.cpu:.3f}", f"{own.p90:.3f}", f"{own.wall:.3f}", *self._beside(item), verdict)
        return table

    def memory_table(self) -> Table:
        """The table of memory."""
        table = Table("worlds alive", _right("KiB each"), _right("in one GiB"), _right("target"), "")
        for one in self.memory:
            verdict = "" if one.target is None else "met" if one.per_gib >= one.target else "MISSED"
            table.add_row(one.state, f"{one.kib:.1f}", f"{one.per_gib:,}", "" if one.target is None else f"{one.target:,}", verdict)
        return table

    def recording_table(self) -> Table:
        """The table of what recording costs."""
        table = Table("recording", *map(_right, ("recorded", "unrecorded", "difference", "ratio", "target")), "")
        for title, made, bare in self._recorded():
            ratio = made.cpu / bare.cpu
            verdict = "met" if ratio <= MOST_RECORDED else "MISSED"
            table.add_row(
                title, f"{made.cpu:.3f}", f"{bare.cpu:.3f}", f"{made.cpu - bare.cpu:.3f}", f"{ratio:.2f}×", f"{MOST_RECORDED:.2f}×", verdict,
            )
        return table

    def to_dict(self) -> dict[str, Any]:
        """The report as plain JSON values."""
        return {
            "schema_version": 0, "unit": "ms", "facts": dict(self.facts),
            "items": [{
                "title": item.title, "target": item.target, "met": item.target is None or self._ours(item).cpu <= item.target,
                **{name: self.samples[item.title, name]._asdict() for name in self.names if (item.title, name) in self.samples},
            } for item in self.items],
            "memory": [one._asdict() for one in self.memory],
            "recording": [{
                "title": title, "recorded": made._asdict(), "unrecorded": bare._asdict(), "ratio": made.cpu / bare.cpu, "target": MOST_RECORDED,
                "met": made.cpu / bare.cpu <= MOST_RECORDED,
            } for title, made, bare in self._recorded()],
        }

    def _ours(self, item: Item) -> Sample:
        return self.samples[item.title, self.names[0]]

    def _recorded(self) -> Iterator[tuple[str, Sample, Sample]]:
        for title in dict.fromkeys(title for title, _ in self.recording):
            yield title, self.recording[title, "recorded"], self.recording[title, "unrecorded"]

    def _heads(self) -> Iterator[str]:
        for name in self.names[1:]:
            yield from (name, "ratio")

    def _beside(self, item: Item) -> Iterator[str]:
        for name in self.names[1:]:
            other = self.samples.get((item.title, name))
            yield from ("", "") if other is None else (f"{other.cpu:.3f}", f"{self._ours(item).cpu / other.cpu:.1f}×")


def _right(name: str) -> Any:
    from rich.table import Column

    return Column(name, justify="right")
