"""RTT fairness: the throughput of a near flow over that of a far one, by how far apart they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fairhaul.figures.bins import tidy
from fairhaul.figures.charts import Curve, Look, Scale
from fairhaul.figures.charts.vega import Spec
from fairhaul.figures.look import colour
from fairhaul.measures.measures import measure
from tools.gallery import Key, of_controller, scenario
from tools.gallery.grid import Panel, grid

if TYPE_CHECKING:
    from fairhaul.record.record import Record
    from fairhaul.scenario.read import Scenario

NEAR_MS = 40
RATIOS = (1, 2, 3, 4, 5, 6)
QUICK = {"duration": "10 s", "warmup": "5 s", "bottleneck.rate": "20 Mbit/s"}

# Beyond these a ratio is drawn at the edge.
LEAST, MOST = 0.5, 1000.0

LINE = Look(label="throughput of near over far", colour=colour(0))
INVERSE = Look(label="as 1/RTT", colour="var(--quiet)", dash=(4, 3), thin=True)


def plan(names: Sequence[str], quick: bool) -> dict[Key, Scenario]:
    """Give a run for each controller and ratio of round trips."""
    short = QUICK if quick else {}
    return {
        (name, str(ratio)): scenario(
            "rtt.toml",
            [short, {"flow.far.rtt": f"{NEAR_MS * ratio} ms"}, of_controller(name, "*")],
        )
        for name in names
        for ratio in RATIOS
    }


def read(record: Record) -> float:
    """Give the ratio of throughputs, as far as the axis reaches."""
    near, far = (flow["goodput_bps"] for flow in measure(record)["flows"])
    return tidy(min(max(near / far if far else MOST, LEAST), MOST))


def draw(names: Sequence[str], ratios: Mapping[Key, float]) -> dict[str, Spec]:
    """Draw the ratio of throughputs over that of the round trips."""
    inverse = [{"x": ratio, "mean": ratio} for ratio in RATIOS]
    x = Scale(title="RTT ratio", low=1, high=RATIOS[-1], ticks=RATIOS, form="d")
    y = Scale(title="Throughput ratio", low=LEAST, high=MOST, log=True, ticks=[1, 10, 100, 1000])
    panels = [
        Panel(
            name=name,
            curves=[
                Curve(look=INVERSE, points=inverse),
                Curve(
                    look=LINE,
                    points=[{"x": ratio, "mean": ratios[name, str(ratio)]} for ratio in RATIOS],
                ),
            ],
            x=x,
            y=y,
        )
        for name in names
    ]
    return {"round-trips": grid(panels, [LINE, INVERSE])}
