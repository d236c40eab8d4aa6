"""Packet traces: what the two hosts of a flow sent and received, in the formats of common tools.

The table has a row per packet and place: `t_s`, `what` (`sent`, `received`, `dropped`, `ack_sent`,
`ack_received`, `ack_dropped`), `connection`, `number` (of a data packet; of an acknowledgement, the
next expected), `bytes` on the wire, `opens`, `again` (a retransmission), `sack` (runs `from-to`,
`to` not included), `ecn` (the codepoint of a data packet at that place: `Not-ECT`, `ECT(0)`,
`ECT(1)` or `CE`), the flags `cwr` and `ece` (RFC 3168), and after an acknowledgement the sender's
`cwnd_packets` and `srtt_s`. Of a connection that has requested accurate feedback (RFC 9768) the
flags are `ace`, a number of three bits, and `accecn` has the counters of the option: bytes with
ECT(0), CE and ECT(1), with `-` for one that is missing. Data packets have both in `linux` alone.

The packets of a connection are numbered in the order in which they were first sent. In the engine
`linux`, where a packet may have less than a full payload, a retransmission has the number of the
packet that its first byte was in. `cwnd_packets` is there what the kernel has at the next packet
that arrives, and `srtt_s` is known 100 times a second, when a run polls the kernel; elsewhere it
is null.

Of a transport stack the record of a traced run also has the contents of the first 256 MiB of its
datagrams, the keys with which Wireshark decrypts them, and the qlogs of both ends, as far as the
stack gives them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairhaul.scenario.engines import FACTS
from fairhaul.scenario.packets import HEADER_BYTES, STAMPED_BYTES, header_bytes, is_datagrams

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from fairhaul.record.record import Record
    from fairhaul.record.trace.outlet import Outlet

FORMATS = ("pcapng", "qlog", "csv")


@dataclass(frozen=True, kw_only=True)
class Traced:
    """The rows of a trace, and what its formats have to know of the packets in it."""

    rows: pl.DataFrame
    """The table, with the `payload` of each data packet, bytes."""
    payload: int
    """The payload of a full packet, bytes."""
    segment: int
    """The maximum segment size that the hosts agree on, bytes."""
    datagrams: bool
    """Whether the flow sends datagrams instead of TCP segments: it has no connection, or a stack of
    others has it."""
    ecn: bool
    """Whether the flow uses explicit congestion notification."""
    has_options: bool
    """Whether what packets have beside 40 bytes of headers and payload are options of TCP."""

    offsets: Mapping[int, Sequence[int]]
    """Where the packets of each connection begin, and where the last one ends, bytes; empty in the
    simulator, where all packets but the last are full."""
    outlet: Outlet | None = None
    """What the transport stack of the flow gave beside its packets."""

    def offset(self, connection: int, number: int) -> int:
        """Give where packet `number` of a connection begins, bytes."""
        begins = self.offsets.get(connection)
        return number * self.payload if begins is None else begins[min(number, len(begins) - 1)]


def write(record: Record, flow: str, form: str, file: Path) -> None:
    """Write the trace of `record`, made for `flow`, to `file` in one of `FORMATS`.

    With `qlog`, the logs that a transport stack has written itself are beside it.

    Raises:
        ValueError: the record has no trace, or the format is unknown.
    """
    from fairhaul.record.trace import pcapng, qlog

    if record.trace is None:
        raise ValueError("this run was not traced")
    match form:
        case "csv":
            record.trace.write_csv(file)
        case "pcapng":
            file.write_bytes(pcapng.capture(traced(record, flow)))
        case "qlog":
            file.write_text(qlog.log(traced(record, flow), flow), encoding="utf-8")
            write_logs(record, file)
        case _:
            raise ValueError(f"{form!r} is not one of {', '.join(FORMATS)}")


def write_logs(record: Record, file: Path) -> list[Path]:
    """Write what the ends of a transport stack have logged beside `file`, as far as they have.

    The files are called `NAME.sender.sqlog` and `NAME.receiver.sqlog`: qlog as a sequence of JSON
    texts.
    """
    if record.outlet is None:
        return []
    files = []
    for end, text in zip(("sender", "receiver"), record.outlet.logs, strict=True):
        if text:
            files.append(file.with_name(f"{file.stem}.{end}.sqlog"))
            files[-1].write_bytes(text)
    return files


def traced(record: Record, flow: str) -> Traced:
    """Give the trace of `record`, made for `flow`, in the form that its formats are written from.

    Raises:
        ValueError: the record has no trace.
    """
    import polars as pl

    if record.trace is None:
        raise ValueError("this run was not traced")
    described = next(f for f in record.meta["scenario"]["flows"] if f["name"] == flow)
    engine, datagrams = record.meta["engine"], is_datagrams(described)
    headers = header_bytes(described, engine)
    # A congestion header of the simulator is none of TCP's options, and may leave them no room.
    has_options = headers == STAMPED_BYTES
    payload = int(described["packet_bytes"]) - headers
    rows = record.trace.with_columns(
        pl.col("what", "ecn").cast(pl.String),
        (pl.col("bytes").cast(pl.Int64) - headers - option_bytes(pl.col("accecn"))).alias(
            "payload"
        ),
    )
    return Traced(
        rows=rows,
        payload=payload,
        # Time stamps are not part of the size, unlike a congestion header.
        segment=payload + STAMPED_BYTES - HEADER_BYTES if has_options else payload,
        datagrams=datagrams,
        ecn=bool(described.get("ecn")),
        has_options=has_options,
        offsets=_offsets(rows) if FACTS[engine].kernel and not datagrams else {},
        outlet=record.outlet,
    )


def option_bytes(accecn: pl.Expr) -> pl.Expr:
    """Give what the option of accurate feedback takes of packets, by the column `accecn`.

    It has two bytes, three for each counter, and padding to words of four.
    """
    import polars as pl

    counters = accecn.str.count_matches(r"\d+").cast(pl.Int64)
    return pl.when(accecn == "").then(0).otherwise((5 + 3 * counters) // 4 * 4)


def _offsets(rows: pl.DataFrame) -> dict[int, list[int]]:
    """Give where packets begin, by the payload with which each was first sent."""
    of_packet = ["connection", "number"]
    sent = rows.filter(what="sent", opens=False)
    first = sent.unique(of_packet, keep="first", maintain_order=True).sort(of_packet)
    offsets: dict[int, list[int]] = {}
    for connection, number, payload in first.select(*of_packet, "payload").iter_rows():
        begins = offsets.setdefault(connection, [0])
        # A packet that the sender's own queue dropped may never have been seen.
        begins += begins[-1:] * (number + 1 - len(begins))
        begins.append(begins[-1] + payload)
    return offsets


def runs(sack: str) -> list[tuple[int, int]]:
    """Read the `sack` column: the first packet of each run, and the first after it."""
    pairs = (run.split("-") for run in sack.split())
    return [(int(first), int(after)) for first, after in pairs]
