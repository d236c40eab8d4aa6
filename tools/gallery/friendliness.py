"""Friendliness: the share of a flow beside one of standard TCP, by round trip and buffer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fairhaul.figures.bins import tidy
from fairhaul.figures.charts import Curve, Look, Scale
from fairhaul.figures.charts import looks as looks_of
from fairhaul.figures.charts.vega import Spec
from fairhaul.measures.measures import measure
from tools.gallery import Key, of_controller, scenario
from tools.gallery.grid import Panel, grid

if TYPE_CHECKING:
    from fairhaul.record.record import Record
    from fairhaul.scenario.read import Scenario

ROUNDS_MS = (10, 20, 40, 80)
BUFFERS = ("0.25 bdp", "1 bdp", "2 bdp")
QUICK = {"duration": "10 s", "warmup": "5 s", "bottleneck.rate": "20 Mbit/s"}
EVEN = Look(label="an even share", colour="var(--quiet)", dash=(4, 3), thin=True)


def plan(names: Sequence[str], quick: bool) -> dict[Key, Scenario]:
    """Give a run for each controller, buffer and round trip."""
    short = QUICK if quick else {}
    return {
        (name, buffer, str(ms)): scenario(
            "beside.toml",
            [
                short,
                of_controller(name),
                {
                    "flow.*.rtt": f"{ms} ms",
                    "bottleneck.queue.capacity": buffer,
                },
            ],
        )
        for name in names
        for buffer in BUFFERS
        for ms in ROUNDS_MS
    }


def read(record: Record) -> float:
    """Give the share of the flow in what both have, per cent."""
    goodput, reno = (flow["goodput_bps"] for flow in measure(record)["flows"])
    return tidy(100 * goodput / (goodput + reno))


def draw(names: Sequence[str], shares: Mapping[Key, float]) -> dict[str, Spec]:
    """Draw the share over the round trip, a line for each buffer."""
    looks = looks_of(f"buffer of {buffer.replace('bdp', 'BDP')}" for buffer in BUFFERS)
    even = Curve(look=EVEN, points=[{"x": ms, "mean": 50} for ms in (ROUNDS_MS[0], ROUNDS_MS[-1])])
    x = Scale(
        title="RTT (ms)",
        low=ROUNDS_MS[0],
        high=ROUNDS_MS[-1],
        log=True,
        ticks=ROUNDS_MS,
        form="d",
    )
    y = Scale(title="Share (%)", low=0, high=100, ticks=[0, 25, 50, 75, 100])
    panels = [
        Panel(
            name=name,
            curves=[
                even,
                *(
                    Curve(
                        look=look,
                        points=[{"x": m, "mean": shares[name, buffer, str(m)]} for m in ROUNDS_MS],
                    )
                    for look, buffer in zip(looks, BUFFERS, strict=True)
                ),
            ],
            x=x,
            y=y,
        )
        for name in names
    ]
    return {"friendliness": grid(panels, [*looks, EVEN])}
