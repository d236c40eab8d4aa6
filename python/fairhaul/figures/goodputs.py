"""The goodput of flows in several scenarios: as dots, as boxes of many flows, and over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairhaul.figures.bins import tidy
from fairhaul.figures.charts import Look, Scale, case_looks, dots, threads
from fairhaul.figures.charts.relations import boxes
from fairhaul.figures.distributions import box_of
from fairhaul.figures.figure import Figure
from fairhaul.figures.figures import (
    MOST_LINES,
    SHARE_BINS,
    Run,
    common_rates,
    looks_of,
    released,
)
from fairhaul.figures.words import reach
from fairhaul.measures.groups import class_of
from fairhaul.results.figure_rows import estimated, mean
from fairhaul.text.phrases import rate_unit

if TYPE_CHECKING:
    from fairhaul.record.record import Record


def shares(
    labels: Sequence[str],
    measures: Sequence[Mapping[str, Any]],
    scenarios: Sequence[Mapping[str, Any]],
    name: str,
) -> Figure:
    """Draw the goodput of each measured flow in each of several scenarios; of many, quartiles."""
    looks: dict[str, Look] = {}
    data: list[dict[str, Any]] = []
    for label, figures in zip(labels, measures, strict=True):
        for look, flow in zip(looks_of(figures["flows"]), figures["flows"], strict=True):
            if flow["role"] == "measured":
                looks.setdefault(look.label, look)
                data.append({"row": label, "of": look.label, **estimated(flow["goodput_bps"])})
    if len(looks) > MOST_LINES:
        return _many(labels, measures, name)
    caption = "The goodput of each measured flow, averaged over the measured time."
    if any(row["low"] is not None for row in data):
        flows = [flow["goodput_bps"] for figures in measures for flow in figures["flows"]]
        exact = any(isinstance(of, Mapping) and of["interval"] == "95 %" for of in flows)
        caption += f" Dots are means over the seeds; {reach('bars', exact=exact)}."
    most = max(row["high"] or row["mean"] for row in data) or 1.0
    marks = common_rates(scenarios, most)
    top = 1.05 * max([most, *(value for value, _ in marks)])
    scale, unit = rate_unit(top)
    for row in data:
        row |= {k: None if v is None else tidy(v) for k, v in estimated(row, scale).items()}
    x = Scale(title=f"Goodput ({unit})", low=0, high=scale * top)
    scaled = [(scale * value, word) for value, word in marks]
    chart = dots(list(looks.values()), data, labels, x, scaled)
    return Figure(name=name, title="Goodput of each flow", caption=caption, chart=chart)


def _many(labels: Sequence[str], measures: Sequence[Mapping[str, Any]], name: str) -> Figure:
    """Draw a box for each `[[flow]]` in each scenario, with a point for each flow."""
    cases: dict[str, list[float]] = {}
    for label, figures in zip(labels, measures, strict=True):
        measured = [flow for flow in figures["flows"] if flow["role"] == "measured"]
        classes = {class_of(flow) for flow in measured}
        for flow in measured:
            several = 1 < len(classes) <= MOST_LINES
            case = f"{label}, {class_of(flow)}" if several else label
            cases.setdefault(case, []).append(mean(flow["goodput_bps"]))
    scale, unit = rate_unit(max(value for values in cases.values() for value in values))
    drawn = [
        box_of(look, [scale * value for value in values])
        for look, values in zip(case_looks(cases), cases.values(), strict=True)
    ]
    top = 1.05 * max(max(box.values) for box in drawn) or 1.0
    x = Scale(title=f"Goodput ({unit})", low=0, high=top)
    flows = max(sum(f["role"] == "measured" for f in figures["flows"]) for figures in measures)
    caption = (
        "A point for each measured flow, over a box from the first to the third quartile with the "
        "median; the line reaches from the least to the most goodput."
    )
    title = f"Goodput of {flows} flows"
    return Figure(name=name, title=title, caption=caption, chart=boxes(drawn, x))


def over_time(labels: Sequence[str], records: Sequence[Record]) -> Figure | None:
    """Draw the goodput over time of several scenarios; nothing if their flows or times differ."""
    runs = [Run(record=record, prefix="") for record in records]
    names = [flow["name"] for flow in runs[0].flows]
    like = [([flow["name"] for flow in run.flows], run.span) for run in runs]
    each = [i for i in runs[0].shown if runs[0].flows[i]["role"] == "measured"]
    if len(runs) < 2 or not each or any(of != (names, runs[0].span) for of in like):
        return None
    found = [run.rates(each, [], SHARE_BINS) for run in runs]
    lines = [list(values[: len(each)]) for _, values in found]
    most = max(float(line.max()) for values in lines for line in values) or 1.0
    marks = common_rates([run.scenario for run in runs], most)
    scale, unit = rate_unit(max([most, *(value for value, _ in marks)]))
    lanes = {
        label: [
            {"t": tidy(t), **{f"v{k}": tidy(scale * line[b]) for k, line in enumerate(values)}}
            for b, t in enumerate(bins.middle_s)
        ]
        for label, (bins, _), values in zip(labels, found, lines, strict=True)
    }
    looks = [runs[0].looks[i] for i in each]
    scaled = [(scale * value, word) for value, word in marks]
    measured = sum(flow["role"] == "measured" for flow in runs[0].flows)
    return Figure(
        name="over-time",
        title=f"Goodput over time, case by case{runs[0].part(each, measured)}",
        caption=(
            "New payload that arrived in order, averaged over "
            f"{found[0][0].width_s:.3g} s, of the first seed of each case.{released(most, marks)}"
        ),
        chart=threads(looks, lanes, runs[0].span, f"Goodput ({unit})", scaled),
    )
