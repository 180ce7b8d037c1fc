"""The rows of a world's first state, as agents and graders see them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from cowork_gym.envs.database import Database
from cowork_gym.mock_services.kit.tables import Table

__all__ = ["StartRows"]


class StartRows(Mapping[str, Mapping[str, Mapping[str, Any]]]):
    """Rows by table and key. A table is read when it is first asked for.

    Args:
        tables: The world's tables.
        reader: Gives the first state, open for reading in this thread.
    """

    def __init__(self, tables: Iterable[Table], reader: Callable[[], Database]) -> None:
        self._reader = reader
        self._tables = {table.public: table for table in tables}
        self._read: dict[str, Mapping[str, Mapping[str, Any]]] = {}
        self._hashed: dict[str, Mapping[str, bytes]] = {}

    def table(self, name: str) -> Table:
        """The table of this public name."""
        return self._tables[name]

    def digests(self, name: str) -> Mapping[str, bytes]:
        """The hashes of a table's rows, by key."""
        if name not in self._hashed:
            table, database = self._tables[name], self._reader()
            known, found = database.digests()[table.name].rows, database.connection.execute(f"{table.pick} IS NOT NULL").fetchall()
            self._hashed[name] = MappingProxyType({str(getattr(table.load(row), table.key)): known[rowid] for rowid, *row in found})
        return self._hashed[name]

    def __getitem__(self, name: str) -> Mapping[str, Mapping[str, Any]]:
        if name not in self._read:
            rows = self._reader().rows(self._tables[name])
            self._read[name] = MappingProxyType({key: MappingProxyType(row) for key, row in rows.items()})  # shared by all episodes
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)
