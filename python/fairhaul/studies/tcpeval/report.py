"""The results of a suite as a page, and in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairhaul.figures.charts import Curve, Look, Scale, bars, curves
from fairhaul.figures.figure import Figure, Section, Table
from fairhaul.figures.look import colour, dash
from fairhaul.report import write as write_page
from fairhaul.statistics.estimate import Estimate, legend
from fairhaul.studies.tcpeval import Done
from fairhaul.studies.tcpeval.cases import STANDARD, percent
from fairhaul.studies.tcpeval.latency import SIZES, size_key
from fairhaul.studies.tcpeval.links import BASIC
from fairhaul.studies.tcpeval.tables import COLUMNS, POINTS, TITLES, Row, heads, rows

PAGE = "report.html"
WHAT = {
    "basic": "The central link in the direction of most data, with nine pairs of hosts. The last "
    "two columns are the median times of transfers by their size; those upwards are of the other "
    "direction.",
    "tradeoff": "The access link at a load of 85 %, with buffers from 10 to 200 % of the product "
    "of the rate and 100 ms.",
    "ramp-up": "Seconds until a new flow has received this number of bytes. It begins without slow "
    "start, beside an endless flow and other traffic of half the link. The round trips are those "
    "of the flow that is there and of the new one; - where the run ended before.",
    "transients": "One flow of 100 ms over 100 Mbit/s. Datagrams of 75 Mbit/s end (decrease): "
    "seconds until the window reaches parts of the path, and its largest change within a round "
    "trip. Datagrams begin, at once (increase) or 2.5 Mbit/s more each second (steps): how many of "
    "them were dropped.",
    "impact": "Two camps of equal connections on the access link: A has standard TCP, B the "
    "controller. G is the goodput of B, and L that of A, relative to both camps with standard TCP.",
    "fairness": "The ratio of the goodput of two flows of a controller over other traffic of half "
    "the link. The round trips are those of the first and of the second flow.",
    "bottlenecks": "A parking lot: goodput of the sources that cross one bottleneck, relative to "
    "that of the source that crosses three.",
}
LOAD_OFF = 0.02


def answer(done: Done) -> str:
    """Say in a sentence for each controller what it costs standard TCP, or what was run."""
    number = sum(len(cases) for cases in done.cases.values())
    ran = f"{number} runs of {len(done.cases)} of the {len(TITLES)} tests of the suite."
    if "impact" not in done.cases:
        return ran
    sentences = []
    for row in rows(done, "impact"):
        gain, loss = row.figures["gain"], row.figures["loss"]
        if gain is not None and loss is not None:
            sentences.append(
                f"At a load of {row.point[0]}, connections that change to {row.controller} get "
                f"{gain.mean:.3g} times the goodput, and connections that stay with standard TCP "
                f"{loss.mean:.3g} times."
            )
    return " ".join([*sentences, ran])


def method(done: Done) -> list[str]:
    """Say how the numbers came about."""
    traffic = (
        "Traffic is generated, because the traces of the suite are not distributed with it."
        if done.generated
        else "Traffic is that of the given traces."
    )
    far = [
        f"{folder} {percent(made.load, 1)}"
        for folder, made in sorted(done.traffic.items())
        if abs(made.load / made.wanted - 1) > LOAD_OFF
    ]
    lines = [
        f"Common TCP Evaluation Suite (draft-irtf-iccrg-tcpeval-01), {_runs(done.effort.seeds)} "
        f"of each point. Standard TCP is {STANDARD}. {traffic}",
        legend(done.effort.seeds) if done.effort.seeds > 1 else "A single run has no interval.",
    ]
    if done.effort.shorter > 1:
        lines.append(
            f"Times are up to {done.effort.shorter:g} times as short as the draft's: numbers are "
            "for a first look."
        )
    if far:
        lines.append(f"More than 2 % away from the requested load: {', '.join(far)}.")
    return lines


def _runs(seeds: int) -> str:
    return "one run" if seeds == 1 else f"{seeds} runs"


def departures() -> list[str]:
    """Say what differs from the draft."""
    links = [f"{of.title}: {of.departure}." for of in BASIC if of.departure]
    return [
        "Each request and each response has a connection of its own, which costs a round trip more "
        "than in one that stays open.",
        *links,
        "Two camps: their load is together that of the draft's link of 100 Mbit/s.",
        "Several bottlenecks: the draft does not say how large buffers are; they hold 100 ms.",
        "Ramp-up, transients and fairness: edges are at least ten times as fast as the link. Edges "
        "of its rate, whose queues have no limit here, would hold the queue of an endless flow.",
    ]


def write(done: Done, out: Path) -> Path:
    """Write the page and its figures into a directory; give the path of the page."""
    sections = [_section(done, test) for test in done.cases]
    sections.append(Section(heading="Method", text=method(done), points=departures()))
    return write_page(
        out / PAGE,
        f"Common TCP Evaluation Suite: {', '.join(done.controllers)}",
        f"What do the tests of the suite find for {', '.join(done.controllers)}?",
        answer(done),
        sections,
    )


def _section(done: Done, test: str) -> Section:
    found, columns = rows(done, test), COLUMNS[test]
    words = len(POINTS[test]) + 1
    table = Table(
        columns=heads(test, columns), rows=[row.cells(columns) for row in found], words=words
    )
    figures = {"tradeoff": _tradeoff, "impact": _impact, "ramp-up": _ramp_up}
    drawn = figures[test](found) if test in figures else []
    return Section(heading=TITLES[test], text=[WHAT[test]], tables=[table], figures=drawn)


def _looks(found: Sequence[Row]) -> list[Look]:
    names = dict.fromkeys(row.controller for row in found)
    return [Look(label=name, colour=colour(i), dash=dash(i)) for i, name in enumerate(names)]


def _mark(of: Estimate, scale: float = 1.0) -> dict[str, Any]:
    low, high = of.ends() or (None, None)
    return {
        "mean": scale * of.mean,
        "low": None if low is None else scale * low,
        "high": None if high is None else scale * high,
    }


def _tradeoff(found: Sequence[Row]) -> list[Figure]:
    lines, queues, parts = [], [0.0], [100.0]
    for look in _looks(found):
        points = []
        for row in found:
            queue, part = row.figures["queue_s"], row.figures["utilization"]
            if row.controller == look.label and queue is not None and part is not None:
                points.append({"x": 1000 * queue.mean, **_mark(part, 100.0)})
                queues.append(1000 * queue.mean)
                parts.append(100 * part.mean)
        lines.append(Curve(look=look, points=points))
    x = Scale(title="Mean queue (ms)", low=0.0, high=1.05 * max(queues))
    y = Scale(title="Utilization (%)", low=min(parts) - 1, high=100.0)
    chart = curves(lines, x, y)
    caption = "A point for each buffer: 10, 20, 50, 100 and 200 % of the product."
    return [Figure(name="tradeoff", title="Delay and utilization", caption=caption, chart=chart)]


def _impact(found: Sequence[Row]) -> list[Figure]:
    marks = [
        {"group": f"{name} at {row.point[0]}", "of": row.controller, **_mark(value), "paper": None}
        for key, name in (("gain", "G"), ("loss", "L"))
        for row in found
        if (value := row.figures[key]) is not None
    ]
    if not marks:
        return []
    y = Scale(title="relative to standard TCP", low=0.0, high=1.2 * max(m["mean"] for m in marks))
    chart = bars(_looks(found), marks, "", y)
    caption = "Above 1 the camp gets more than if both camps had standard TCP."
    return [Figure(name="impact", title="Gain and loss", caption=caption, chart=chart)]


def _ramp_up(found: Sequence[Row]) -> list[Figure]:
    figures = []
    for number, link in enumerate(dict.fromkeys(row.point[0] for row in found)):
        of = [row for row in found if row.point == (link, "80, 80 ms")]
        lines, times = [], []
        for look, row in zip(_looks(of), of, strict=True):
            points = [
                {"x": size, **_mark(value)}
                for size in SIZES
                if (value := row.figures[size_key(size)]) is not None
            ]
            lines.append(Curve(look=look, points=points))
            times += [point["mean"] for point in points]
        x = Scale(title="Bytes", low=SIZES[0], high=SIZES[-1], log=True, form="~s")
        y = Scale(title="Time (s)", low=min(times) / 2, high=2 * max(times), log=True, form="~s")
        chart = curves(lines, x, y)
        title = f"A new flow at {link}, with round trips of 80 ms"
        caption = "Time after its start at which the new flow has received this number of bytes."
        figures.append(Figure(name=f"ramp-up-{number}", title=title, caption=caption, chart=chart))
    return figures
