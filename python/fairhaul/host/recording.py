"""A recording of flows: what each look found, as rows of Parquet files in a directory.

The file that grows is written anew at each look, beside its former state, and then takes its name:
whatever ends the process, each file is complete, and at most the last look is missing. The columns
are documented in `docs/monitoring.md`.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairhaul.files import files
from fairhaul.host.process import Refused

if TYPE_CHECKING:
    import polars as pl

    from fairhaul.host.results import Look

# Rows of a file at most; the rows of one look are in one file. The open file is kept in memory.
ROWS = 5000
# Bytes of all files at which a recording ends.
MOST_BYTES = 256_000_000
# A file that is larger was not made by a recording.
LARGEST_FILE = 64_000_000
# The time after which a recording ends unless another one is asked for.
MOST_S = 86_400.0

FILES = re.compile(r"flows-([0-9]{6,})\.parquet")
MAGIC = b"PAR1"

Value = Callable[[Mapping[str, Any]], Any]


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column: its type in Arrow, and its value from a flow of a look."""

    type: str
    value: Value


def _same(key: str) -> Value:
    # An older `fairhaul-host` may not report a key.
    return lambda flow: flow.get(key)


def _address(key: str) -> Value:
    return lambda flow: flow[key].rpartition(":")[0].strip("[]")


def _port(key: str) -> Value:
    return lambda flow: int(flow[key].rpartition(":")[2])


def _bound(key: str) -> Value:
    return lambda flow: None if flow["bounds"] is None else flow["bounds"][key]


def _limit(name: str) -> Value:
    return lambda flow: None if not flow["limits"] else flow["limits"].get(name, 0.0)


def _main_limit(flow: Mapping[str, Any]) -> str | None:
    parts = flow["limits"]
    return max(parts, key=parts.__getitem__) if parts else None


# The columns after the time of the look, `unix_s`.
COLUMNS: dict[str, Column] = {
    "namespace": Column(type="String", value=_same("namespace")),
    "cookie": Column(type="UInt64", value=_same("cookie")),
    "local_address": Column(type="String", value=_address("local")),
    "local_port": Column(type="Int64", value=_port("local")),
    "peer_address": Column(type="String", value=_address("remote")),
    "peer_port": Column(type="Int64", value=_port("remote")),
    "uid": Column(type="Int64", value=_same("uid")),
    "mark": Column(type="Int64", value=_same("mark")),
    "controller": Column(type="String", value=_same("controller")),
    "limited_by": Column(type="String", value=_main_limit),
    "limit_congestion_window": Column(type="Float64", value=_limit("congestion window")),
    "limit_pacing_cap": Column(type="Float64", value=_limit("pacing cap")),
    "limit_receive_window": Column(type="Float64", value=_limit("receive window")),
    "limit_send_buffer": Column(type="Float64", value=_limit("send buffer")),
    "limit_application": Column(type="Float64", value=_limit("application")),
    "rate_bps": Column(type="Float64", value=_same("rate_bps")),
    "cwnd": Column(type="Int64", value=_same("cwnd")),
    "cwnd_min": Column(type="Int64", value=_bound("cwnd_min")),
    "cwnd_max": Column(type="Int64", value=_bound("cwnd_max")),
    "ssthresh": Column(type="Int64", value=_same("ssthresh")),
    "mss": Column(type="Int64", value=_same("mss")),
    "rtt_ms": Column(type="Float64", value=_same("rtt_ms")),
    "min_rtt_ms": Column(type="Float64", value=_same("min_rtt_ms")),
    "rtt_min_ms": Column(type="Float64", value=_bound("rtt_min_ms")),
    "rtt_max_ms": Column(type="Float64", value=_bound("rtt_max_ms")),
    "pacing_rate_bps": Column(type="Float64", value=_same("pacing_rate_bps")),
    "delivery_rate_bps": Column(type="Float64", value=_same("delivery_rate_bps")),
    "app_limited": Column(type="Boolean", value=_same("app_limited")),
    "acked_bytes": Column(type="Int64", value=_same("acked_bytes")),
    "sent": Column(type="Int64", value=_same("sent")),
    "retransmitted": Column(type="Int64", value=_same("retransmitted")),
    "unsent_bytes": Column(type="Int64", value=_same("unsent_bytes")),
    "busy_s": Column(type="Float64", value=_same("busy_s")),
    "receive_window_s": Column(type="Float64", value=_same("receive_window_s")),
    "send_buffer_s": Column(type="Float64", value=_same("send_buffer_s")),
    "delivered": Column(type="Int64", value=_same("delivered")),
    "delivered_marked": Column(type="Int64", value=_same("delivered_marked")),
    "sent_bytes": Column(type="Int64", value=_same("sent_bytes")),
    "retransmitted_bytes": Column(type="Int64", value=_same("retransmitted_bytes")),
    "peer_window_bytes": Column(type="Int64", value=_same("peer_window_bytes")),
    "own_window_bytes": Column(type="Int64", value=_same("own_window_bytes")),
    "timeouts": Column(type="Int64", value=_same("timeouts")),
    "received_marked": Column(type="Int64", value=_same("received_marked")),
}


def schema() -> dict[str, pl.DataType]:
    """Give the columns and their types."""
    import polars as pl

    types = {name: getattr(pl, of.type)() for name, of in COLUMNS.items()}
    return {"unix_s": pl.Float64(), **types}


@dataclass(kw_only=True)
class Recording:
    """The recording that is made in a directory.

    `looks` counts the looks, `size_bytes` the bytes of all files.
    """

    directory: Path
    rows_per_file: int = ROWS
    looks: int = 0
    size_bytes: int = 0
    _rows: list[tuple[Any, ...]] = field(default_factory=list)
    _number: int = 1
    _closed_bytes: int = 0

    @property
    def is_full(self) -> bool:
        """Whether the recording has reached its largest size."""
        return self.size_bytes >= MOST_BYTES

    def add(self, look: Look) -> None:
        """Write a look: afterwards nothing of it can be lost.

        Raises:
            OSError: it cannot be written; the looks before it are complete.
        """
        values = [of.value for of in COLUMNS.values()]
        added = [(look["unix_s"], *(value(flow) for value in values)) for flow in look["flows"]]
        self.looks += 1
        if not added:
            return
        if self._rows and len(self._rows) + len(added) > self.rows_per_file:
            self._rows, self._number = [], self._number + 1
            self._closed_bytes = self.size_bytes
        self._rows += added
        content = _parquet(self._rows)
        files.replace(self.directory / f"flows-{self._number:06}.parquet", content)
        self.size_bytes = self._closed_bytes + len(content)


def new_recording(directory: Path) -> Recording:
    """Begin a recording in a directory that is new or empty; a new one is for its owner alone.

    Raises:
        Refused: it holds something.
        OSError: it cannot be made.
    """
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise Refused(f"{directory}: is not an empty directory; name a new one for the recording")
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return Recording(directory=directory)


def _parquet(rows: list[tuple[Any, ...]]) -> bytes:
    import polars as pl

    buffer = io.BytesIO()
    pl.DataFrame(rows, schema=schema(), orient="row").write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


def files_of(place: Path) -> list[Path]:
    """Give the files of a recording in their order: those of a directory, or the file itself."""
    if not place.is_dir():
        return [place]
    numbered = {entry: FILES.fullmatch(entry.name) for entry in place.iterdir()}
    return sorted((of for of, match in numbered.items() if match), key=lambda of: _number(of.name))


def _number(name: str) -> int:
    match = FILES.fullmatch(name)
    return int(match[1]) if match else 0


def is_recording(place: Path) -> bool:
    """Whether a place is a directory, or begins like a file of a recording."""
    if place.is_dir():
        return True
    try:
        with place.open("rb") as opened:
            return place.is_file() and opened.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def read_columns(file: Path, columns: list[str]) -> Iterator[tuple[Any, ...]]:
    """Give the rows of a file of a recording, with some of its columns.

    Raises:
        ValueError: it is no file of a recording.
        OSError: it cannot be read.
    """
    import polars as pl

    content = files.read(file, LARGEST_FILE)
    wanted = schema()
    try:
        found = dict(pl.read_parquet_schema(io.BytesIO(content)))
        lacking = [name for name in columns if found.get(name) != wanted[name]]
        if lacking:
            raise ValueError(f"has no column {lacking[0]!r} as `fairhaul flows --record` writes it")
        rows = pl.scan_parquet(io.BytesIO(content)).select(pl.len()).collect().item()
        # A look may have more rows than a file otherwise has; a row has many bytes that differ.
        if rows > max(ROWS, len(content)):
            raise ValueError("claims to have more rows than it has room for")
        frame = pl.read_parquet(io.BytesIO(content), columns=columns)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise ValueError(f"is damaged ({str(error).splitlines()[0]})") from None
    return frame.select(columns).iter_rows()
