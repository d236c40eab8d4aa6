"""The figures of docs/start.md: each rule over another one, in a lane for each case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairhaul.figures.bins import tidy
from fairhaul.figures.charts import Look, Scale, dots
from fairhaul.figures.charts.vega import Row, Spec
from fairhaul.figures.look import colour, painted, svg
from fairhaul.files import files
from tools import ROOT
from tools.start.compared import Number, Of, Ratio, Run, ratios

TICKS = (0.1, 0.2, 0.5, 1, 2, 3, 5, 10)
# The room for the name of the largest value, as a part of that value.
NAME = 1.25


def write(
    name: str,
    lanes: Mapping[str, Of[Run]],
    base: str,
    number: Number[Run],
    title: str,
) -> None:
    """Write docs/images/start-NAME.svg: `number` with each rule over that with `base`."""
    found = {lane: ratios(part, base, number) for lane, part in lanes.items()}
    drawn = painted(svg(draw(found, title, base)))
    files.replace(ROOT / "docs" / "images" / f"start-{name}.svg", f"{drawn}\n".encode())


def draw(lanes: Mapping[str, Mapping[str, Ratio]], title: str, base: str) -> Spec:
    """Draw the ratios of each lane, with their intervals, and a line for `base`."""
    rules = list(next(iter(lanes.values())))
    looks = [Look(label=rule, colour=colour(number)) for number, rule in enumerate(rules)]
    rows: list[Row] = [
        {
            "row": lane,
            "of": rule,
            "mean": tidy(of.ratio.mean),
            "low": None if of.ratio.low is None else tidy(of.ratio.low),
            "high": None if of.ratio.high is None else tidy(of.ratio.high),
        }
        for lane, found in lanes.items()
        for rule, of in found.items()
    ]
    low, high = _ends([float(row[end] or row["mean"]) for row in rows for end in ("low", "high")])
    ticks = [tick for tick in TICKS if low <= tick <= high]
    x = Scale(title=title, low=low, high=high, log=True, ticks=ticks)
    return dots(looks, rows, list(lanes), x, marks=[(1, base)])


def _ends(values: Sequence[float]) -> tuple[float, float]:
    """Give the ends of the axis: ticks that hold 1 and all values with their names."""
    low = max((tick for tick in TICKS if tick <= min(*values, 1)), default=TICKS[0])
    most = NAME * max(*values, 1)
    high = min((tick for tick in TICKS if tick >= most), default=TICKS[-1])
    return (low if low < 1 else 0.5), high
