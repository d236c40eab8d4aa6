"""The record of a run: six things in memory, six files in a directory.

Tables are Parquet, `meta` is JSON. A directory is written beside its place and renamed, so that
it is either whole or not there.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

SCHEMA = 1
TABLES = ("flow_series", "link_series", "transfer", "event", "gauge")


def no_gauges() -> pl.DataFrame:
    """Give the table of gauges of a run whose queues have none."""
    import polars as pl

    words = pl.Categorical()
    return pl.DataFrame(
        schema={"t_s": pl.Float64, "link": words, "gauge": words, "value": pl.Float64}
    )


@dataclass(frozen=True, kw_only=True)
class Record:
    """What one run gave: `meta` says of what, the tables say what happened.

    The tables are polars frames over the engine's own Arrow columns, taken without a copy; whatever
    knows the Arrow PyCapsule interface takes them from here in the same way.

    | table | one row for each | columns |
    |---|---|---|
    | `flow_series` | flow and bin, by flow | `t_s` (start of the bin, s), `flow`; in the bin:
      `delivered_bytes`, `goodput_bytes`, `carried_bytes` (payload that the slowest link sent),
      `sent`, `retransmitted`, `copied` (by links), `lost` (packets; of those sent in the bin, and
      their copies, whenever they were dropped), `rtt_samples`;
      means over the bin: `cwnd_packets`, `ssthresh_packets`, `rtt_s`, `one_way_s` (s) |
    | `link_series` | link and bin, by link | `t_s`, `link`; in the bin: `busy_s`, `arrived`,
      `dropped`, `marked` (packets; of those that `arrived` in the bin); means: `backlog_packets`,
      `backlog_bytes`;
      where the rate of a link changes also `sent_bytes` and `capacity_bytes` (what it could send) |
    | `gauge` | link, gauge of its queue, and bin | `t_s`, `link`, `gauge`, `value`: what the queue
      tells of itself at the start of the bin, before anything happens then; names and units are
      on the queue's page and in `catalogue()["queues"]`; no rows where no queue has gauges |
    | `transfer` | transfer | `flow`, `start_s`, `end_s` (null while unfinished), `bytes` |
    | `event` | event | `t_s`, `kind`, `flow`, `value`: `reduction` (the window after it), `marked`
      (the same, for the echo of a mark), `timeout` (the timeout, s), `recovered` (the window),
      `undone` (since when a sender takes back what it did, s), `mode` (what the controller does
      from then on, by the number on its page) |
    """

    meta: Mapping[str, Any]
    flow_series: pl.DataFrame
    link_series: pl.DataFrame
    transfer: pl.DataFrame
    event: pl.DataFrame
    gauge: pl.DataFrame = field(default_factory=no_gauges)
    trace: pl.DataFrame | None = None
    """Evidence per packet, where a run was asked for it; it is written by `fairhaul.trace`."""

    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables by name."""
        return {name: getattr(self, name) for name in TABLES}

    def to_pandas(self) -> dict[str, pd.DataFrame]:
        """The tables by name as pandas frames of the same shapes and units.

        What is missing is NaN, names are categories.

        Raises:
            ImportError: pandas is not there; it comes with the extra `fairhaul[pandas]`.
        """
        try:
            import pandas as pd
        except ImportError:
            raise ImportError("pandas is missing: pip install 'fairhaul[pandas]'") from None
        return {
            name: pd.DataFrame({column.name: _for_pandas(column) for column in table})
            for name, table in self.tables().items()
        }


def _for_pandas(column: pl.Series) -> Any:
    """The values of a column as pandas takes them, without pyarrow between."""
    import pandas as pd

    if column.dtype.is_numeric():
        return column.to_numpy()
    names = column.unique(maintain_order=True).to_list()
    return pd.Categorical(column.to_list(), categories=names)


def write(record: Record, directory: str | Path) -> None:
    """Write `record` into the new directory `directory`: Parquet tables and `meta.json`.

    Raises:
        FileExistsError: `directory` is there and is not empty.
        OSError: it cannot be written; then nothing of it is left.
    """
    with new_directory(directory) as draft:
        write_files(record, draft)


def write_files(record: Record, directory: Path) -> None:
    """Write the files of `record` into a directory that is there."""
    directory.mkdir(exist_ok=True)
    for name, table in record.tables().items():
        table.write_parquet(directory / f"{name}.parquet")
    write_json(dict(record.meta), directory / "meta.json")


def write_json(value: object, file: Path) -> None:
    """Write `value` as a JSON file that people can read."""
    file.write_text(json.dumps(value, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def read(directory: str | Path) -> Record:
    """Read the record in `directory`; one from before there were gauges has none.

    Raises:
        OSError: a file is missing or cannot be read.
        ValueError: `directory` holds a record of another schema.
    """
    import polars as pl

    directory = Path(directory)
    meta = json.loads((directory / "meta.json").read_text(encoding="utf-8"))
    if meta.get("schema") != SCHEMA:
        raise ValueError(f"{directory}: a record of schema {SCHEMA} is wanted")
    files = {name: directory / f"{name}.parquet" for name in TABLES}
    there = {name: file for name, file in files.items() if name != "gauge" or file.is_file()}
    tables = {name: pl.read_parquet(file) for name, file in there.items()}
    return Record(meta=meta, **tables)


def is_free(directory: Path) -> bool:
    """Whether a record may be written to `directory`: it is not there, or empty."""
    if not directory.exists():
        return True
    return directory.is_dir() and not any(directory.iterdir())


@contextmanager
def new_directory(directory: str | Path) -> Iterator[Path]:
    """Give a draft directory that takes the place of `directory` once it is complete."""
    directory = Path(directory)
    if not is_free(directory):
        raise FileExistsError(f"{directory} is there already and is not empty")
    directory.parent.mkdir(parents=True, exist_ok=True)
    draft = directory.with_name(f".{directory.name}.{os.getpid()}.draft")
    draft.mkdir()
    try:
        yield draft
        draft.replace(directory)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
