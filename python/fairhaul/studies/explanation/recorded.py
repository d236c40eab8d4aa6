"""What `fairhaul flows --record` has written of connections, explained look by look.

Between two looks the clocks of the kernel say how long the hosts limited a connection, as in the
output of `ss`; what they leave open is judged from the later look.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fairhaul.host import recording
from fairhaul.scenario.read import ScenarioError
from fairhaul.studies.explanation.limits import (
    AFTER_LOSS,
    LIMITS,
    QUEUE_PART,
    QUEUE_S,
    Limit,
    shares,
)
from fairhaul.studies.explanation.observed import LIMITED_FROM, Connection
from fairhaul.studies.explanation.observed import Limit as HostLimit
from fairhaul.studies.explanation.results import PERIODS, Explained, Period
from fairhaul.studies.explanation.sockets import after_loss, beside, of_socket, shares_of
from fairhaul.text.phrases import count_of

USED = [
    "unix_s",
    *("namespace", "cookie", "local_address", "local_port", "peer_address", "peer_port"),
    *("controller", "limit_pacing_cap", "mss", "rtt_ms", "min_rtt_ms", "delivery_rate_bps"),
    *("app_limited", "acked_bytes", "sent", "retransmitted", "busy_s", "receive_window_s"),
    *("send_buffer_s", "peer_window_bytes"),
]
Row = Mapping[str, Any]


@dataclass(kw_only=True)
class _Flow:
    """A connection: its first and last look, and how long what limited it, in all and by period."""

    first: Row
    last: Row
    rtt_ms: float
    lost_s: float = float("-inf")
    periods: list[dict[Limit, float]] = field(
        default_factory=lambda: [dict.fromkeys(LIMITS, 0.0) for _ in range(PERIODS)]
    )

    @property
    def seconds(self) -> dict[Limit, float]:
        """The time for which each limit held."""
        return {limit: sum(of[limit] for of in self.periods) for limit in LIMITS}


def of_recording(place: Path) -> tuple[list[Explained], list[str]]:
    """Explain the connections of a recording, largest first, and say what was not used.

    Raises:
        ScenarioError: there is no recording at the place, or it is damaged.
    """
    files = recording.files_of(place)
    if not files:
        raise ScenarioError(
            f"{place}: holds no recording; wanted a directory that `fairhaul flows --record` wrote"
        )
    # Rows are in the order of time.
    begin_s = next((row["unix_s"] for row in rows(files[0])), 0.0)
    end_s = max((row["unix_s"] for row in rows(files[-1])), default=begin_s)
    flows: dict[tuple[str, int], _Flow] = {}
    for file in files:
        for row in rows(file):
            _add(flows, row, begin_s, (end_s - begin_s) / PERIODS)
    used = [of for of in flows.values() if sum(of.seconds.values()) > 0]
    notes = []
    if left := len(flows) - len(used):
        notes.append(f"{place}: {count_of(left, 'connection')} with a single look: skipped.")
    pairs = [(_whole(of), of) for of in used]
    flow_of = {id(connection): of for connection, of in pairs}
    explained = [
        _explained(connection, large, flow_of[id(connection)], (begin_s, end_s))
        for connection, large in beside([connection for connection, _ in pairs])
    ]
    return sorted(explained, key=lambda of: -of.data_bytes), notes


def rows(file: Path) -> Iterator[Row]:
    """Give the rows of a file of a recording.

    Raises:
        ScenarioError: the file is damaged.
    """
    try:
        for values in recording.read_columns(file, USED):
            yield dict(zip(USED, values, strict=True))
    except ValueError as error:
        raise ScenarioError(f"{file}: {error}") from None


def _add(flows: dict[tuple[str, int], _Flow], row: Row, begin_s: float, period_s: float) -> None:
    """Add the time between the look before at a connection and this one to what limited it."""
    least_ms = row["min_rtt_ms"] or row["rtt_ms"]
    key = (row["namespace"], row["cookie"])
    if (of := flows.get(key)) is None:
        flows[key] = _Flow(first=row, last=row, rtt_ms=least_ms)
        return
    before, of.last = of.last, row
    of.rtt_ms = min(of.rtt_ms, least_ms)
    between = _connection(before, row, of.rtt_ms)
    if between.again:
        of.lost_s = row["unix_s"]
    # The clock of the host may have been set back.
    took_s = max(0.0, row["unix_s"] - before["unix_s"])
    busy_s = min(between.busy_s, took_s)
    at = int((row["unix_s"] - begin_s) / period_s) if period_s > 0 else 0
    seconds = of.periods[min(max(at, 0), PERIODS - 1)]
    if busy_s:
        for limit, share in shares_of(between, _rest(of)).items():
            seconds[limit] += share * busy_s
    # Nothing was outstanding, because the application wrote nothing.
    seconds["application"] += took_s - busy_s


def _rest(of: _Flow) -> Limit:
    """Say what limited a connection up to its last look while the clocks of the hosts stood."""
    row = of.last
    if row["app_limited"]:
        return "application"
    if row["limit_pacing_cap"]:
        return "pacing"
    if row["unix_s"] - of.lost_s <= AFTER_LOSS * row["rtt_ms"] / 1000:
        return after_loss(row["controller"])
    queue_ms = row["rtt_ms"] - of.rtt_ms
    if queue_ms >= max(QUEUE_PART * of.rtt_ms, 1000 * QUEUE_S):
        return "path"
    return "unknown"


def _connection(first: Row, last: Row, rtt_ms: float) -> Connection:
    """Give what a connection did between two looks."""
    busy_s = max(0.0, last["busy_s"] - first["busy_s"])
    acked = max(0, last["acked_bytes"] - first["acked_bytes"])
    again = max(0, last["retransmitted"] - first["retransmitted"])
    clocks: dict[HostLimit, str] = {
        "receive window": "receive_window_s",
        "send buffer": "send_buffer_s",
    }
    clocked = {
        limit: min(1.0, max(0.0, last[key] - first[key]) / busy_s) if busy_s else 0.0
        for limit, key in clocks.items()
    }
    return Connection(
        peer=last["peer_address"],
        rtt_ms=rtt_ms,
        rate_bps=last["delivery_rate_bps"] or None,
        mean_bps=8 * acked / busy_s if busy_s else None,
        segments=max(0, last["sent"] - first["sent"]),
        again=again,
        local=_end(last["local_address"], last["local_port"]),
        remote=_end(last["peer_address"], last["peer_port"]),
        controller=last["controller"],
        mss=last["mss"],
        sent_bytes=acked + again * last["mss"],
        delivered_bytes=acked,
        busy_s=busy_s,
        shares=clocked,
    )


def _end(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _whole(of: _Flow) -> Connection:
    """Give what a connection did between its first look and its last one."""
    connection = _connection(of.first, of.last, of.rtt_ms)
    main = max(connection.shares.items(), key=lambda pair: pair[1])
    if main[1] >= LIMITED_FROM:
        return replace(connection, limit=main[0])
    seconds = of.seconds
    idle = seconds["application"] > sum(seconds.values()) / 2
    return replace(connection, limit="application" if idle else None)


def _explained(
    connection: Connection,
    large: Sequence[Connection],
    of: _Flow,
    bounds_s: tuple[float, float],
) -> Explained:
    begin_s, end_s = bounds_s
    period_s = (end_s - begin_s) / PERIODS
    seconds = of.seconds
    periods = [
        Period(start_s=at * period_s, duration_s=sum(part.values()), limits=shares(part))
        for at, part in enumerate(of.periods)
        if sum(part.values()) > 0
    ]
    window = of.last["peer_window_bytes"]
    return replace(
        of_socket(connection, large, shares(seconds)),
        duration_s=sum(seconds.values()),
        window_bytes=None if window is None else float(window),
        source="flows",
        periods=periods,
    )
