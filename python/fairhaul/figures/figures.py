"""The figures of one run, drawn from its record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairhaul.figures import charts, gauges, zoom
from fairhaul.figures.bins import Bins, level, points, rate, tidy, whole_run
from fairhaul.figures.charts import Lane, Look, Scale, Span, dots
from fairhaul.figures.figure import Figure
from fairhaul.figures.look import GREY, colour, dash
from fairhaul.figures.phases import RECOVERY, SLOW_START, phases
from fairhaul.figures.words import milliseconds
from fairhaul.measures import grain
from fairhaul.measures.losses import not_undone
from fairhaul.measures.measures import varies
from fairhaul.record.record import Record
from fairhaul.record.series import Series
from fairhaul.results.figure_rows import mean
from fairhaul.text.phrases import quantity, rate_unit

# More lines than this cannot be told apart.
MOST_LINES = 12
MOST_LINKS = 3
# Shares are read from wider bins: what a window or two got is noise.
SHARE_BINS = 100
STRIP_BINS = 370


def of_run(record: Record, prefix: str) -> list[Figure]:
    """Draw the series of one run; `prefix` begins the names of its files."""
    scenario = record.meta["scenario"]
    flows = scenario["flows"]
    looks = looks_of(flows)
    shown = drawn(flows)
    span = Span(end_s=scenario["duration_s"], warmup_s=scenario["warmup_s"])
    rows = whole_run(record.flow_series, len(flows), scenario)
    drawn_figures = [
        _shares(record, rows, looks, shown, span, prefix),
        _windows(record, rows, looks, shown, span, prefix),
        _queues(record, span, prefix),
        *_gauges(record, span, prefix),
        *_controllers(record, looks, shown, span, prefix),
        _losses(record, looks, shown, span, prefix),
    ]
    if trains := grain.of_scenario(scenario):
        return [
            replace(figure, caption=f"{figure.caption} {grain.line(trains, len(flows))}")
            for figure in drawn_figures
        ]
    return drawn_figures


def looks_of(flows: Sequence[Mapping[str, Any]]) -> list[Look]:
    """Give measured flows a colour each, and those of the background grey."""
    looks, number = [], 0
    for flow in flows:
        measured = flow["role"] == "measured"
        looks.append(
            Look(label=flow["name"], colour=colour(number), dash=dash(number))
            if measured
            else Look(label=flow["name"], colour=GREY, thin=True)
        )
        number += measured
    return looks


def drawn(flows: Sequence[Mapping[str, Any]]) -> list[int]:
    """Choose the flows that are drawn, measured ones first: evenly over the file's order."""
    measured = [i for i, flow in enumerate(flows) if flow["role"] == "measured"]
    others = [i for i, flow in enumerate(flows) if flow["role"] != "measured"]
    chosen = _evenly(measured, MOST_LINES)
    return chosen + _evenly(others, MOST_LINES - len(chosen))


def _evenly(items: Sequence[int], most: int) -> list[int]:
    if len(items) <= most:
        return list(items)
    return [items[round(k)] for k in np.linspace(0, len(items) - 1, most)] if most > 0 else []


def _shares(
    record: Record,
    rows: Series,
    looks: Sequence[Look],
    shown: Sequence[int],
    span: Span,
    prefix: str,
) -> Figure:
    flows = record.meta["scenario"]["flows"]
    each = [i for i in shown if flows[i]["role"] == "measured"]
    rest = [i for i, flow in enumerate(flows) if flow["role"] != "measured"]
    lines = [looks[i] for i in each]
    if rest:
        name = looks[rest[0]].label if len(rest) == 1 else "background"
        lines.append(Look(label=name, colour=GREY, thin=True))
    changing = _changing(record)
    links = record.meta["scenario"]["links"]
    lines += [Look(label=links[i]["name"], colour=GREY, dash=(4, 3), thin=True) for i in changing]
    bins, values = _rates(record, rows, each, rest, SHARE_BINS)
    top = 1.06 * max(max((float(line.max()) for line in values), default=0), 1e3)
    scale, unit = rate_unit(top)
    data = [
        {"t": tidy(t), **{f"v{k}": tidy(scale * line[b]) for k, line in enumerate(values)}}
        for b, t in enumerate(bins.middle_s)
    ]
    caption = f"New payload that arrived in order, averaged over {_s(bins.width_s)}."
    if len(rest) > 1:
        caption += f" Grey: the sum of the {len(rest)} background flows."
    if changing:
        caption += " Dashed grey: the rate of links whose rate changes, headers included."
    caption += _missing(len(each), len(flows) - len(rest))
    finest, whole = _rates(record, rows, each, rest, zoom.most_bins(len(lines)))
    return Figure(
        name=f"{prefix}shares",
        title="Shares over time",
        caption=caption,
        chart=charts.lines(lines, data, span, f"Goodput ({unit})", scale * top),
        raw=zoom.lines(finest, [scale * line for line in whole], prefix, span, SHARE_BINS),
    )


def _rates(
    record: Record, rows: Series, each: Sequence[int], rest: Sequence[int], most: int
) -> tuple[Bins, list[Any]]:
    """Give the lines of the figure of shares in at most `most` bins, bit/s.

    They are the goodput of flows, that of all of the background, and the rate of links that change.
    """
    bins = rate(rows, "goodput_bytes", most)
    values = [bins.mean[i] * 8 for i in each]
    if rest:
        values.append(bins.mean[rest].sum(axis=0) * 8)
    if changing := _changing(record):
        scenario = record.meta["scenario"]
        links = whole_run(record.link_series, len(scenario["links"]), scenario)
        values += [line * 8 for line in rate(links, "capacity_bytes", most).mean[changing]]
    return bins, values


def _changing(record: Record) -> list[int]:
    """Choose the links whose rate changes, one direction of each."""
    links = record.meta["scenario"]["links"]
    return [i for i, link in enumerate(links) if varies(link)][::2][:MOST_LINKS]


def _windows(
    record: Record,
    rows: Series,
    looks: Sequence[Look],
    shown: Sequence[int],
    span: Span,
    prefix: str,
) -> Figure:
    flows = record.meta["scenario"]["flows"]
    shaded = phases(record, rows)
    bins = level(rows, "cwnd_packets")
    tops: dict[str, float] = {}
    for i in shown:
        role = flows[i]["role"]
        tops[role] = max(tops.get(role, 1.0), float(bins.high[i].max()))
    drawn_lanes = [
        Lane(
            look=Look(label=looks[i].label, colour=looks[i].colour),
            rows=points(bins, i),
            top=tops[flows[i]["role"]],
            note=f"{flows[i]['controller']}, {milliseconds(flows[i])}",
            spans=shaded[flows[i]["name"]],
        )
        for i in shown
    ]
    caption = "All flows have the same scale."
    if len(tops) > 1:
        caption = "Measured flows have one scale, background flows another."
    caption += " " + _band(bins) + _shades(drawn_lanes) + _missing(len(shown), len(flows))
    return Figure(
        name=f"{prefix}cwnd",
        title="Congestion window over time",
        caption=caption,
        chart=charts.lanes(drawn_lanes, span, "cwnd (packets)"),
        raw=zoom.lanes(lambda most: level(rows, "cwnd_packets", most), shown, prefix, span),
    )


def _shades(lanes: Sequence[Lane]) -> str:
    """Say what is shaded behind the lanes."""
    kinds = {str(row["what"]) for lane in lanes for row in lane.spans}
    named = {SLOW_START: "green: slow start", RECOVERY: "orange: recovery"}
    words = [named[kind] for kind in named if kind in kinds]
    return f" Background {', '.join(words)}." if words else ""


def _loaded(rows: Series) -> list[int]:
    """Choose the links that are drawn; links that carry only acknowledgements are not."""
    busy = rows.total("busy_s")
    most = float(busy.max()) if len(busy) else 0.0
    loaded = [i for i in range(len(busy)) if busy[i] >= 0.25 * most]
    return sorted(sorted(loaded, key=lambda i: -busy[i])[:MOST_LINKS])


def _queues(record: Record, span: Span, prefix: str) -> Figure:
    scenario = record.meta["scenario"]
    links = scenario["links"]
    rows = whole_run(record.link_series, len(links), scenario)
    bins = level(rows, "backlog_packets")
    shown = _loaded(rows)
    lanes = []
    for i in shown:
        capacity = links[i]["capacity_packets"]
        peak = max(float(bins.high[i].max()), 1.0)
        near = capacity is not None and capacity <= 4 * peak
        lanes.append(
            Lane(
                look=Look(label=links[i]["name"], colour="var(--c1)"),
                rows=points(bins, i),
                top=max(peak, capacity * 1.12) if near else peak,
                note=_rate(links[i]),
                limit=(capacity, f"capacity: {capacity} packets") if near else None,
            )
        )
    caption = f"Packets in the queue. {_band(bins)}"
    less = len(links) - len(shown)
    if less:
        caption += f" {less} {'link' if less == 1 else 'links'} with less traffic not shown."
    chart = charts.lanes(lanes, span, "Queue (packets)")
    raw = zoom.lanes(lambda most: level(rows, "backlog_packets", most), shown, prefix, span)
    return Figure(
        name=f"{prefix}queue", title="Queue over time", caption=caption, chart=chart, raw=raw
    )


def _gauges(record: Record, span: Span, prefix: str) -> list[Figure]:
    """Draw the gauges of the links' queues; nothing if no queue has gauges."""
    scenario = record.meta["scenario"]
    links = scenario["links"]
    rows = whole_run(record.link_series, len(links), scenario)
    names = [links[i]["name"] for i in _loaded(rows)]
    lanes = gauges.lanes(record, names, span)
    if not lanes:
        return []
    caption = f"The internal state of the queue.{_scaled(span)}"
    title = "Inside the queue" if len(names) == 1 else "Inside the queues"
    chart = charts.lanes(lanes, span)
    return [Figure(name=f"{prefix}gauges", title=title, caption=caption, chart=chart)]


def _controllers(
    record: Record, looks: Sequence[Look], shown: Sequence[int], span: Span, prefix: str
) -> list[Figure]:
    """Draw the gauges of the flows' controllers; nothing if no controller has gauges."""
    counts = gauges.gauges_of_flows(record)
    having = [i for i in shown if looks[i].label in counts]
    # As many lanes as a figure has lines elsewhere, and at least those of one flow.
    chosen, most = having, len(having)
    while most > 1 and sum(counts[looks[i].label] for i in chosen) > MOST_LINES:
        most -= 1
        chosen = _evenly(having, most)
    lanes = gauges.flow_lanes(record, [looks[i] for i in chosen], span)
    if not lanes:
        return []
    missing = _missing(len(chosen), len(counts))
    caption = f"What the controller of a flow holds.{_scaled(span)}{missing}"
    title = "Inside the controller" if len(chosen) == 1 else "Inside the controllers"
    chart = charts.lanes(lanes, span)
    return [Figure(name=f"{prefix}controllers", title=title, caption=caption, chart=chart)]


def _scaled(span: Span) -> str:
    if span.warmup_s == 0:
        return ""
    return " The scale is that of the measured time; larger values during the warm-up are cut off."


def _losses(
    record: Record, looks: Sequence[Look], shown: Sequence[int], span: Span, prefix: str
) -> Figure:
    """Draw loss events; those of one flow and kind that fall on one pixel are one tick."""
    numbers = {looks[i].label: i for i in shown}
    width = span.end_s / STRIP_BINS
    drawn: dict[tuple[str, bool, int], tuple[float, int]] = {}
    total = 0
    events = not_undone(record)
    for t, kind, flow, _ in events:
        if flow not in numbers:
            continue
        total += 1
        key = (flow, kind == "timeout", int(t / width))
        first, count = drawn.get(key, (t, 0))
        drawn[key] = (first, count + 1)
    data = [
        {
            "t": float(f"{t:.6g}"),
            "of": flow,
            "timeout": timeout,
            "what": ("timeout" if timeout else "loss event") + (f", {n} of them" if n > 1 else ""),
        }
        for (flow, timeout, _), (t, n) in drawn.items()
    ]
    caption = (
        f"A tick is a loss event: one reduction of the window, however many packets were lost or "
        f"marked. A cross is a timeout. There are {total} in total, warm-up included; events of a "
        f"flow within {_s(width)} are drawn as one."
    )
    caption += _missing(len(shown), len(looks))
    chart = charts.strip([looks[i] for i in shown], data, span)
    raw = zoom.events(events, list(numbers), prefix, span)
    return Figure(
        name=f"{prefix}losses", title="Loss events", caption=caption, chart=chart, raw=raw
    )


def shares(labels: Sequence[str], measures: Sequence[Mapping[str, Any]], name: str) -> Figure:
    """Draw the goodput of each measured flow in each of several scenarios."""
    looks: dict[str, Look] = {}
    data: list[dict[str, Any]] = []
    for label, figures in zip(labels, measures, strict=True):
        for look, flow in zip(looks_of(figures["flows"]), figures["flows"], strict=True):
            if flow["role"] == "measured" and (look.label in looks or len(looks) < MOST_LINES):
                looks.setdefault(look.label, look)
                value = flow["goodput_bps"]
                ends: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
                data.append(
                    {
                        **{"row": label, "of": look.label, "mean": mean(value)},
                        **{end: ends.get(end) for end in ("low", "high")},
                    }
                )
    caption = "The goodput of each measured flow, averaged over the measured time."
    if any(row["low"] is not None for row in data):
        caption += " Dots are means over seeds, bars are 95 % intervals."
    top = 1.05 * max(row["high"] or row["mean"] for row in data) or 1.0
    scale, unit = rate_unit(top)
    for row in data:
        row |= {
            k: None if row[k] is None else tidy(scale * row[k]) for k in ("mean", "low", "high")
        }
    x = Scale(title=f"Goodput ({unit})", low=0, high=scale * top)
    chart = dots(list(looks.values()), data, labels, x)
    return Figure(name=name, title="Goodput of each flow", caption=caption, chart=chart)


def _band(bins: Bins) -> str:
    if bins.width_s <= bins.tick_s * 1.01:
        return f"Averaged over {_s(bins.tick_s)}."
    return (
        f"Line: averaged over {_s(bins.width_s)}; band: the smallest and the largest average over "
        f"{_s(bins.tick_s)} within that time."
    )


def _missing(shown: int, total: int) -> str:
    return f" {shown} of {total} flows are drawn." if shown < total else ""


def _s(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 0.1 else f"{seconds * 1000:.3g} ms"


def _rate(link: Mapping[str, Any]) -> str:
    return ("initially or on average " if varies(link) else "") + quantity(
        link["rate_bps"], "bit/s"
    )
