"""A log in the qlog format at the sender, for qvis.

qlog was made for QUIC; TCP's data packets become its 1-RTT packets with one stream frame, and
acknowledgements become packets with an ACK frame. Datagrams become 1-RTT packets with one DATAGRAM
frame [RFC 9221], and are not acknowledged: what the answers of a transport stack acknowledge is
not known, so they have no frames. A dropped packet is logged as lost at the time of its drop, which
a real sender learns only later. Only the first connection of the flow is logged, because a qlog
trace has one vantage point and one connection. The window and the round-trip time are in the log
where the trace has them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fairhaul.record.trace import Traced, runs

if TYPE_CHECKING:
    from collections.abc import Mapping


def log(traced: Traced, flow: str) -> str:
    """Give the log of the first connection of a trace of `flow`, as JSON text."""
    rows = traced.rows
    first = rows.filter((rows["connection"] == rows["connection"].min()) & ~rows["opens"])
    events = [event for row in first.iter_rows(named=True) for event in _events(row, traced)]
    trace = {
        "title": flow,
        "vantage_point": {"name": flow, "type": "client"},
        "common_fields": {"ODCID": "00", "time_format": "absolute", "reference_time": 0},
        "events": events,
    }
    return json.dumps(
        {"qlog_version": "0.3", "qlog_format": "JSON", "title": flow, "traces": [trace]}
    )


def _events(row: Mapping[str, Any], traced: Traced) -> list[dict[str, Any]]:
    match row["what"]:
        case "sent":
            frame = _datagram(row) if traced.datagrams else _stream(row, traced)
            return [_event(row, "transport:packet_sent", _packet(row, [frame]))]
        case "dropped":
            header = {"packet_type": "1RTT", "packet_number": row["number"]}
            return [_event(row, "recovery:packet_lost", {"header": header})]
        case "ack_received":
            metrics: dict[str, float] = {}
            if row["cwnd_packets"] is not None:
                metrics["congestion_window"] = round(row["cwnd_packets"] * traced.payload)
            if row["srtt_s"] is not None:
                metrics["smoothed_rtt"] = row["srtt_s"] * 1000
            frames = [] if traced.datagrams else [_acknowledged(row)]
            received = _event(row, "transport:packet_received", _packet(row, frames))
            changed = _event(row, "recovery:metrics_updated", metrics)
            return [received, changed] if metrics else [received]
        case _:
            return []


def _event(row: Mapping[str, Any], name: str, data: dict[str, Any]) -> dict[str, Any]:
    return {"time": row["t_s"] * 1000, "name": name, "data": data}


def _packet(row: Mapping[str, Any], frames: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "header": {"packet_type": "1RTT", "packet_number": row["number"]},
        "raw": {"length": row["bytes"]},
        "frames": frames,
    }


def _stream(row: Mapping[str, Any], traced: Traced) -> dict[str, Any]:
    return {
        "frame_type": "stream",
        "stream_id": 0,
        "offset": traced.offset(row["connection"], row["number"]),
        "length": row["payload"],
    }


def _datagram(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"frame_type": "datagram", "length": row["payload"]}


def _acknowledged(row: Mapping[str, Any]) -> dict[str, Any]:
    """Give an ACK frame: everything before the next packet, and the runs that are reported."""
    ranges = [[first, after - 1] for first, after in runs(row["sack"])]
    if row["number"] > 0:
        ranges.append([0, row["number"] - 1])
    return {"frame_type": "ack", "acked_ranges": ranges}
