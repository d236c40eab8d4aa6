"""The table of connections of this host, for `fairhaul flows` and `fairhaul kernel status`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairhaul.measures.limits import limited_by
from fairhaul.text.table import Table

COLUMNS = (
    "controller",
    "from",
    "to",
    "namespace",
    "limited by",
    "Mbit/s",
    "cwnd",
    "ssthresh",
    "RTT ms",
    "min RTT ms",
    "retrans %",
    "retrans % total",
    "packets",
    "pacing Mbit/s",
)
# Columns without which a narrow terminal shows the others; the last is dropped first.
LEAST = (
    *("limited by", "cwnd", "from", "min RTT ms", "pacing Mbit/s", "ssthresh"),
    *("retrans % total", "packets", "namespace"),
)


def flow_table(title: str, flows: Sequence[Mapping[str, Any]]) -> Table:
    """Lay out connections, a row each."""
    rows = [_row(flow) for flow in flows]
    return Table(title=title, columns=COLUMNS, rows=rows, words=5, least=LEAST)


def _row(flow: Mapping[str, Any]) -> list[str]:
    return [
        flow["controller"],
        flow["local"],
        flow["remote"],
        flow["namespace"] or "-",
        limited_by(flow["limits"]) or "-",
        _number(flow["rate_bps"], 1, 1e6),
        _with_bounds(flow, "cwnd", "cwnd", 0),
        _number(flow["ssthresh"], 0),
        _with_bounds(flow, "rtt_ms", "rtt", 2),
        _number(flow["min_rtt_ms"], 2),
        _percent(flow["recent"]),
        _percent(flow),
        str(flow["sent"]),
        _number(flow["pacing_rate_bps"], 1, 1e6),
    ]


def _number(value: float | None, digits: int, scale: float = 1.0) -> str:
    return "-" if value is None else f"{value / scale:.{digits}f}"


def _with_bounds(flow: Mapping[str, Any], key: str, bound: str, digits: int) -> str:
    """Write a value, and in brackets its bounds between two looks."""
    value = _number(flow[key], digits)
    if (bounds := flow["bounds"]) is None:
        return value
    suffix = key.removeprefix(bound)
    least, most = (_number(bounds[f"{bound}_{which}{suffix}"], digits) for which in ("min", "max"))
    return value if least == most else f"{value} [{least}, {most}]"


def _percent(counts: Mapping[str, int] | None) -> str:
    if counts is None or not counts["sent"]:
        return "-"
    return f"{100 * counts['retransmitted'] / counts['sent']:.2f}"
