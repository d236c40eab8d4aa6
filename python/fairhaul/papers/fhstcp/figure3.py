"""Figure 3 of FHSTCP: the fairness of four controllers over the time scale.

The figure itself is lost, and the text gives no number: what can be compared is the order.
"""

from __future__ import annotations

from fairhaul.papers import Table
from fairhaul.papers.fhstcp.experiment import (
    FLOWS,
    Case,
    Experiment,
    Found,
    Settings,
    case,
    sheet,
    three_flows,
    together,
)

FILE = "figure3.toml"
QUICK = {"duration": "200 s"}
CONTROLLERS = ("fhstcp", "highspeed", "scalable", "reno")
SCALES = ("1", "2", "5", "10", "20", "50", "100")

CHOSEN = (
    "Figure 3: link and background are those of Table 1, and the background runs; the paper does "
    "not say whether it does there.",
    "Figure 3: the time scales are ours, 1 to 100 s.",
)


def _cases(quick: bool, settings: Settings) -> list[Case]:
    short = QUICK if quick else {}
    return [
        case(FILE, [name], short, {"flow.F*.controller": name}, settings) for name in CONTROLLERS
    ]


def _tables(found: Found) -> list[Table]:
    title = "Figure 3: fairness index of F1 to F3 in windows of so many seconds"
    scales = [scale for scale in SCALES if found.values(("fhstcp",), scale)]
    columns = {**dict.fromkeys(scales, ".3f"), "total": ".2f"}
    table = sheet(found, title, "controller", columns, _notes(found, scales))
    return [table, together(found, "Figure 3", "controller", [*FLOWS, "others"])]


def _notes(found: Found, scales: list[str]) -> list[str]:
    """Say where FHSTCP is fairer than the others, as the paper has it."""
    notes = []
    for other in CONTROLLERS[1:]:
        worse = [s for s in scales if found.mean(("fhstcp",), s) <= found.mean((other,), s)]
        where = (
            f"not at {', '.join(worse)} s" if worse else "at every time scale, as the paper has it"
        )
        notes.append(f"FHSTCP fairer than {other} in the mean: {where}.")
    return notes


EXPERIMENT = Experiment(
    seeds=10, quick_seeds=5, cases=_cases, figures=three_flows, tables=_tables, chosen=CHOSEN
)
