"""The parts of a store: Parquet files whose names hold the digest of their content."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairhaul import files
from fairhaul.store.rows import NUMBERS, TABLES, WHOLE, Row

if TYPE_CHECKING:
    import polars as pl

DIGITS = 32


class Damaged(Exception):
    """A part is not what was written; its name says what it was."""


def write_part(folder: Path, table: str, rows: Sequence[Row]) -> Path:
    """Write rows of a table as a part; it is complete, or it is not there."""
    import polars as pl

    types = {name: _type(name) for name in TABLES[table]}
    columns = {name: [row.get(name) for row in rows] for name in types}
    buffer = io.BytesIO()
    pl.DataFrame(columns, schema=types).write_parquet(buffer, compression="zstd")
    content = buffer.getvalue()
    place = folder / f"{table}-{hashlib.sha256(content).hexdigest()[:DIGITS]}.parquet"
    files.replace(place, content)
    return place


def _type(column: str) -> type[pl.DataType]:
    import polars as pl

    if column in WHOLE:
        return pl.Int64
    return pl.Float64 if column in NUMBERS else pl.String


def check(part: Path) -> bytes:
    """Read a part, and compare its content with its name.

    Raises:
        Damaged: they differ.
    """
    content = part.read_bytes()
    if part.stem.rpartition("-")[2] != hashlib.sha256(content).hexdigest()[:DIGITS]:
        raise Damaged(part.name)
    return content


def column_of(content: bytes, column: str) -> list[str]:
    """Give a column of a part that was read."""
    import polars as pl

    return pl.read_parquet(io.BytesIO(content), columns=[column])[column].to_list()


def rows_of(part: Path, column: str, wanted: Collection[str] | None) -> Iterator[Row]:
    """Give the rows of a part, or those whose `column` has a wanted value."""
    import polars as pl

    frame = pl.read_parquet(part)
    if wanted is not None:
        frame = frame.filter(pl.col(column).is_in(list(wanted)))
    yield from frame.iter_rows(named=True)
