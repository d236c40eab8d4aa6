"""The record of a run: five things in memory, five files in a directory.

Tables are Parquet, `meta` is JSON. A directory is written beside its place and renamed, so that
it is either whole or not there.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

SCHEMA = 1
TABLES = ("flow_series", "link_series", "transfer", "event")


@dataclass(frozen=True, kw_only=True)
class Record:
    """What one run gave: `meta` says of what, the tables say what happened."""

    meta: Mapping[str, Any]
    flow_series: pl.DataFrame
    link_series: pl.DataFrame
    transfer: pl.DataFrame
    event: pl.DataFrame
    trace: pl.DataFrame | None = None
    """Evidence per packet, where a run was asked for it; it is written by `fairhaul.trace`."""

    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables by name."""
        return {name: getattr(self, name) for name in TABLES}


def write(record: Record, directory: str | Path) -> None:
    """Write `record` into the new directory `directory`."""
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
    """Read the record in `directory`."""
    import polars as pl

    directory = Path(directory)
    meta = json.loads((directory / "meta.json").read_text(encoding="utf-8"))
    if meta.get("schema") != SCHEMA:
        raise ValueError(f"{directory}: a record of schema {SCHEMA} is wanted")
    tables = {name: pl.read_parquet(directory / f"{name}.parquet") for name in TABLES}
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
