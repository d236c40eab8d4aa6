"""Figures with a slider over the points of a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairhaul.figures.bins import level, tidy, whole_run
from fairhaul.figures.charts import Look, Scale, Span
from fairhaul.figures.charts.steps import stepped_bars, stepped_lines
from fairhaul.figures.figure import Figure
from fairhaul.figures.figures import common_rates
from fairhaul.figures.look import colour
from fairhaul.figures.select import evenly, part
from fairhaul.figures.words import reach
from fairhaul.results.figure_rows import estimated
from fairhaul.text.phrases import rate_unit

if TYPE_CHECKING:
    from fairhaul.record.record import Record

MOST_CASES = 60
# A point of a sweep has only a row for each flow.
MOST_POINTS_OF_SWEEP = 1000
MOST_FLOWS = 8
# Of one line, so that a page of sixty cases stays below a megabyte.
MOST_POINTS = 150


def windows(cases: Sequence[str], records: Sequence[Record]) -> Figure | None:
    """Draw the windows over time of one case at a time; nothing if the cases' flows differ."""
    first = records[0].meta["scenario"]
    names = _measured(first)
    like = [(_measured(r.meta["scenario"]), r.meta["scenario"]["duration_s"]) for r in records]
    same = all(each == (names, first["duration_s"]) for each in like)
    if len(cases) < 2 or not same or not 0 < len(names) <= MOST_FLOWS:
        return None
    kept = evenly(range(len(cases)), MOST_CASES)
    rows = [
        {"case": case, **row}
        for case, number in enumerate(kept)
        for row in _windows(records[number], names)
    ]
    if not rows:
        return None
    top = 1.05 * max(float(row["y"]) for row in rows) or 1.0
    chart = stepped_lines(
        [cases[number] for number in kept],
        [Look(label=name, colour=colour(i)) for i, name in enumerate(names)],
        rows,
        Span(end_s=first["duration_s"], warmup_s=first["warmup_s"]),
        Scale(title="cwnd (packets)", low=0, high=top),
    )
    caption = (
        f"The windows of one case at a time, averaged over {MOST_POINTS} parts of the run; the "
        f"slider below the chart selects the case. All cases have one scale."
    )
    return Figure(
        name="slider",
        title=f"Windows, case by case{part(len(kept), len(cases), 'cases')}",
        caption=caption,
        chart=chart,
    )


def goodputs(
    cases: Sequence[str],
    each: Sequence[Sequence[Mapping[str, Any]]],
    scenarios: Sequence[Mapping[str, Any]] = (),
) -> Figure | None:
    """Draw the goodput of each flow or group, an estimate, of one case at a time.

    With the `scenarios` of the cases, it is compared with their links and the fair share.
    """
    names = list(dict.fromkeys(party["name"] for parties in each for party in parties))
    if len(cases) < 2 or not 0 < len(names) <= MOST_FLOWS:
        return None
    kept = evenly(range(len(cases)), MOST_POINTS_OF_SWEEP)
    found = [
        (case, party["name"], party["goodput_bps"])
        for case, number in enumerate(kept)
        for party in each[number]
    ]
    ends = [value for _, _, of in found for value in (of["mean"], of["high"]) if value is not None]
    marks = common_rates(scenarios, max(ends))
    if any(len(scenario["flows"]) > len(names) for scenario in scenarios):
        marks = marks[:1]  # a group has more than the fair share of a flow
    top = max([*ends, *(value for value, _ in marks)])
    scale, unit = rate_unit(top)
    rows = [
        {
            **{"case": case, "of": name},
            **{k: None if v is None else tidy(v) for k, v in estimated(of, scale).items()},
        }
        for case, name, of in found
    ]
    chart = stepped_bars(
        [cases[number] for number in kept],
        [Look(label=name, colour=colour(i)) for i, name in enumerate(names)],
        rows,
        Scale(title=f"Goodput ({unit})", low=0, high=1.05 * scale * top or 1.0),
        [(scale * value, name) for value, name in marks],
    )
    caption = (
        "The goodput at one point of the sweep at a time; the slider below the chart selects the "
        "point."
    )
    intervals = {of["interval"] for _, _, of in found if of["low"] is not None}
    if intervals:
        caption += f" Bars are means over the seeds; {reach('lines', exact='95 %' in intervals)}."
    title = f"Goodput, point by point{part(len(kept), len(cases), 'points')}"
    return Figure(name="slider", title=title, caption=caption, chart=chart)


def _measured(scenario: Mapping[str, Any]) -> list[str]:
    return [flow["name"] for flow in scenario["flows"] if flow["role"] == "measured"]


def _windows(record: Record, names: Sequence[str]) -> list[dict[str, Any]]:
    scenario = record.meta["scenario"]
    flows = [flow["name"] for flow in scenario["flows"]]
    rows = whole_run(record.flow_series, len(flows), scenario)
    bins = level(rows, "cwnd_packets", MOST_POINTS)
    return [
        {"of": name, "t": tidy(t), "y": tidy(value)}
        for name in names
        if not bins.has_gaps(flows.index(name))
        for t, value in zip(bins.middle_s, bins.mean[flows.index(name)], strict=True)
    ]
