"""Token data beside the record: what the policy read and drew, as rows of one Arrow file, and the digest that the record seals.

The digest is over the values, not over the file: nobody needs Arrow to seal an episode, and another version of Arrow may write other bytes.
"""

import hashlib
import struct
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cowork_gym.core.errors import MissingExtra, PackageError
from cowork_gym.core.files import write_whole
from cowork_gym.core.trajectory import Run, Tokens

__all__ = ["SUFFIX", "TokenRow", "content_digest", "need_arrow", "read_columns", "token_rows", "write_columns"]

SUFFIX = ".arrow"
"""Of the file beside the record, in place of the record's own."""


class TokenRow(NamedTuple):
    """The tokens of one generation, and which one it is."""

    run: int
    segment: int
    generation: int
    tokens: Tokens


def token_rows(runs: Iterable[Run]) -> list[TokenRow]:
    """The rows of all generations whose tokens are known, in order."""
    return [
        TokenRow(run.id, at, one.index, one.tokens)
        for run in runs for at, segment in enumerate(run.segments) for one in segment.generations if one.tokens is not None
    ]


def content_digest(rows: Iterable[TokenRow]) -> str:
    """sha256 over token data, in hex.

    What is hashed, row after row, all of it little-endian: run, segment, generation and the lengths of context and sampled ids as 32-bit numbers,
    then context and sampled ids as 32-bit numbers, log-probabilities as doubles, and the mask as bytes.
    """
    content = hashlib.sha256()
    for row in rows:
        tokens = row.tokens
        content.update(struct.pack("<5i", row.run, row.segment, row.generation, len(tokens.context), len(tokens.ids)))
        for values, kind in ((tokens.context, "<i4"), (tokens.ids, "<i4"), (tokens.logprobs, "<f8"), (tokens.mask, "?")):
            content.update(np.array(values, kind).tobytes())
    return content.hexdigest()


def need_arrow() -> Any:
    """The library that reads and writes the file.

    Raises:
        MissingExtra: It is not installed.
    """
    try:
        import pyarrow
        import pyarrow.ipc
    except ImportError:
        raise MissingExtra("pyarrow", "pip install 'cowork-gym[records]'") from None
    return pyarrow


def write_columns(path: Path, rows: Sequence[TokenRow]) -> None:
    """Write token data, whole or not at all. Equal rows are equal bytes, as long as Arrow is the same.

    Raises:
        MissingExtra: Arrow is not installed.
        OSError: The file cannot be written.
    """
    arrow = need_arrow()
    numbers = [[row.run for row in rows], [row.segment for row in rows], [row.generation for row in rows]]
    tokens = [row.tokens for row in rows]
    lists: list[list[Sequence[Any]]] = [
        [one.context for one in tokens], [one.ids for one in tokens], [one.logprobs for one in tokens], [one.mask for one in tokens],
    ]
    schema, sink = _schema(arrow), arrow.BufferOutputStream()
    columns = [arrow.array(one, arrow.int32()) for one in numbers]
    columns += [_listed(arrow, one, kind.value_type) for one, kind in zip(lists, schema.types[len(numbers) :], strict=True)]
    with arrow.ipc.new_file(sink, schema) as writer:
        writer.write_batch(arrow.record_batch(columns, schema=schema))
    write_whole(path, sink.getvalue().to_pybytes())


def read_columns(path: Path, sha256: str) -> list[TokenRow]:
    """Token data from its file, held against its digest.

    Raises:
        PackageError: The file is missing, no such file, cut off, or has other content than was sealed.
        MissingExtra: Arrow is not installed.
    """
    arrow = need_arrow()
    try:
        rows = _rows(arrow, path.read_bytes())
        found = content_digest(rows)
    except (OSError, ValueError, arrow.ArrowException) as error:
        problem = (isinstance(error, OSError) and error.strerror) or str(error).partition("\n")[0]
        raise PackageError(path, "", f"not the token data of the record beside it: {problem}") from None
    if found != sha256:
        raise PackageError(path, "", "the token data are not those that the record beside it seals: the file was changed")
    return rows


def _listed(arrow: Any, values: Sequence[Sequence[Any]], kind: Any) -> Any:
    """A column of lists, from one flat array: Arrow takes a list of tuples apart item by item."""
    offsets = np.cumsum([0, *map(len, values)], dtype=np.int32)
    flat = np.fromiter(chain.from_iterable(values), kind.to_pandas_dtype(), count=int(offsets[-1]))
    return arrow.ListArray.from_arrays(arrow.array(offsets), arrow.array(flat))


def _schema(arrow: Any) -> Any:
    whole = arrow.int32()
    return arrow.schema([
        ("run", whole), ("segment", whole), ("generation", whole), ("context", arrow.list_(whole)), ("ids", arrow.list_(whole)),
        ("logprobs", arrow.list_(arrow.float64())), ("mask", arrow.list_(arrow.bool_())),
    ])


def _rows(arrow: Any, content: bytes) -> list[TokenRow]:
    """The rows of a file that is whole, of this schema and without gaps."""
    with arrow.ipc.open_file(arrow.py_buffer(content)) as reader:
        if not reader.schema.equals(_schema(arrow)):
            raise ValueError("it has other columns")
        table = reader.read_all()
    table.validate(full=True)
    numbers, lists = table.columns[:3], table.columns[3:]
    flat = [chunk.flatten() for one in lists for chunk in one.chunks]
    if any(one.null_count for one in (*table.columns, *flat)):
        raise ValueError("it has gaps")
    columns = [*(one.to_pylist() for one in numbers), *map(_tuples, lists)]
    return [_row(*values) for values in zip(*columns, strict=True)]


def _row(run: int, segment: int, generation: int, *tokens: Any) -> TokenRow:
    try:
        return TokenRow(run, segment, generation, Tokens(*tokens))
    except ValueError as error:
        raise ValueError(f"run {run}, segment {segment}, generation {generation}: {error}") from None


def _tuples(column: Any) -> list[tuple[Any, ...]]:
    """A column of lists as tuples. A list's items are taken out of the flat array: one object a list would cost more than its items."""
    found = []
    for chunk in column.chunks:
        items, at = chunk.flatten().to_pylist(), 0
        for size in chunk.value_lengths().to_pylist():
            found.append(tuple(items[at : at + size]))
            at += size
    return found
