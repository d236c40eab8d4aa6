"""What the figures of flows, links and fairness are called, in tables and beside axes."""

from __future__ import annotations

from dataclasses import dataclass

from fairhaul.text.digits import Decimals, Form, Scientific


@dataclass(frozen=True, kw_only=True)
class Column:
    """A figure: its heading in a table, its title beside an axis, and how it is written.

    One without a heading has no column in the tables of a run, and one without a title is not drawn
    over swept keys.
    """

    heading: str = ""
    title: str = ""
    unit: str = ""
    """Of an axis."""
    scale: float = 1.0
    """What values are multiplied by."""
    digits: int | None = 0
    """In a table, after the decimal point; None for `1.4e-3`, which is not scaled."""

    @property
    def form(self) -> Form:
        """How it is written in a table."""
        if self.digits is None:
            return Scientific()
        return Decimals(digits=self.digits, scale=self.scale)

    @property
    def axis(self) -> str:
        """Its title with the unit."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


def _rate(heading: str, title: str) -> Column:
    return Column(heading=heading, title=title, unit="Mbit/s", scale=1e-6, digits=2)


def _part(heading: str, title: str, digits: int | None = 2) -> Column:
    return Column(heading=heading, title=title, unit="%", scale=100, digits=digits)


def _delay(heading: str, title: str, digits: int = 2) -> Column:
    return Column(heading=heading, title=title, unit="ms", scale=1000, digits=digits)


FLOWS = {
    "goodput_bps": _rate("Mbit/s", "Goodput"),
    "share": _part("", "Share of all goodput"),
    "transfer_bps": _rate("transfer Mbit/s", "Rate of a transfer"),
    "link_share": _part("% of link", "Share of the link"),
    "loss_rate": _part("loss", "Packets lost", digits=None),
    "loss_events": Column(heading="loss events", title="Loss events", unit="number"),
    "timeouts": Column(heading="RTOs", title="Timeouts", unit="number"),
    "rtt_mean_s": _delay("RTT ms", "Mean round-trip time", digits=1),
    "cwnd_mean": Column(heading="cwnd", title="Mean window", unit="packets", digits=1),
    "mode_changes_per_s": Column(heading="modes/s", digits=2),
    "completion_s": Column(heading="completed in s", title="Completion time", unit="s", digits=3),
}
LINKS = {
    "utilization": _part("utilization %", "Utilization of the link"),
    "drop_rate": _part("drops", "Packets dropped", digits=None),
    "mark_rate": _part("marks", "Packets marked", digits=None),
    "queue_mean_packets": Column(heading="queue packets", digits=1),
    "queue_mean_s": _delay("queue ms", "Mean queueing delay"),
    "queue_p50_s": _delay("median ms", "Median queueing delay"),
    "queue_p95_s": _delay("p95 ms", "95th percentile of the queueing delay"),
    "queue_p99_s": _delay("p99 ms", "99th percentile of the queueing delay"),
    "capacity_packets": Column(heading="capacity packets"),
}
FAIRNESS = {
    "jain": Column(heading="Jain's index", title="Jain's index", digits=3),
    "max_min_ratio": Column(
        heading="largest / smallest", title="Largest over smallest goodput", digits=2
    ),
    "entitlement": Column(
        heading="Jain of max-min shares", title="Jain's index of max-min shares", digits=3
    ),
}
# What can be drawn over swept keys.
DRAWN = {
    name: column
    for columns in (FLOWS, LINKS, FAIRNESS)
    for name, column in columns.items()
    if column.title
}
