"""The queues: the same traffic at each of them, and a comparison.

Eight flows share the link from the start; a burst of transfers joins, and then datagrams
that do not react to congestion. The figure of each queue has its delay, gauges, drops and shares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairhaul.figures import charts, gauges
from fairhaul.figures.bins import level, rate, tidy, whole_run
from fairhaul.figures.charts import Lane, Look, Panel, Scale, Span
from fairhaul.figures.charts.vega import Row, Spec, column, layers, mark
from fairhaul.figures.look import colour
from fairhaul.measures.measures import measure
from fairhaul.record.series import series
from tools.gallery import Key, scenario

if TYPE_CHECKING:
    from fairhaul.record.record import Record
    from fairhaul.scenario.read import Scenario

QUICK = {
    **{"duration": "12 s", "warmup": "3 s"},
    **{"flow.burst.start": "4 s", "flow.datagrams.start": "8 s"},
}
# Keys of the scenario that show a queue at its work. Without adaptation RED has a gauge
# that never moves, and without senders of ECT(1) DualPI2 one queue that is always empty.
SETTINGS: Mapping[str, Mapping[str, object]] = {
    "dualpi2": {"flow.near.controller": "prague"},
    "red": {"bottleneck.queue.adaptive": True},
    "xcp": {f"flow.{name}.controller": "xcp" for name in ("near", "far", "burst")},
    "xcp_tcp": {"flow.near.controller": "xcp"},
}

LINK = "bottleneck"
STREAM = "datagrams"
WHO = ("near", "far", "burst", STREAM)
# A run has a thousand bins, as long as the warm-up is so many of them: these are of five and eight.
BINS = 200
SHARE_BINS = 125
HEIGHT = 120
# Less than this is drawn at the edge.
LEAST_MS = 0.5


@dataclass(frozen=True, kw_only=True)
class QueueRun:
    """What is drawn of a run: its lanes, what each kind of flow got, and its figures."""

    span: Span
    lanes: Sequence[Lane]
    shares: Sequence[Row]
    rate_mbps: float
    figures: Mapping[str, Row]


def plan(names: Sequence[str], quick: bool) -> dict[Key, Scenario]:
    """Give a run for each queue."""
    short = QUICK if quick else {}
    return {
        (name,): scenario(
            "queues.toml", [short, {"bottleneck.queue.kind": name}, SETTINGS.get(name, {})]
        )
        for name in names
    }


def read(record: Record) -> QueueRun:
    """Keep what is drawn."""
    scenario = record.meta["scenario"]
    rate_bps = scenario["links"][0]["rate_bps"]
    rows = whole_run(record.link_series, len(scenario["links"]), scenario)
    waits = replace(rows, columns={"ms": rows.columns["backlog_bytes"] * 8e3 / rate_bps})
    span = Span(end_s=scenario["duration_s"], warmup_s=scenario["warmup_s"])
    queue = gauges.lane(
        scenario["links"][0].get("queue", {}).get("kind", "droptail"),
        *(level(waits, "ms", BINS), 0, span),
        unit="ms",
        note="backlog divided by the rate of the link",
        colour="var(--c1)",
    )
    dropped = rate(rows, "dropped", BINS)
    drops = gauges.lane("drops", dropped, 0, span, unit="packets/s", colour="var(--c2)")
    return QueueRun(
        span=span,
        lanes=[queue, *gauges.lanes(record, [LINK], span, BINS), drops],
        shares=_shares(record),
        rate_mbps=rate_bps * 1e-6,
        figures=_figures(record),
    )


def _shares(record: Record) -> list[dict[str, float]]:
    """Give what each kind of flow gets over time, Mbit/s, one upon the other."""
    scenario = record.meta["scenario"]
    flows = scenario["flows"]
    bins = rate(whole_run(record.flow_series, len(flows), scenario), "goodput_bytes", SHARE_BINS)
    kinds = [flow["name"].partition("[")[0] for flow in flows]
    each = [bins.mean[[kind == who for kind in kinds]].sum(axis=0) * 8e-6 for who in WHO]
    heaps = np.cumsum([np.zeros(len(bins.middle_s)), *each], axis=0)
    return [
        {"t": tidy(t), **{f"v{k}": tidy(heap[b]) for k, heap in enumerate(heaps)}}
        for b, t in enumerate(bins.middle_s)
    ]


def _figures(record: Record) -> dict[str, Row]:
    """Give the figures by which queues are compared, and of the delay what lies around it."""
    scenario = record.meta["scenario"]
    figures: Any = measure(record)
    rows = series(record.flow_series, len(scenario["flows"]), scenario)
    shared = [i for i, flow in enumerate(scenario["flows"]) if flow["role"] == "measured"]
    propagation = np.array([[scenario["flows"][i]["rtt_s"]] for i in shared])
    waits_ms = 1e3 * (rows.columns["rtt_s"][shared] - propagation)
    flows = dict(zip([f["name"] for f in figures["flows"]], scenario["flows"], strict=True))
    sent_s = scenario["duration_s"] - flows[STREAM]["start"]["at_s"]
    stream = next(flow for flow in figures["flows"] if flow["name"] == STREAM)
    got = stream["goodput_bps"] * (scenario["duration_s"] - scenario["warmup_s"]) / sent_s
    low, middle, high = (tidy(float(np.nanpercentile(waits_ms, p))) for p in (5, 50, 95))
    alone = {"low": None, "high": None}
    return {
        "delay": {"mean": middle, "low": low, "high": high},
        "busy": {"mean": tidy(100 * figures["links"][0]["utilization"]), **alone},
        "jain": {"mean": tidy(figures["fairness"]["jain"]), **alone},
        "stream": {"mean": tidy(got * 1e-6), **alone},
    }


def draw(names: Sequence[str], runs: Mapping[Key, QueueRun]) -> dict[str, Spec]:
    """Draw a figure for each queue, and one of all."""
    each = {f"queue-{name}": _one(runs[name,]) for name in names}
    return {**each, "queues": _all({name: runs[name,].figures for name in names})}


def _one(run: QueueRun) -> Spec:
    return charts.lanes(run.lanes, run.span, below=[_heap(run)])


def _heap(run: QueueRun) -> Spec:
    """Draw the shares as stacked areas."""
    axis = {"tickCount": 4, "title": "Mbit/s"}
    scale = {"domain": [0, run.rate_mbps], "nice": False}
    looks = [Look(label=who, colour=colour(k)) for k, who in enumerate(WHO)]
    parts = [charts.head("goodput", charts.INK, bold=True)]
    for k, look in enumerate(looks):
        y = column(f"v{k}:Q", axis=axis, scale=scale)
        place = {"x": run.span.axis(), "y": y, "y2": {"field": f"v{k + 1}"}}
        area: Spec = {"color": look.colour, "fillOpacity": 0.7, "line": False, "clip": True}
        parts.append(mark("area", place, **area))
    last = run.shares[-1]
    middles = [(float(last[f"v{k}"]) + float(last[f"v{k + 1}"])) / 2 for k in range(len(WHO))]
    parts += charts.labels(looks, [HEIGHT * (1 - y / run.rate_mbps) for y in middles], HEIGHT)
    return layers(parts, charts.WIDTH, HEIGHT, run.shares)


def _all(queues: Mapping[str, Mapping[str, Row]]) -> Spec:
    """Draw the figures of all queues below each other."""

    def panel(key: str, scale: Scale) -> Panel:
        return Panel(
            scale=scale, rows=[{"row": name, **figures[key]} for name, figures in queues.items()]
        )

    high = [float(row["delay"]["high"]) for row in queues.values()]
    low = [max(float(row["delay"]["low"]), LEAST_MS) for row in queues.values()]
    busy = [float(row["busy"]["mean"]) for row in queues.values()]
    jain = [float(row["jain"]["mean"]) for row in queues.values()]
    each = [
        panel("delay", charts.powers("Delay of near and far (ms)", [*low, *high])),
        panel("busy", Scale(title="Link busy (%)", low=_floor(min(busy), 5), high=100)),
        panel(
            "jain", Scale(title="Jain's index, near and far", low=_floor(min(jain), 0.1), high=1)
        ),
        panel("stream", Scale(title="Datagrams get (Mbit/s)", low=0, high=20)),
    ]
    return charts.panels(list(queues), each)


def _floor(value: float, step: float) -> float:
    """Give where an axis begins that holds `value`."""
    return tidy(step * np.floor(value / step - 0.1))
