"""An explanation in words: one sentence first, then the connections and the path in tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from fairhaul.report.outcome import Outcome, Section
from fairhaul.statistics.estimate import text as estimate_text
from fairhaul.studies.explanation.estimate import Estimate
from fairhaul.studies.explanation.limits import LIMITS
from fairhaul.studies.explanation.results import with_largest
from fairhaul.studies.explanation.what_if_words import brings, what_if_sections
from fairhaul.text.digits import Significant
from fairhaul.text.phrases import count_of, listed, prefixed, quantity
from fairhaul.text.table import Table

if TYPE_CHECKING:
    from fairhaul.studies.explanation import Explained, Explanation

NAMES = {
    "application": "application",
    "receive_window": "receive window",
    "send_buffer": "send buffer",
    "congestion_window": "congestion window",
    "pacing": "pacing",
    "path": "path",
    "unknown": "not known",
}
# What of the path may not be known, by its key.
UNKNOWN = {
    "rate_bps": "rate",
    "rtt_s": "round-trip time",
    "buffer_bytes": "buffer",
    "policer.rate_bps": "rate of the policer",
    "policer.burst_bytes": "burst of the policer",
    "cross_bps": "other traffic",
}
MILLISECONDS = Significant(digits=4, units=[(" ms", 1e-3)])
# Rows of the tables on a terminal, at each end.
ENDS = 10
# A window of a receiver must hold this many times what is in flight, so that it does not limit
# while a lost packet is sent again.
WINDOWS = 2
SEEN_AS = "Bits of Ethernet frames with their check sequences count: 70 bytes more than the data."


def outcome_of(of: Explanation) -> Outcome:
    """Put an explanation into words and tables."""
    count = count_of(len(of.connections), "connection")
    return Outcome(
        study="explain",
        title=f"What limited {count}",
        question=f"What limited {count} in {listed(list(of.files))}?",
        answer=" ".join(filter(None, (answer(of.connections), brings(of.what_if)))),
        evidence=lambda: _sections(of),
        values=lambda: {
            "connections": [one.values() for one in of.connections],
            "notes": list(of.notes),
            "what_if": None if of.what_if is None else of.what_if.values(),
        },
    )


def answer(connections: Sequence[Explained]) -> str:
    """Say in one sentence what limited the largest connection, and those beside it."""
    if not connections:
        return "No connection carries data, so nothing can be said."
    largest = connections[0]
    beside = with_largest(connections)
    whom = f"{count_of(len(beside), 'connection')} from {largest.sender or 'a host'}"
    whom += f" to {largest.receiver or 'another'}"
    if largest.path.policer is not None:
        return _policed(largest, beside, whom)
    say: dict[str, Callable[[], str]] = {
        "application": lambda: (
            f"Not the network: the application wrote nothing for {_part(largest, 'application')} "
            f"of the time of {whom}."
        ),
        "receive_window": lambda: _windowed(largest, beside, whom),
        "send_buffer": lambda: (
            f"Not the controller: the send buffer limits {whom}; raise net.ipv4.tcp_wmem on the "
            "sender, or the buffer that it asks for."
        ),
        "congestion_window": lambda: _reduced(largest, whom),
        "pacing": lambda: (
            f"Not the path: {whom} sends evenly and without a queue, as with a pacing cap of "
            f"{_goodput(largest)}."
        ),
        "path": lambda: _of_path(largest, beside, whom),
    }
    if largest.main in say:
        return say[largest.main]()
    return f"What limits {whom} is not known from this: {largest.unknown.get('limits', 'unknown')}."


def _policed(largest: Explained, beside: Sequence[Explained], whom: str) -> str:
    policer = largest.path.policer
    assert policer is not None, "the caller has looked"
    least = "at least " if policer.rate_bps.high is None else ""
    burst = (
        ""
        if policer.burst_bytes is None
        else (f" with a burst of {quantity(policer.burst_bytes.value, 'B')}")
    )
    again = [of.retransmitted for of in beside if of.retransmitted is not None]
    lost = (
        f"{100 * max(again):.2g} % of the packets were retransmissions"
        if again
        else "packets are lost"
    )
    share = policer.rate_bps.value / len(beside)
    return (
        f"A policer of {least}{quantity(policer.rate_bps.value, 'bit/s')} (Ethernet frames){burst} "
        f"drops packets of {whom} without a queue: {lost}; pace "
        f"{'each of them' if len(beside) > 1 else 'it'} below {quantity(0.95 * share, 'bit/s')} "
        "(fq maxrate, SO_MAX_PACING_RATE), or ask for a larger burst or a shaper."
    )


def _windowed(largest: Explained, beside: Sequence[Explained], whom: str) -> str:
    rtt, window = largest.path.rtt_s, largest.window_bytes
    parts = [of.limits["receive_window"] for of in beside if of.main == "receive_window"]
    ends = sorted({f"{100 * end:.3g}" for end in (min(parts), max(parts))}, key=float)
    time = f"{' to '.join(ends)} % of the time"
    total = _sum_text(beside)
    what = f"Not the controller: the receiver's window limits these connections ({whom}) for {time}"
    if len(parts) < len(beside):
        what = (
            f"Not the controller: the receiver's window limits {len(parts)} of these connections "
            f"({whom}) for {time}"
        )
    if rtt is not None and window:
        allowed = 8 * window / rtt.value
        what = (
            f"Not the controller: the receiver's window of {quantity(window, 'B')} allows "
            f"{quantity(allowed, 'bit/s')} at {1000 * rtt.value:.3g} ms to {whom}, for {time}"
        )
    return (
        f"{what}{total}; raise net.ipv4.tcp_rmem on the receiver, or the buffer that it asks for."
    )


def _sum_text(beside: Sequence[Explained]) -> str:
    total = sum(of.goodput_bps or 0.0 for of in beside)
    return f"; together they have {quantity(total, 'bit/s')}" if len(beside) > 1 and total else ""


def _reduced(largest: Explained, whom: str) -> str:
    path = largest.path
    reason = "the congestion window limits"
    if path.shaper is not None:
        reason = f"a shaper of {quantity(path.shaper.rate_bps.value, 'bit/s')} drops packets of"
    elif path.buffer_bytes is not None and path.buffer_bytes.high is not None:
        reason = (
            f"a buffer of {quantity(path.buffer_bytes.value, 'B')} overflows, and the congestion "
            "window after it limits"
        )
    elif path.loss is not None and path.loss.low > 0:
        reason = (
            f"random loss of {100 * path.loss.value:.2g} % reduces the congestion window, which "
            "limits"
        )
    return (
        f"The congestion window: {reason} {whom}, for {_part(largest, 'congestion_window')} of the "
        "time; a controller that reacts less to single losses, or several connections, would help."
    )


def _of_path(largest: Explained, beside: Sequence[Explained], whom: str) -> str:
    rate = largest.path.rate_bps
    if rate is None:
        return f"The path limits {whom}: a queue stands at its bottleneck; its rate is not known."
    least = "at least " if rate.high is None else ""
    what = "a shaper on the path" if largest.path.shaper is not None else "the path"
    together = " together" if len(beside) > 1 else ""
    again = largest.retransmitted or 0.0
    lost = f", and {100 * again:.2g} % of the packets were retransmissions" if again > 0.01 else ""
    return (
        f"Not the hosts: {what} carries {least}{quantity(rate.value, 'bit/s')} (Ethernet frames), "
        f"and that limits {whom}{together} for {_part(largest, 'path')} of the time{lost}."
    )


def _part(of: Explained, limit: str) -> str:
    return f"{100 * of.limits[limit]:.3g} %"  # type: ignore[index]


def _goodput(of: Explained) -> str:
    return quantity(of.goodput_bps or 0.0, "bit/s")


def _sections(of: Explanation) -> list[Section]:
    if not of.connections:
        return [Section(heading="", text=list(of.notes))]
    return [
        Section(heading="", tables=[_limits(of.connections)], text=list(of.notes)),
        *what_if_sections(of.what_if),
        *_over_time(of.connections[0]),
        Section(heading="The path", tables=[_paths(of.connections)], text=[SEEN_AS]),
        Section(heading="What is not known", points=list(_unknown(of.connections))),
        Section(heading="Commands that would tell more", commands=_commands(of.connections)),
    ]


def _limits(connections: Sequence[Explained]) -> Table:
    shown = [limit for limit in LIMITS if any(of.limits[limit] >= 0.0005 for of in connections)]
    return Table(
        title="Shares of time, in %",
        columns=["connection", "MB", "s", "goodput", *(NAMES[limit] for limit in shown)],
        rows=[
            [
                _name(of),
                f"{of.data_bytes / 1e6:.4g}",
                f"{of.duration_s:.4g}",
                _goodput(of),
                *(f"{100 * of.limits[limit]:.1f}" for limit in shown),
            ]
            for of in connections
        ],
        ends=ENDS if len(connections) > 2 * ENDS else 0,
    )


def _over_time(of: Explained) -> list[Section]:
    """Lay out the limits over time, where a recording has them."""
    if not of.periods:
        return []
    shown = [limit for limit in LIMITS if any(part.limits[limit] >= 0.0005 for part in of.periods)]
    table = Table(
        title=f"{_name(of)}, shares of time in %",
        columns=["from s", "judged s", *(NAMES[limit] for limit in shown)],
        rows=[
            [
                f"{part.start_s:.4g}",
                f"{part.duration_s:.4g}",
                *(f"{100 * part.limits[limit]:.1f}" for limit in shown),
            ]
            for part in of.periods
        ],
    )
    return [Section(heading="Limits over time of the largest connection", tables=[table])]


def _paths(connections: Sequence[Explained]) -> Table:
    columns = ["connection", "rate", "round trip", "buffer", "random loss", "policer", "shaper"]
    columns.append("other traffic")
    rows = []
    for of in connections:
        path = of.path
        rows.append(
            [
                _name(of),
                _text(path.rate_bps, "bit/s"),
                _text(path.rtt_s, "s"),
                _text(path.buffer_bytes, "B"),
                "" if path.loss is None else _percent(path.loss),
                *(
                    ""
                    if bucket is None
                    else f"{_text(bucket.rate_bps, 'bit/s')}, {_text(bucket.burst_bytes, 'B')}"
                    for bucket in (path.policer, path.shaper)
                ),
                _text(path.cross_bps, "bit/s"),
            ]
        )
    used = [at for at in range(len(columns)) if at == 0 or any(row[at] for row in rows)]
    return Table(
        columns=[columns[at] for at in used],
        rows=[[row[at] for at in used] for row in rows],
        ends=ENDS if len(connections) > 2 * ENDS else 0,
    )


def _percent(of: Estimate) -> str:
    high = "" if of.high is None else f" [{100 * of.low:.2g}, {100 * of.high:.2g}]"
    return f"{100 * of.value:.2g} %{high}"


def _text(of: Estimate | None, unit: str) -> str:
    if of is None:
        return ""
    form = MILLISECONDS if unit == "s" else prefixed(unit)
    if of.high is None:
        return f"at least {form(of.value)}"
    return estimate_text({"mean": of.value, "low": of.low, "high": of.high}, form)


def _name(of: Explained) -> str:
    here, far = ("", "") if of.ports is None else (f":{of.ports[0]}", f":{of.ports[1]}")
    return f"{of.sender}{here} to {of.receiver}{far}"


def _unknown(connections: Sequence[Explained]) -> Iterator[str]:
    reasons: dict[tuple[str, str], int] = {}
    for of in connections:
        for key, why in of.unknown.items():
            reasons[(key, why)] = reasons.get((key, why), 0) + 1
    for (key, why), count in reasons.items():
        of_all = "" if count == len(connections) else f" ({count_of(count, 'connection')})"
        yield f"{UNKNOWN.get(key, key)}: {why}{of_all}."


def _commands(connections: Sequence[Explained]) -> list[str]:
    largest = connections[0]
    host = largest.receiver or "ADDRESS"
    commands = []
    if largest.source != "capture":
        commands += [
            "# On the sender, headers of at most 2 million packets (250 MB):",
            f"tcpdump -i any -s 128 -c 2000000 -w transfer.pcap tcp and host {host}",
        ]
    if largest.source not in ("ss", "flows") and "limits" in largest.unknown:
        commands += [
            "# On the sender, the clocks of the kernel, a minute long:",
            f"for n in $(seq 60); do ss -tin dst {host}; sleep 1; done > transfer.txt",
        ]
    return commands
