"""The window of each controller over time, alone and beside standard TCP: a figure for its page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fairhaul.figures import charts
from fairhaul.figures.charts.vega import Spec
from fairhaul.studies.papers.figures import windows
from tools.gallery import Key, of_controller, scenario

if TYPE_CHECKING:
    from fairhaul.figures.charts import Span
    from fairhaul.record.record import Record
    from fairhaul.scenario.read import Scenario

QUICK = {"duration": "10 s"}
ALONE, BESIDE = "alone", "beside standard TCP"

Lines = tuple["Span", list[dict[str, float]]]


def plan(names: Sequence[str], quick: bool) -> dict[Key, Scenario]:
    """Give two runs for each controller."""
    short = QUICK if quick else {}
    # A setting cannot take a flow out of a scenario, so one that is to be gone sends a single byte.
    beside: Mapping[str, Mapping[str, object]] = {ALONE: {"flow.reno.traffic": "1 B"}, BESIDE: {}}
    return {
        (name, how): scenario("windows.toml", [short, of_controller(name), setting])
        for name in names
        for how, setting in beside.items()
    }


def read(record: Record) -> Lines:
    """Keep both windows over time."""
    return windows(record, ("F", "reno"))


def draw(names: Sequence[str], lines: Mapping[Key, Lines]) -> dict[str, Spec]:
    """Draw a figure for each controller."""
    return {name: _one(name, lines) for name in names}


def _one(name: str, lines: Mapping[Key, Lines]) -> Spec:
    span, alone = lines[name, ALONE]
    beside = lines[name, BESIDE][1]
    other = "reno" if name != "reno" else "another"
    looks = charts.looks([name, other])
    lanes = {ALONE: [{"t": row["t"], "v0": row["v0"]} for row in alone], BESIDE: beside}
    return charts.threads(looks, lanes, span, "cwnd (packets)")
