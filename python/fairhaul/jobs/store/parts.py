"""The parts of a store: Parquet files whose names hold the digest of their content."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairhaul.files import files
from fairhaul.files.files import NotAFile
from fairhaul.jobs.store.rows import IDENTITY, NUMBERS, TABLES, WHOLE, Row

if TYPE_CHECKING:
    import polars as pl

DIGITS = 32
# A part holds what a journal held, which becomes parts at 64 MB.
LARGEST = 1 << 30


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


def identities(part: Path, table: str) -> list[str]:
    """Give what identifies the rows of a part.

    Raises:
        Damaged: it is not what its name says, or no part of this table.
    """
    import polars as pl

    if table not in TABLES:
        raise Damaged(part.name)
    content = check(part)
    try:
        found = pl.read_parquet_schema(io.BytesIO(content))
        rows = pl.scan_parquet(io.BytesIO(content)).select(pl.len()).collect().item()
        # An identity has at least 8 bytes that no compression makes smaller.
        if rows > len(content) or dict(found) != {name: _type(name) for name in TABLES[table]}:
            raise Damaged(part.name)
        return column_of(content, IDENTITY[table])
    except (pl.exceptions.PolarsError, OSError, ValueError):
        raise Damaged(part.name) from None


def check(part: Path) -> bytes:
    """Read a part, and compare its content with its name.

    Raises:
        Damaged: they differ.
    """
    try:
        content = files.read(part, LARGEST)
    except NotAFile:
        raise Damaged(part.name) from None
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
