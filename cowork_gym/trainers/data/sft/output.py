"""The files of a data set, written row by row into a folder that appears whole: JSON lines, and Parquet that `datasets` loads."""

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from cowork_gym.core.canonical import decode, encode
from cowork_gym.core.errors import MissingExtra, PackageError, UserError
from cowork_gym.trainers.data.dialogue import Dialogue
from cowork_gym.trainers.data.sft.wire import dialogue_of

__all__ = ["CARD", "LINES", "MANIFEST", "PARQUET", "Rows", "appearing", "line_of", "need_parquet", "read_dialogues"]

LINES, PARQUET, MANIFEST, CARD = "dialogues.jsonl", "data/train.parquet", "manifest.json", "README.md"
_GROUP = 4 * 2**20
"""Bytes of JSON lines in a row group of the Parquet file: as much is held in memory."""


def need_parquet() -> Any:
    """The library that writes Parquet.

    Raises:
        MissingExtra: It is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra("pyarrow", "pip install 'cowork-gym[train]'") from None
    return pyarrow


@contextmanager
def appearing(folder: Path) -> Iterator[Path]:
    """A context with a folder to write into, which gets its own name in the end, or is gone.

    Raises:
        UserError: There is something under the name already.
        OSError: It cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"{folder}: is there already, and not empty; choose another folder")
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}.tmp")
    folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    try:
        yield temporary
        temporary.replace(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


class Rows:
    """Writes rows as JSON lines and as Parquet at once. A context manager; `sha256` is that of the JSON lines.

    Args:
        folder: Where to.
    """

    def __init__(self, folder: Path) -> None:
        self._arrow, self._hash, self._pending = need_parquet(), hashlib.sha256(), list[Mapping[str, Any]]()
        self._size = 0
        (folder / PARQUET).parent.mkdir(parents=True, exist_ok=True)
        self._schema = _schema(self._arrow)
        self._lines = (folder / LINES).open("wb")
        self._parquet = self._arrow.parquet.ParquetWriter(folder / PARQUET, self._schema, compression="zstd")

    def __enter__(self) -> "Rows":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if kind is None:
                self._flush()
        finally:
            self._lines.close()
            self._parquet.close()

    @property
    def sha256(self) -> str:
        """Of the JSON lines so far, in hex."""
        return self._hash.hexdigest()

    def write(self, line: bytes, row: Mapping[str, Any]) -> None:
        """Write one row.

        Args:
            line: Its JSON text without a line's end.
            row: The same as a value.
        """
        self._lines.write(line + b"\n")
        self._hash.update(line + b"\n")
        self._pending.append(row)
        self._size += len(line)
        if self._size >= _GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._pending:
            self._parquet.write_table(self._arrow.Table.from_pylist(self._pending, schema=self._schema))
        self._pending, self._size = [], 0


def read_dialogues(path: str | Path) -> Iterator[Dialogue]:
    """The dialogues of a data set, one by one.

    Args:
        path: Its folder, or its JSON lines.

    Raises:
        PackageError: There is none, or a line is no row; it is named.
    """
    file = Path(path) / LINES if Path(path).is_dir() else Path(path)
    try:
        with file.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    yield dialogue_of(_floats(decode(line)))
                except ValueError as error:
                    raise PackageError(file, f"line {number}", str(error)) from None
    except OSError as error:
        raise PackageError(file, "", f"no data set: {error.strerror or error}") from None


def _floats(row: Any) -> Any:
    """A row with its few fractions as floats."""
    if not isinstance(row, dict):
        raise ValueError("not a row of dialogues")
    numbers = {name: None if row.get(name) is None else float(row[name]) for name in ("completion", "reward", "weight")}
    return {**row, **numbers}


def line_of(row: Mapping[str, Any]) -> bytes:
    """A row as its JSON line."""
    return encode(row).encode()


def _schema(arrow: Any) -> Any:
    text = arrow.string()
    call = arrow.struct([("id", text), ("type", text), ("function", arrow.struct([("name", text), ("arguments", text)]))])
    message = arrow.struct([
        ("role", text), ("content", text), ("tool_calls", arrow.list_(call)), ("tool_call_id", text), ("name", text), ("trained", arrow.bool_()),
        ("why", text),
    ])
    source = arrow.struct([
        ("seal", text), ("task", text), ("release_id", text), ("seed", arrow.int64()), ("agent", text), ("run", arrow.int64()),
        ("segment", arrow.int64()), ("trial", text),
    ])
    return arrow.schema([
        ("id", text), ("messages", arrow.list_(message)), ("tools", text), ("source", source), ("completion", arrow.float64()),
        ("reward", arrow.float64()), ("capabilities", arrow.list_(text)), ("scores", text), ("weight", arrow.float64()),
    ])
