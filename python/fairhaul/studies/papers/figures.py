"""From the numbers of runs to the rows of charts: points with intervals, windows over time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairhaul.figures.bins import level, tidy, whole_run
from fairhaul.figures.charts import Curve, Look, Span, flow_look
from fairhaul.record.record import Record
from fairhaul.statistics.estimate import Estimate

if TYPE_CHECKING:
    from fairhaul.studies.papers.results import Key, Results

INTERVALS = "Means over seeds with their 95 % intervals."
BANDS = "Points are means over seeds, bands their 95 % intervals."
GREY = "var(--quiet)"

# The number of values of each flow for which a figure over time has room.
MOST_BINS = 240


def looks(labels: Sequence[str], grey: Sequence[str] = ("others", "F4")) -> list[Look]:
    """Give each label a colour, and those of the background grey."""
    return [
        Look(label=label, colour=GREY) if label in grey else flow_look(label, i)
        for i, label in enumerate(labels)
    ]


def point(estimate: Estimate, **more: Any) -> dict[str, Any]:
    """Give a mean and the ends of its interval, with the digits that a chart shows, and `more`."""
    low, high = (None if end is None else tidy(end) for end in (estimate.low, estimate.high))
    return {**more, "mean": tidy(estimate.mean), "low": low, "high": high}


def points(results: Results, keys: Iterable[Key], number: str) -> list[tuple[Key, dict[str, Any]]]:
    """Give a point for a number of each case that has it."""
    estimates = ((key, results.estimate(key, number)) for key in keys if key in results.runs)
    return [(key, point(each)) for key, each in estimates if each is not None]


def curve(results: Results, look: Look, cases: Mapping[float, tuple[Key, str]]) -> Curve:
    """Put a number of several cases on a line: for each x the case and the number's name."""
    rows = [
        {"x": x, **row}
        for x, (key, number) in cases.items()
        for _, row in points(results, [key], number)
    ]
    return Curve(look=look, points=rows)


def reference(label: str, points: Mapping[float, float]) -> Curve:
    """Give a line of theory, to compare the others with."""
    rows = [{"x": x, "mean": tidy(y), "low": None, "high": None} for x, y in points.items()]
    return Curve(look=Look(label=label, colour=GREY, dash=(4, 4), thin=True), points=rows)


def windows(record: Record, names: Sequence[str]) -> tuple[Span, list[dict[str, float]]]:
    """Keep of a record the congestion windows of the flows `names` over time, packets."""
    scenario = record.meta["scenario"]
    flows = [flow["name"] for flow in scenario["flows"]]
    bins = level(whole_run(record.flow_series, len(flows), scenario), "cwnd_packets", MOST_BINS)
    rows = [
        {
            "t": tidy(t),
            **{f"v{i}": tidy(bins.mean[flows.index(n)][k]) for i, n in enumerate(names)},
        }
        for k, t in enumerate(bins.middle_s)
    ]
    return Span(end_s=scenario["duration_s"], warmup_s=scenario["warmup_s"]), rows
