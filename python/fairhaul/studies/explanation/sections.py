"""The evidence of an explanation: limits, path, and what is not known, in tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairhaul.report.outcome import Section
from fairhaul.statistics.estimate import text as estimate_text
from fairhaul.studies.explanation.estimate import Estimate
from fairhaul.studies.explanation.limits import LIMITS
from fairhaul.studies.explanation.picture import NAMES, picture
from fairhaul.studies.explanation.results import recognised_text
from fairhaul.studies.explanation.what_if_words import what_if_sections
from fairhaul.text.digits import Significant
from fairhaul.text.phrases import count_of, prefixed, quantity
from fairhaul.text.table import Table

if TYPE_CHECKING:
    from fairhaul.studies.explanation import Explained, Explanation

# What of the path may not be known, by its key.
UNKNOWN = {
    "rate_bps": "rate",
    "rtt_s": "round-trip time",
    "recognised": "controller",
    "buffer_bytes": "buffer",
    "policer.rate_bps": "rate of the policer",
    "policer.burst_bytes": "burst of the policer",
    "cross_bps": "other traffic",
}
CAUSED = {
    "slow_start": "slow start",
    "overflow": "overflow of a queue",
    "policer": "policer",
    "random_loss": "random loss",
    "marks": "marks",
    "unknown": "not known",
}
# A smaller share is 0.0 %.
SHOWN = 0.0005
MILLISECONDS = Significant(digits=4, units=[(" ms", 1e-3)])
# Rows of the tables on a terminal, at each end.
ENDS = 10
# Limits over time have a table if a share of a period differs by this much from that of all time.
VARIES = 0.05
SEEN_AS = "Bits of Ethernet frames with their check sequences count: 70 bytes more than the data."


def goodput_text(of: Explained) -> str:
    """Write the goodput of a connection."""
    return quantity(of.goodput_bps or 0.0, "bit/s")


def sections_of(of: Explanation) -> list[Section]:
    """Lay out the evidence."""
    if not of.connections:
        return [Section(heading="", text=list(of.notes))]
    return [
        Section(
            heading="",
            tables=[_limits(of.connections), *_by_cause(of.connections)],
            text=list(of.notes),
        ),
        Section(heading="By data", tables=_by_data(of.connections), detailed=True),
        *what_if_sections(of.what_if),
        *_over_time(of.connections[0]),
        *_controllers(of.connections),
        Section(heading="The path", tables=[_paths(of.connections)], text=[SEEN_AS]),
        Section(heading="What is not known", points=list(_unknown(of.connections))),
        Section(heading="Commands that would tell more", commands=_commands(of.connections)),
    ]


def _limits(connections: Sequence[Explained]) -> Table:
    shown = [limit for limit in LIMITS if any(of.limits[limit] >= SHOWN for of in connections)]
    return Table(
        title="Shares of time, in %",
        columns=["connection", "MB", "s", "goodput", *(NAMES[limit] for limit in shown)],
        rows=[
            [
                _name(of),
                f"{of.data_bytes / 1e6:.4g}",
                f"{of.duration_s:.4g}",
                goodput_text(of),
                *(f"{100 * of.limits[limit]:.1f}" for limit in shown),
            ]
            for of in connections
        ],
        ends=ENDS if len(connections) > 2 * ENDS else 0,
    )


def _by_data(connections: Sequence[Explained]) -> list[Table]:
    """Lay out the shares of the data that was sent while each limit held."""
    rows = [(of, of.carried) for of in connections if of.carried]
    return _shares("Shares of the data, in %", rows, NAMES)


def _by_cause(connections: Sequence[Explained]) -> list[Table]:
    """Lay out what had made the congestion window small, where it limited."""
    rows = [(of, of.causes) for of in connections if of.causes and of.limits["congestion_window"]]
    return _shares("Where the congestion window limited: the cause, in % of the time", rows, CAUSED)


def _shares(
    title: str, rows: Sequence[tuple[Explained, Mapping[Any, float]]], names: Mapping[str, str]
) -> list[Table]:
    """Lay out shares; nothing if none is worth a column."""
    shown = [key for key in names if any(of[key] >= SHOWN for _, of in rows)]
    if not shown:
        return []
    return [
        Table(
            title=title,
            columns=["connection", *(names[key] for key in shown)],
            rows=[[_name(one), *(f"{100 * of[key]:.1f}" for key in shown)] for one, of in rows],
            ends=ENDS if len(rows) > 2 * ENDS else 0,
        )
    ]


def _over_time(of: Explained) -> list[Section]:
    """Lay out the limits over time, where they are known."""
    if not of.periods:
        return []
    shown = [limit for limit in LIMITS if any(part.limits[limit] >= SHOWN for part in of.periods)]
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
    varies = any(
        abs(part.limits[limit] - of.limits[limit]) >= VARIES
        for part in of.periods
        for limit in shown
    )
    return [
        Section(
            heading="Limits over time of the largest connection",
            tables=[table] if varies else [],
            figures=lambda: picture(of),
        )
    ]


def _controllers(connections: Sequence[Explained]) -> list[Section]:
    """Say which controllers the connections had, where their windows show it."""
    known = [of for of in connections if of.recognised]
    if not known:
        return []
    table = Table(
        columns=["connection", "controller, confidence"],
        rows=[[_name(of), recognised_text(of.recognised)] for of in known],
        ends=ENDS if len(known) > 2 * ENDS else 0,
    )
    return [Section(heading="The controller, by its window", tables=[table])]


def _paths(connections: Sequence[Explained]) -> Table:
    columns = [
        *("connection", "rate", "round trip", "buffer"),
        *("random loss", "policer", "shaper", "other traffic"),
    ]
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
    if largest.source not in ("capture", "qlog"):
        commands += [
            "# On the sender, headers of at most 2 million packets (250 MB):",
            f"tcpdump -i any -s 128 -c 2000000 -w transfer.pcap tcp and host {host}",
        ]
    if largest.source not in ("ss", "flows", "qlog") and "limits" in largest.unknown:
        commands += [
            "# On the sender, the clocks of the kernel, a minute long:",
            f"for n in $(seq 60); do ss -tinm dst {host}; sleep 1; done > transfer.txt",
        ]
    return commands
