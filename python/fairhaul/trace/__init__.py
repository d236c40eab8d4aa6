"""Packet traces: what the two hosts of a flow sent and received, in the formats of common tools.

The table has a row per packet and place: `t_s`, `what` (`sent`, `received`, `dropped`, `ack_sent`,
`ack_received`, `ack_dropped`), `connection`, `number` (of a data packet; of an acknowledgement, the
next expected), `bytes` on the wire, `opens`, `again` (a retransmission), `sack` (runs `from-to`,
`to` not included), `ecn` (the codepoint of a data packet at that place: `Not-ECT`, `ECT(0)` or
`CE`), the flags `cwr` and `ece` (RFC 3168), and after an acknowledgement the sender's
`cwnd_packets` and `srtt_s`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import polars as pl

    from fairhaul.record import Record

# IP and TCP, as the model counts them; a congestion header adds to it.
HEADER = 40

FORMATS = ("pcapng", "qlog", "csv")


def write(record: Record, flow: str, form: str, file: Path) -> None:
    """Write the trace of `record`, made for `flow`, to `file` in one of `FORMATS`.

    Raises:
        ValueError: the record has no trace, or the format is unknown.
    """
    from fairhaul.trace import pcapng, qlog

    table = record.trace
    if table is None:
        raise ValueError("this run was not traced")
    described = next(f for f in record.meta["scenario"]["flows"] if f["name"] == flow)
    match form:
        case "csv":
            table.write_csv(file)
        case "pcapng":
            file.write_bytes(pcapng.capture(table, described))
        case "qlog":
            file.write_text(qlog.log(table, flow, described), encoding="utf-8")
        case _:
            raise ValueError(f"{form!r} is not one of {', '.join(FORMATS)}")


def is_datagrams(described: Mapping[str, Any]) -> bool:
    """Whether a flow, as `described` in its record, sends datagrams instead of TCP segments."""
    return bool(described["traffic"]["kind"] == "cbr")


def runs(sack: str) -> list[tuple[int, int]]:
    """Read the `sack` column: the first packet of each run, and the first after it."""
    pairs = (run.split("-") for run in sack.split())
    return [(int(first), int(after)) for first, after in pairs]


def with_payload(table: pl.DataFrame, described: Mapping[str, Any]) -> tuple[pl.DataFrame, int]:
    """Give the rows with the `payload` of each data packet, and the payload of a full packet.

    The flow is `described` in its record.
    """
    headers = int(described.get("header_bytes", HEADER))
    carried = (table["bytes"].cast(int) - headers).alias("payload")
    return table.with_columns(carried), int(described["packet_bytes"]) - headers
