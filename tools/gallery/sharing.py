"""Two flows that share a link, over time: the first picture of the README.

The same flows at a shallow and at a deep buffer, with the rate of the link and the fair share. It
is narrow, so that its words can be read on a page of 400 pixels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairhaul.figures import charts
from fairhaul.figures.bins import rate, tidy, whole_run
from fairhaul.figures.charts import INK, TIME, Curve, Scale
from fairhaul.figures.charts.vega import Row, Spec, layers, vertical
from tools import ROOT
from tools.gallery import Key

if TYPE_CHECKING:
    from fairhaul.record.record import Record
    from fairhaul.scenario.read import Scenario

FIGURE = "sharing"
SCENARIO = ROOT / "scenarios" / "questions" / "bbr3-beside-cubic.toml"
PANELS = {"0.5 bdp": "Buffer of 0.5 BDP", "8 bdp": "Buffer of 8 BDP: the same flows"}
SETTINGS = {"bottleneck.rate": "100 Mbit/s", "duration": "400 s"}
QUICK = {**SETTINGS, "duration": "40 s", "warmup": "20 s"}

WIDTH, HEIGHT, SPACE = 360, 118, 22
BINS = 100
LINK_MBPS = 100


@dataclass(frozen=True, kw_only=True)
class Sharing:
    """The goodput of each flow over time, Mbit/s, and the end of the run, seconds."""

    flows: Mapping[str, Sequence[Row]]
    end_s: float


def names() -> list[str]:
    """Name the buffers."""
    return list(PANELS)


def plan(names: Sequence[str], quick: bool) -> dict[Key, Scenario]:
    """Give a run for each buffer."""
    from fairhaul.scenario.read import read as read_scenarios
    from fairhaul.scenario.read import variant

    runs: dict[Key, Scenario] = {}
    for scenario in read_scenarios(SCENARIO, QUICK if quick else SETTINGS):
        (buffer,) = variant(scenario).values()
        if buffer in names:
            runs[buffer,] = scenario
    return runs


def read(record: Record) -> Sharing:
    """Keep what is drawn."""
    scenario = record.meta["scenario"]
    flows = scenario["flows"]
    bins = rate(whole_run(record.flow_series, len(flows), scenario), "goodput_bytes", BINS)
    rows = {
        flow["name"]: [
            {"x": tidy(t), "mean": tidy(v * 8e-6)}
            for t, v in zip(bins.middle_s, bins.mean[number], strict=True)
        ]
        for number, flow in enumerate(flows)
    }
    return Sharing(flows=rows, end_s=scenario["duration_s"])


def draw(names: Sequence[str], runs: Mapping[Key, Sharing]) -> dict[str, Spec]:
    """Draw a panel for each buffer, one below the other."""
    panels = [
        _panel(PANELS[name], runs[name,], is_first=not number, is_last=number == len(names) - 1)
        for number, name in enumerate(names)
    ]
    return {FIGURE: vertical(panels, SPACE)}


def _panel(title: str, run: Sharing, *, is_first: bool, is_last: bool) -> Spec:
    x = Scale(title=TIME if is_last else "", low=0, high=run.end_s)
    y = Scale(title="Goodput (Mbit/s)", low=0, high=1.1 * LINK_MBPS, ticks=[0, 50, 100])
    curves = [
        Curve(look=look, points=points)
        for look, points in zip(charts.looks(run.flows), run.flows.values(), strict=True)
    ]
    values = {"link": LINK_MBPS, "fair share": LINK_MBPS // 2}
    marks = [(value, f"{name}: {value}" if is_first else "") for name, value in values.items()]
    ends = [HEIGHT * (1 - y.place(_last(curve.points))) for curve in curves]
    drawn = [charts.line(curve, x, y) for curve in curves]
    drawn += charts.limits(marks)
    drawn += charts.labels([curve.look for curve in curves], ends, HEIGHT)
    return layers([*drawn, charts.head(title, INK, bold=True)], WIDTH, HEIGHT)


def _last(points: Sequence[Row]) -> float:
    """Give the mean of the last tenth, where the name of a line stands."""
    last = [float(row["mean"]) for row in points[-BINS // 10 :]]
    return sum(last) / len(last)
