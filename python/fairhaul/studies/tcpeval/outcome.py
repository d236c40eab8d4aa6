"""The results of the suite in words, tables and figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from fairhaul.figures.charts import Curve, Look, Scale, bars, curves, looks
from fairhaul.figures.figure import Figure
from fairhaul.report.outcome import Outcome, Section
from fairhaul.scenario.transport import STANDARD
from fairhaul.statistics.estimate import Estimate, legend
from fairhaul.studies.tcpeval import SuiteResult, SuiteTest, suite
from fairhaul.studies.tcpeval.measures import SIZES
from fairhaul.studies.tcpeval.tables import Column, Row
from fairhaul.text.digits import percent
from fairhaul.text.phrases import count_of
from fairhaul.text.table import Table

LOAD_OFF = 0.02


def answer(done: SuiteResult) -> str:
    """Say in a sentence for each controller what it costs standard TCP, or what was run."""
    ran = f"{done.runs} runs of {len(done.rows)} of the {len(suite().tests)} tests of the suite."
    sentences = []
    for row in done.rows.get("impact", ()):
        gain, loss = row.figures["gain"], row.figures["loss"]
        if gain is not None and loss is not None:
            sentences.append(
                f"At a load of {row.point[0]}, connections that change to {row.controller} get "
                f"{gain.mean:.3g} times the goodput, and connections that stay with standard TCP "
                f"{loss.mean:.3g} times."
            )
    return " ".join([*sentences, ran])


def method(done: SuiteResult) -> list[str]:
    """Say how the numbers came about."""
    traffic = (
        "Traffic is generated, because the traces of the suite are not distributed with it."
        if done.generated
        else "Traffic is that of the given traces."
    )
    far = [
        f"{folder} {percent(1)(made.load)}"
        for folder, made in sorted(done.traffic.items())
        if abs(made.load / made.wanted - 1) > LOAD_OFF
    ]
    runs = count_of(done.seeds, "run")
    lines = [
        f"Common TCP Evaluation Suite ({suite().document}), {runs} of each point. Standard TCP is "
        f"{STANDARD}. {traffic}",
        legend(done.seeds) if done.seeds > 1 else "A single run has no interval.",
    ]
    if done.shorter > 1:
        lines.append(
            f"Times are up to {done.shorter:g} times as short as the draft's: numbers are for a "
            "first look."
        )
    if far:
        lines.append(f"More than 2 % away from the requested load: {', '.join(far)}.")
    return lines


def outcome_of(done: SuiteResult) -> Outcome:
    """Put the results of the suite into words and tables."""
    names = ", ".join(done.controllers)
    return Outcome(
        study="evaluate",
        title=f"Common TCP Evaluation Suite: {names}",
        question=f"What do the tests of the suite find for {names}?",
        answer=answer(done),
        evidence=lambda: list(_sections(done)),
        values=done.values,
    )


def _sections(done: SuiteResult) -> Iterator[Section]:
    for name, rows in done.rows.items():
        test = suite().tests[name]
        few = [column for column in test.columns if not column.detail]
        yield Section(
            heading=test.title,
            text=[test.what],
            tables=[_table(test, few, rows)],
            figures=partial(_figures, name, rows),
        )
    yield Section(heading="Method", text=method(done), points=suite().departures)
    for name, rows in done.rows.items():
        test = suite().tests[name]
        if any(column.detail for column in test.columns):
            yield Section(
                heading=f"{test.title}: all columns",
                tables=[_table(test, test.columns, rows)],
                detailed=True,
                folded=True,
            )


def _table(test: SuiteTest, columns: Sequence[Column], rows: Sequence[Row]) -> Table:
    return Table(
        columns=test.heads(columns),
        rows=[row.cells(columns) for row in rows],
        words=len(test.points) + 1,
    )


def _figures(name: str, rows: Sequence[Row]) -> Sequence[Figure]:
    drawn = {"tradeoff": _tradeoff, "impact": _impact, "ramp-up": _ramp_up}
    return drawn[name](rows) if name in drawn else ()


def _looks(found: Sequence[Row]) -> list[Look]:
    names = dict.fromkeys(row.controller for row in found)
    return looks(names)


def _mark(of: Estimate, scale: float = 1.0) -> dict[str, Any]:
    low, high = [scale * end for end in of.ends() or ()] or (None, None)
    return {"mean": scale * of.mean, "low": low, "high": high}


def _tradeoff(found: Sequence[Row]) -> list[Figure]:
    lines, queues, parts = [], [0.0], [100.0]
    for look in _looks(found):
        points = [
            {"x": 1000 * queue.mean, **_mark(part, 100.0)}
            for row in found
            if row.controller == look.label
            and (queue := row.figures["queue_s"]) is not None
            and (part := row.figures["utilization"]) is not None
        ]
        queues += [point["x"] for point in points]
        parts += [point["mean"] for point in points]
        lines.append(Curve(look=look, points=points))
    x = Scale(title="Mean queue (ms)", low=0.0, high=1.05 * max(queues))
    y = Scale(title="Utilization (%)", low=min(parts) - 1, high=100.0)
    return [
        Figure(
            name="tradeoff",
            title="Delay and utilization",
            caption="A point for each buffer: 10, 20, 50, 100 and 200 % of the product.",
            chart=curves(lines, x, y),
        )
    ]


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
    for number, link in enumerate(dict.fromkeys(row.point[1] for row in found)):
        of = [row for row in found if row.point == ("80, 80 ms", link)]
        lines, times = [], []
        for look, row in zip(_looks(of), of, strict=True):
            points = [
                {"x": size, **_mark(value)}
                for size in SIZES
                if (value := row.figures[f"s_to_{size}_bytes"]) is not None
            ]
            lines.append(Curve(look=look, points=points))
            times += [point["mean"] for point in points]
        if not times:
            continue
        x = Scale(title="Bytes", low=SIZES[0], high=SIZES[-1], log=True, form="~s")
        y = Scale(title="Time (s)", low=min(times) / 2, high=2 * max(times), log=True, form="~s")
        chart = curves(lines, x, y)
        title = f"A new flow at {link}, with round trips of 80 ms"
        caption = "Time after its start at which the new flow has received this number of bytes."
        figures.append(Figure(name=f"ramp-up-{number}", title=title, caption=caption, chart=chart))
    return figures
