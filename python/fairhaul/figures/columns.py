"""What a sweep can draw: the columns of its table, with their titles, units and scales."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairhaul.figures.charts import Scale, ends
from fairhaul.results.figure_rows import estimated
from fairhaul.results.table import OF_FLOWS, OF_ONE, parties

# What a column is called, its unit, and what its values are multiplied by. No share is above 100 %.
UNITS: dict[str, tuple[str, str, float]] = {
    "goodput_bps": ("Goodput", "Mbit/s", 1e-6),
    "share": ("Share of all goodput", "%", 100),
    "link_share": ("Share of the link", "%", 100),
    "loss_rate": ("Packets lost", "%", 100),
    "loss_events": ("Loss events", "number", 1),
    "timeouts": ("Timeouts", "number", 1),
    "rtt_mean_s": ("Mean round-trip time", "ms", 1000),
    "cwnd_mean": ("Mean window", "packets", 1),
    "completion_s": ("Completion time", "s", 1),
    "transfer_bps": ("Rate of a transfer", "Mbit/s", 1e-6),
    "utilization": ("Utilization of the link", "%", 100),
    "drop_rate": ("Packets dropped", "%", 100),
    "mark_rate": ("Packets marked", "%", 100),
    "queue_mean_s": ("Mean queueing delay", "ms", 1000),
    "queue_p50_s": ("Median queueing delay", "ms", 1000),
    "queue_p95_s": ("95th percentile of the queueing delay", "ms", 1000),
    "queue_p99_s": ("99th percentile of the queueing delay", "ms", 1000),
    "jain": ("Jain's index", "", 1),
    "max_min_ratio": ("Largest over smallest goodput", "", 1),
    "entitlement": ("Jain's index of max-min shares", "", 1),
}
INDICES = ("jain", "entitlement")


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A figure that is drawn: its name among the columns, its title, its scale and its limits."""

    name: str
    title: str
    scale: float = 1.0
    most: float = float("inf")

    def of(self, found: Mapping[str, Any]) -> dict[str, float | None] | None:
        """Give the mean and the ends of its interval, or nothing where there is no value."""
        mean = found.get(self.name)
        return None if mean is None else estimated(mean, self.scale)

    def axis(self, rows: Sequence[Mapping[str, Any]]) -> Scale:
        """Give an axis with room for rows of `mean`, `low` and `high`."""
        values = [row[key] for row in rows for key in ("mean", "low", "high")]
        low, high = ends(values, most=self.most)
        return Scale(title=self.title, low=low, high=high)


def measure_of(column: str, *, owner: str = "") -> Measure:
    """Give the measure of a column; `owner` is named in its title."""
    kind = column.rpartition(".")[2]
    title, unit, scale = UNITS[kind]
    title = f"{title} of {owner}" if owner else title
    return Measure(
        name=column,
        title=f"{title} ({unit})" if unit else title,
        scale=scale,
        most=100.0 if unit == "%" else 1.0 if kind in INDICES else float("inf"),
    )


def by_default(figures: Mapping[str, Any]) -> Iterator[Measure]:
    """Choose what is drawn: fairness if several groups have it, and the busiest link."""
    if figures["fairness"]["jain"] is not None and len(parties(figures)) > 1:
        yield measure_of("jain")
    link = max(figures["links"], key=lambda link: link["utilization"]["mean"])["name"]
    yield from (
        measure_of(f"{link}.{name}") for name in ("utilization", "queue_mean_s", "drop_rate")
    )


def of_parties() -> Sequence[str]:
    """Name what each flow or group has, which one figure draws for all of them."""
    return (*OF_FLOWS, *OF_ONE)
