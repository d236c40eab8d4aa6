"""The staircases: the window of every controller in each round of one script of drops and delays.

Nothing is run. They are the snapshots of `crates/cc/tests/staircase.rs`, which says the script.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairhaul.figures.bins import tidy
from fairhaul.figures.charts import Curve, Look, Scale
from fairhaul.figures.charts.vega import Row, Spec
from fairhaul.figures.look import colour
from tools import ROOT
from tools.gallery.grid import Panel, grid

SNAPSHOTS = ROOT / "crates" / "cc" / "tests" / "snapshots"
ROUNDS = 100


def draw(names: Sequence[str]) -> Spec:
    """Draw the staircases of the controllers `names`, each on its own scale."""
    return grid([_panel(name) for name in names])


def _panel(name: str) -> Panel:
    points, marks = read((SNAPSHOTS / f"staircase__{name}.snap").read_text(encoding="utf-8"))
    top = 1.06 * max(float(point["mean"]) for point in points)
    return Panel(
        name=name,
        curves=[Curve(look=Look(label=name, colour=colour(0)), points=points)],
        x=Scale(title="Round", low=0, high=ROUNDS, ticks=[0, 25, 50, 75, 100], form="d"),
        y=Scale(title="cwnd (packets)", low=0, high=top),
        marks=marks,
    )


def read(text: str) -> tuple[list[Row], list[Row]]:
    """Read a snapshot: the window in each round, and the rounds in which something was lost."""
    table = text.rsplit("---\n", 1)[1].splitlines()[1:]
    rows = [line.split() for line in table]
    points: list[Row] = [{"x": int(row[0]), "mean": tidy(float(row[2]))} for row in rows if row]
    marks: list[Row] = [{"x": int(row[0])} for row in rows if row and row[-1].startswith("(")]
    return points, marks
