"""Figures of one quantity against another: two windows, and throughput against delay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairhaul.figures.bins import level, tidy, whole_run
from fairhaul.figures.charts import Look, Scale, case_looks, ends, looks
from fairhaul.figures.charts.relations import cloud, path
from fairhaul.figures.figure import Figure
from fairhaul.results.figure_rows import mean
from fairhaul.text.phrases import rate_unit

if TYPE_CHECKING:
    from fairhaul.record.record import Record

# Points of the way of two windows.
MOST_POINTS = 1000
MOST_NAMES = 12
# Of fewer points, the table says it all.
LEAST_POINTS = 4
# An axis reaches down at least to this part of its largest value: smaller differences look small.
LEAST_RANGE = 0.9


def phase(record: Record) -> Figure | None:
    """Draw the windows of two measured flows against each other; nothing if not both are known."""
    scenario = record.meta["scenario"]
    flows = scenario["flows"]
    measured = [i for i, flow in enumerate(flows) if flow["role"] == "measured"]
    if len(measured) != 2:
        return None
    bins = level(whole_run(record.flow_series, len(flows), scenario), "cwnd_packets", MOST_POINTS)
    if any(bins.has_gaps(i) for i in measured):
        return None
    first, second = (bins.mean[i] for i in measured)
    rows = [
        {"t": tidy(t), "x": tidy(x), "y": tidy(y)}
        for t, x, y in zip(bins.middle_s, first, second, strict=True)
    ]
    top = 1.05 * max(1.0, float(first.max()), float(second.max()))
    x, y = (Scale(title=f"cwnd of {flows[i]['name']} (packets)", low=0, high=top) for i in measured)
    caption = (
        "Each point is the pair of windows at one time, averaged over "
        f"{bins.width_s:.3g} s. The open point is the first, the full one the last; on the dashed "
        "line both windows are equal."
    )
    return Figure(
        name="phase",
        title="One window against the other",
        caption=caption,
        chart=path(rows, x, y, "var(--c3)"),
    )


def flows_against_delay(runs: Sequence[Mapping[str, Any]]) -> Figure | None:
    """Draw the goodput of each measured flow against its round-trip time, a point for each run."""
    points: dict[str, list[tuple[float, float, str]]] = {}
    for run in runs:
        for flow in run["flows"]:
            if flow["role"] == "measured" and flow["rtt_mean_s"] is not None:
                at = (1000 * flow["rtt_mean_s"], flow["goodput_bps"], f"seed {run['seed']}")
                points.setdefault(flow["name"], []).append(at)
    count = sum(len(each) for each in points.values())
    if len(points) > MOST_NAMES or count < LEAST_POINTS:
        return None
    caption = "A point for each measured flow and run. Up is faster, to the left is less delay."
    return _against(points, "Mean round-trip time (ms)", caption, looks(points))


def scenarios_against_delay(
    labels: Sequence[str], each: Sequence[Sequence[Mapping[str, Any]]]
) -> Figure | None:
    """Draw the goodput of all measured flows against the queueing delay, a point for each run."""
    points: dict[str, list[tuple[float, float, str]]] = {}
    for label, runs in zip(labels, each, strict=True):
        for run in runs:
            busy = max(run["links"], key=lambda link: mean(link["utilization"]), default=None)
            if busy is None:
                return None
            measured = [flow for flow in run["flows"] if flow["role"] == "measured"]
            total = sum(flow["goodput_bps"] for flow in measured)
            at = (1000 * busy["queue_mean_s"], total, f"{label}, seed {run['seed']}")
            points.setdefault(label, []).append(at)
    caption = (
        "The goodput of all measured flows and the mean queueing delay of the busiest link, a "
        "point for each run. Up is more throughput, to the left is less delay."
    )
    return _against(points, "Mean queueing delay (ms)", caption, case_looks(points))


def _against(
    points: Mapping[str, Sequence[tuple[float, float, str]]],
    title: str,
    caption: str,
    of_each: Sequence[Look],
) -> Figure:
    scale, unit = rate_unit(max(y for each in points.values() for _, y, _ in each))
    few = len(points) <= MOST_NAMES
    clouds = [
        (
            look if few else Look(label="", colour=of_each[0].colour),
            [
                {"x": tidy(x), "y": tidy(scale * y), "of": f"{label}, {of}" if few else of}
                for x, y, of in each
            ],
        )
        for look, (label, each) in zip(of_each, points.items(), strict=True)
    ]
    low, high = ends([x for each in points.values() for x, _, _ in each])
    bottom, top = ends([scale * y for each in points.values() for _, y, _ in each])
    x = Scale(title=title, low=min(low, LEAST_RANGE * high), high=high)
    y = Scale(title=f"Goodput ({unit})", low=min(bottom, LEAST_RANGE * top), high=top)
    return Figure(
        name="delay",
        title="Throughput against delay",
        caption=caption,
        chart=cloud(clouds, x, y),
    )
