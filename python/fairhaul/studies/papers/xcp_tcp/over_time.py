"""Figures 1 to 5 [XCP-TCP, 2, 5, 6]: the shares of the link over time, and what is due."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fairhaul.figures import charts
from fairhaul.figures.charts import Curve, Look, flow_look
from fairhaul.figures.figure import Figure
from fairhaul.figures.look import colour
from fairhaul.statistics.estimate import Estimate
from fairhaul.studies.papers.figures import curve
from fairhaul.studies.papers.results import Key, Results, cell
from fairhaul.studies.papers.table import Cell, Row, Table
from fairhaul.studies.papers.xcp_tcp.shares import CLASSES, MEAN_S, Phase

FIGURE_1 = "Figure 1"
MIXES = {
    FIGURE_1: "1 XCP, 2 TCP, no mechanism",
    "Figure 2": "1 XCP, 2 TCP",
    "Figure 3": "10 TCP, 3 XCP",
    "Figure 4": "10 XCP, 3 TCP",
    "Figure 5, caption": "10 XCP, 3 TCP, half of the packets inspected",
    "Figure 5, text": "10 TCP, 3 XCP, half of the packets inspected",
}
RATE, SLOW, FAST = "100 Mbit/s", "20 Mbit/s", "1 Gbit/s"
RTTS = ("20 ms", "100 ms")
DUE = [what for who in CLASSES for what in (f"{who} due", who)]

LEGEND = (
    "Points are means over 10 s, in % of the link, and bands are their 95 % intervals over seeds. "
    "Thin lines are the largest share in any second of the 10 s, dashed lines the due share of "
    "each class."
)


def tables(results: Results) -> list[Table]:
    """Lay out the shares of every phase, what the law leaves to XCP, and the shares at the end."""
    return [_over_time(results), _law(results), _settled(results)]


def _label(key: Key) -> str:
    name, rate, rtt = key
    figure, _, which = name.partition(", ")
    letter = "ab"[RTTS.index(rtt)] if figure != FIGURE_1 else ""
    words = [f"{figure}{letter}", *([which] if which else []), *([rate] if rate != RATE else [])]
    return ", ".join([*words, rtt])


def _cells(results: Results, key: Key, names: Mapping[str, str]) -> list[Cell]:
    """Give our numbers of a case, each in its form."""
    return [cell(results.estimate(key, name), form) for name, form in names.items()]


def _shares(results: Results, key: Key, phase: Phase, suffix: str = "") -> list[Cell]:
    """Give for each class what is due to it, and its share."""
    cells = []
    for who in CLASSES:
        due = Estimate(mean=phase.due(who), low=None, high=None)
        cells += [cell(due, ".1f"), *_cells(results, key, {f"{who}{suffix}": ".1f"})]
    return cells


def _over_time(results: Results) -> Table:
    """Lay out every phase of every figure in which both classes send."""
    rows = [
        Row(label=f"{_label(key)}, {phase}", cells=_phase(results, key, phase))
        for key, when in results.kept.items()
        for phase in when[1:]
    ]
    return Table(
        title="Figures: shares of the link between arrivals, %, and seconds",
        parameter="figure, round trip, phase",
        columns=[*DUE, "share reached after, s", *(f"{who} low, s" for who in CLASSES)],
        rows=rows,
        notes=[
            "The first 10 s of each phase, in which slow start ends, are not in the shares. "
            "Share reached after: the time that the class which starts needs to reach its share, "
            "on average over the seeds in which it does. Low: seconds of the phase in which a "
            "class has less than half of its due share.",
        ],
    )


def _phase(results: Results, key: Key, phase: Phase) -> list[Cell]:
    start = phase.start_s
    times = [f"there from {start}", *(f"{who} below half from {start}" for who in CLASSES)]
    shares = _shares(results, key, phase, f" from {start}")
    return [*shares, *_cells(results, key, dict.fromkeys(times, ".0f"))]


def _law(results: Results) -> Table:
    """Lay out what the law of XCP leaves it under TCP, beside what it has."""
    return Table(
        title="Figure 1: the share that XCP's control law predicts for XCP, % of the link",
        parameter="link",
        columns=["XCP due", "XCP", "by the law"],
        rows=[
            Row(
                label=", ".join(key[1:]),
                cells=[
                    *_shares(results, key, results.kept[key][-1])[:2],
                    *_cells(results, key, {"residue": ".1f"}),
                ],
            )
            for key in results.runs
            if key[0] == FIGURE_1
        ],
        notes=[
            "TCP fills the queue, so the router can assign only the traffic that it shuffles: a "
            "tenth of the traffic minus the reduction that it assigns to all flows. It takes this "
            "traffic from all flows in proportion to their rates, and assigns it to XCP alone. By "
            "the law: the ratio of positive to negative feedback, from the router's gauges.",
        ],
    )


def _settled(results: Results) -> Table:
    """Lay out what is due and the shares once all have arrived, for every figure."""
    forms = {"used": ".1f", "off": ".1f", "dropping": ".1f", "p": ".1e"}
    rows = [
        Row(
            label=_label(key),
            cells=[*_shares(results, key, when[-1]), *_cells(results, key, forms)],
        )
        for key, when in results.kept.items()
    ]
    return Table(
        title="Figures: shares after all flows have started, % of the link",
        parameter="figure, round trip",
        columns=[*DUE, "used", "off by", "dropping", "p"],
        rows=rows,
        notes=[
            "Off by: the mean distance of XCP's 10 s means from its due share, in percentage "
            "points of the link. Dropping: the fraction of the time, in %, in which the "
            "mechanism drops packets; p is the mean probability in that time.",
        ],
    )


def figures(engines: Mapping[str, Results]) -> list[Figure]:
    """Draw the shares over time as the paper does, 20 ms and 100 ms beside each other."""
    (results,) = engines.values()
    drawn = []
    for name, mix in MIXES.items():
        for rate in (RATE, SLOW, FAST):
            keys = {rtt: (name, rate, rtt) for rtt in RTTS}
            if all(key in results.kept for key in keys.values()):
                title = f"{name}: {mix}" + ("" if rate == RATE else f", {rate}")
                drawn.append(_draw(results, keys, title, _file(name, rate)))
    return drawn


def floor(engines: Mapping[str, Results]) -> list[Figure]:
    """Draw the shares over time with the two readings of the least drop probability."""
    (results,) = engines.values()
    ways = ("dropped above its share", "dropped always")
    return [
        _draw(results, {way: (mix, RTTS[1], way) for way in ways}, f"Floor: {mix}, {RTTS[1]}", file)
        for mix, file in (("1 XCP, 2 TCP", "floor-two"), ("10 XCP, 3 TCP", "floor-three"))
    ]


def _file(name: str, rate: str) -> str:
    words = name.lower().replace("figure ", "figure").replace(", ", "-")
    return words if rate == RATE else f"{words}-{rate.replace(' ', '').replace('/', '').lower()}"


def _draw(results: Results, keys: Mapping[str, Key], title: str, file: str) -> Figure:
    """Draw the shares of some cases beside each other, by the name of each."""
    panels = {
        f"{letter}) {name}": _lines(results, key)
        for letter, (name, key) in zip("abcd"[: len(keys)], keys.items(), strict=True)
    }
    end = max(phase.end_s for key in keys.values() for phase in results.kept[key])
    x = charts.Scale(title="Time (s)", low=0, high=end)
    y = charts.Scale(title="Share of the link (%)", low=0, high=105, ticks=[0, 25, 50, 75, 100])
    return Figure(name=file, title=title, caption=LEGEND, chart=charts.beside(panels, x, y))


def _lines(results: Results, key: Key) -> list[Curve]:
    phases = results.kept[key]
    middles = range(MEAN_S // 2, phases[-1].end_s, MEAN_S)
    lines = []
    for i, who in enumerate(CLASSES):
        steps = [
            {"x": x, "mean": phase.due(who), "low": None, "high": None}
            for phase in phases
            for x in (phase.start_s, phase.end_s)
        ]
        plain = Look(label="", colour=colour(i), thin=True)
        peaks = curve(results, plain, {x: (key, f"{who} peak at {x}") for x in middles})
        bare = [{**row, "low": None, "high": None} for row in peaks.points]
        look = flow_look(who, i)
        lines += [
            Curve(look=replace(plain, dash=(4, 4)), points=steps),
            Curve(look=plain, points=bare),
            curve(results, look, {x: (key, f"{who} at {x}") for x in middles}),
        ]
    return lines
