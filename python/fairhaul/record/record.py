"""The record of a run: `meta` and eight tables in memory, nine files in a directory.

Tables are Parquet, `meta` is JSON. `drafts` writes a directory completely or not at all.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from fairhaul import _core
from fairhaul.files.drafts import new_directory
from fairhaul.record.integrity import (
    NUMBERS,
    WORDS,
    check_digest,
    check_meta,
    check_tables,
    digest,
    digest_of_meta,
)
from fairhaul.text.table import Table as Printed
from fairhaul.text.table import html

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from fairhaul.record.columns import Table
    from fairhaul.record.trace.outlet import Outlet

# What of `meta` differs between runs that are the same, and is therefore not in their files.
NOT_WRITTEN = frozenset({"cpu_s"})
# The record of schema 1 had no digests, and counted a packet's loss where it was lost.
SCHEMA = 2
META = "meta.json"
TABLES = (
    *("flow_series", "link_series", "transfer", "event"),
    *("gauge", "flow_gauge", "queue_delay", "limit"),
)
# What records of earlier versions do not have.
LATER = frozenset({"flow_gauge", "queue_delay", "limit"})


def _empty(words: Sequence[str], numbers: Sequence[str]) -> pl.DataFrame:
    import polars as pl

    columns = sorted((*words, *numbers), key=lambda column: column != "t_s")
    kinds = {column: pl.Categorical() if column in words else pl.Float64 for column in columns}
    return pl.DataFrame(schema=kinds)


class Frame:
    """A field with a table of the engine, which becomes a polars frame when it is first read.

    Loading polars takes longer than a short run, whose figures need none of it.
    """

    def __init__(self, *, optional: bool = False) -> None:
        """Describe a field; an optional table has no rows by default."""
        self._optional = optional

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, record: object | None, owner: type) -> pl.DataFrame:
        if record is None:  # the dataclass asks whether the field has a default
            if not self._optional:
                raise AttributeError(self._name)
            return cast("pl.DataFrame", None)
        table = vars(record)[self._name]
        if table is None and self._optional:
            table = _empty(WORDS[self._name], NUMBERS[self._name])
            vars(record)[self._name] = table
        elif isinstance(table, _core.Table):
            import polars as pl

            table = vars(record)[self._name] = pl.DataFrame(table)
        return cast("pl.DataFrame", table)

    def __set__(self, record: object, table: Table | None) -> None:
        vars(record)[self._name] = table


@dataclass(frozen=True, kw_only=True)
class Record:
    """The record of one run: `meta` describes the run, the tables hold what happened.

    The tables are polars frames over the engine's own Arrow columns, without a copy; any library
    with the Arrow PyCapsule interface can take them in the same way.

    The tables, with what a row is and the columns:

    - `flow_series`, a row for each flow and bin, by flow: `t_s` (start of the bin, s), `flow`; in
      the bin: `delivered_bytes`, `goodput_bytes`, `carried_bytes` (payload that the slowest link
      sent), `sent`, `retransmitted`, `copied` (by links), `lost` (packets sent in the bin, and
      their copies, whenever they were dropped), `rtt_samples`;
      means over the bin: `cwnd_packets` (missing where a transport stack does not show it),
      `ssthresh_packets` (missing where it is not set), `rtt_s`, `one_way_s` (s).
    - `link_series`, a row for each link and bin, by link: `t_s`, `link`; in the bin: `busy_s`,
      `arrived`, `dropped`, `marked` (packets that `arrived` in the bin); means:
      `backlog_packets`, `backlog_bytes`;
      where the rate of a link changes also `sent_bytes` and `capacity_bytes` (what it could send).
    - `gauge`, a row for each link, gauge of its queue, and bin: `t_s`, `link`, `gauge`, `value`:
      the queue's state at the start of the bin, before any event at that time; names and units
      are on the queue's page and in `catalogue()["queues"]`; no rows where no queue has gauges.
    - `flow_gauge`, a row for each flow, gauge of its controller, and bin: `t_s`, `flow`, `gauge`,
      `value`: what the controller of the flow's newest open connection holds at the start of the
      bin, missing where none is open or the value is not known yet; names and units are on the
      controller's page and in `catalogue()["controllers"]`; no rows in the lab and in `linux`.
    - `queue_delay`, a row for each link and span of time, by link, ascending: `link`, `from_s`,
      `below_s`, `packets`: the number of packets that left the link in the measured time and whose
      last bit left it that long after they had arrived; a span is at most a 64th of its start. No
      rows with more than 1000 links.
    - `limit`, a row for each flow and what kept it from sending more: `flow`, `limit`, `time_s`,
      of the measured time; of several connections the sum. `limit` is `congestion window` (or the
      pacing of the controller or the host), `pacing cap`, `receive window`, `send buffer` or
      `application`.
    - `transfer`, a row for each transfer: `flow`, `start_s`, `end_s` (null while unfinished),
      `bytes`.
    - `event`, a row for each event: `t_s`, `kind`, `flow`, `value`: `reduction` (the window after
      it), `marked` (the same, for the echo of a mark), `timeout` (the timeout, s), `recovered`
      (the window), `undone` (the time since which reductions are undone, s), `mode` (the
      controller's mode from then on, by the number on its page).
    """

    meta: Mapping[str, Any]
    flow_series: Frame = Frame()
    link_series: Frame = Frame()
    transfer: Frame = Frame()
    event: Frame = Frame()
    gauge: Frame = Frame(optional=True)
    flow_gauge: Frame = Frame(optional=True)
    queue_delay: Frame = Frame(optional=True)
    limit: Frame = Frame(optional=True)
    trace: pl.DataFrame | None = None
    """The packet trace, if one was requested; `fairhaul.record.trace` writes it."""
    outlet: Outlet | None = None
    """What the transport stack of the traced flow gave beside its packets."""

    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables by name."""
        return {name: getattr(self, name) for name in TABLES}

    def raw(self, name: str) -> Table:
        """The table `name` for `columns_of`: the engine's own, or a polars frame."""
        table: Table | None = vars(self)[name]
        return getattr(self, name) if table is None else table

    def __getstate__(self) -> dict[str, Any]:
        # The engine's tables cannot be pickled.
        return {**vars(self), **self.tables()}

    def _repr_html_(self) -> str:
        rows = [
            [name, f"{len(frame):,}", ", ".join(frame.columns)]
            for name, frame in self.tables().items()
        ]
        of = f"engine {self.meta['engine']}, seed {self.meta['seed']}"
        title = f"{self.meta['scenario']['title']}: record of {of}"
        return html([Printed(title=title, columns=["table", "rows", "columns"], rows=rows)])

    def to_pandas(self) -> dict[str, pd.DataFrame]:
        """The tables by name as pandas frames of the same shapes and units.

        Missing values are NaN, names are categories.

        Raises:
            ImportError: pandas is not installed; it comes with the extra `fairhaul[pandas]`.
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
    """The values of a column as pandas takes them, without pyarrow."""
    import pandas as pd

    if column.dtype.is_numeric():
        return column.to_numpy()
    names = column.unique(maintain_order=True).to_list()
    return pd.Categorical(column.to_list(), categories=names)


def write_record(record: Record, directory: str | Path) -> None:
    """Write `record` into the new directory `directory`: Parquet tables and `meta.json`.

    Raises:
        FileExistsError: `directory` exists and is not empty, or another run writes to it.
        OSError: it cannot be written; nothing is left, or, if the record is complete but could not
            be renamed, the error says where it is.
    """
    with new_directory(directory) as draft:
        write_files(record, draft)


def write_files(record: Record, directory: Path, key: str | None = None) -> None:
    """Write the files of `record` into an existing directory, `meta.json` last.

    `meta.json` has the SHA-256 of every table and of itself, so that reading detects damage. `key`
    is that of the run in a store, by which a later command recognises it. The files of two runs
    that are the same are the same to the byte, so the processor time is not among them.
    """
    directory.mkdir(exist_ok=True)
    digests = {}
    for name, table in record.tables().items():
        buffer = io.BytesIO()
        table.write_parquet(buffer)
        digests[name] = digest(buffer.getvalue())
        (directory / f"{name}.parquet").write_bytes(buffer.getvalue())
    kept = {name: value for name, value in record.meta.items() if name not in NOT_WRITTEN}
    meta = {**kept, "schema": SCHEMA} | ({} if key is None else {"key": key})
    digests["meta"] = digest_of_meta(meta)
    text = json.dumps({**meta, "digests": digests}, indent=2, allow_nan=False) + "\n"
    # The record is complete when it is there, so it is there whole. A run that is made again after
    # a kill takes the same draft.
    draft = directory / f".{META}.draft"
    draft.write_text(text, encoding="utf-8")
    draft.replace(directory / META)


def read_record(directory: str | Path) -> Record:
    """Read the record in `directory`.

    Raises:
        OSError: a file is missing or cannot be read.
        ValueError: it is damaged, or not a record of this schema.
    """
    directory = Path(directory)
    meta = _read_meta(directory)
    digests = meta.pop("digests", None)
    if not isinstance(digests, dict):
        raise ValueError("meta.json is damaged: it has no digests")
    check_digest("meta", digest_of_meta(meta), digests)
    check_meta(meta)
    tables: dict[str, Any] = {}
    for name in TABLES:
        if name in LATER and name not in digests and not (directory / f"{name}.parquet").exists():
            continue
        content = (directory / f"{name}.parquet").read_bytes()
        check_digest(name, digest(content), digests)
        tables[name] = _read_table(name, content)
    check_tables(meta, tables)
    return Record(meta=meta, **tables)


def _read_meta(directory: Path) -> dict[str, Any]:
    """Read `meta.json`, and check its schema."""
    try:
        meta = json.loads((directory / META).read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError(f"meta.json is not UTF-8 at byte {error.start}") from None
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"meta.json is not JSON: {error}") from None
    if not isinstance(meta, dict):
        raise ValueError("meta.json is not an object")
    if meta.get("schema") != SCHEMA:
        raise ValueError(
            f"meta.json has schema {meta.get('schema')!r}, but this version reads "
            f"schema {SCHEMA}; run the scenario again"
        )
    return meta


def _read_table(name: str, content: bytes) -> pl.DataFrame:
    import polars as pl

    try:
        return pl.read_parquet(io.BytesIO(content))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        why = str(error).partition("\n")[0]
        raise ValueError(f"{name}.parquet is damaged: {why}") from None
