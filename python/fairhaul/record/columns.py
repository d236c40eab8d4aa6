"""The columns of a record's tables as arrays, whichever library holds the table.

Figures are computed from these, so that a run needs polars only for files, charts and callers that
read its tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairhaul import _core

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Indices = NDArray[np.integer[Any]]
    Table = _core.Table | pl.DataFrame


@dataclass(frozen=True, kw_only=True)
class Words:
    """A column of words that repeat: the index of each row's word in `names`."""

    names: list[str]
    indices: Indices

    def texts(self) -> list[str]:
        """The word of each row."""
        return [self.names[index] for index in self.indices.tolist()]


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns of a table by name; a missing number is NaN."""

    numbers: Mapping[str, Floats]
    words: Mapping[str, Words]

    def rows(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Give the values of some columns, row by row, as floats and texts."""
        values = (
            self.words[name].texts() if name in self.words else self.numbers[name].tolist()
            for name in names
        )
        return zip(*values, strict=True)


def columns_of(table: Table) -> Columns:
    """Give the columns of a table: of the engine's, or of a polars frame."""
    return _of_engine(table) if isinstance(table, _core.Table) else _of_frame(table)


def _of_engine(table: _core.Table) -> Columns:
    import numpy as np

    words = {}
    for name in table.word_columns:
        names, indices = table.words(name)
        words[name] = Words(names=names, indices=np.frombuffer(indices, dtype=np.int32))
    numbers = {name: np.frombuffer(table.numbers(name)) for name in table.number_columns}
    return Columns(numbers=numbers, words=words)


def _of_frame(frame: pl.DataFrame) -> Columns:
    import numpy as np
    import polars as pl

    texts = (pl.String, pl.Categorical, pl.Enum)
    return Columns(
        numbers={
            column.name: column.to_numpy().astype(np.float64)
            for column in frame
            if column.dtype.is_numeric()
        },
        words={column.name: _words(column) for column in frame if isinstance(column.dtype, texts)},
    )


def _words(column: pl.Series) -> Words:
    import polars as pl

    names = column.unique(maintain_order=True).drop_nulls().cast(pl.String)
    # A missing word, which only a damaged record has, gets an index behind all words.
    indices = column.cast(pl.Enum(names)).to_physical().fill_null(len(names))
    return Words(names=[*names.to_list(), ""], indices=indices.to_numpy())
