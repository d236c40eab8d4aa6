"""Figure 3 of FHSTCP: the fairness of four controllers over the time scale.

The figure itself is lost, and the text gives no number: what can be compared is the order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairhaul.papers import Table, losses
from fairhaul.papers.experiment import (
    Case,
    Claim,
    Experiment,
    Found,
    Settings,
    case,
    judged,
    sheet,
)
from fairhaul.papers.fhstcp.flows import CONTROLLERS, FLOWS, keep_windows, three_flows

if TYPE_CHECKING:
    from fairhaul.report import Figure

FILE = "figure3.toml"
QUICK = {"duration": "200 s"}
SCALES = ("1", "2", "5", "10", "20", "50", "100")

# The scale at which a sentence says how fair each is.
SAID = "10"

CHOSEN = (
    "Figure 3: link and background are those of Table 1, and the background runs; the paper does "
    "not say whether it does there.",
    "Figure 3: the time scales are ours, 1 to 100 s.",
)


def _cases(quick: bool, settings: Settings) -> list[Case]:
    short = QUICK if quick else {}
    return [
        case("fhstcp", FILE, [name], short, {"flow.F*.controller": name}, settings)
        for name in CONTROLLERS
    ]


def _scales(found: Found) -> list[str]:
    """Give the time scales that fit into the runs."""
    return [scale for scale in SCALES if found.values(("fhstcp",), scale)]


def _tables(found: Found) -> list[Table]:
    title = "Figure 3: fairness index of F1 to F3 in windows of so many seconds"
    scales = _scales(found)
    columns = {**dict.fromkeys(scales, ".3f"), "total": ".2f"}
    table = sheet(found, title, "controller", columns, _notes(found, scales))
    return [table, losses.table(found, "Figure 3", "controller", [*FLOWS, "others"])]


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


def _claims(found: Found) -> list[Claim]:
    scales = _scales(found)
    parts = [
        found.above(("fhstcp",), (other,), scale) for other in CONTROLLERS[1:] for scale in scales
    ]
    return [
        Claim(
            text="fairer than HSTCP, STCP and standard TCP at every time scale",
            verdict=judged(parts),
            seen=_seen(found),
        )
    ]


def _seen(found: Found) -> str:
    """Say how fair each is at one scale, and by how much that changes with the scale."""
    scales = _scales(found)
    at = SAID if SAID in scales else scales[-1]
    indices = [f"{name} {found.text((name,), at, '.3f')}" for name in CONTROLLERS]
    means = [found.mean(("fhstcp",), scale) for scale in scales]
    return (
        f"Jain's index in windows of {at} s: {', '.join(indices)}; from {scales[0]} to "
        f"{scales[-1]} s that of fhstcp changes by {max(means) - min(means):.3f}."
    )


def _figures(found: Found) -> list[Figure]:
    names = {name: name for name in CONTROLLERS}
    drawn = [_fairness(found), _windows(found)]
    return [*drawn, losses.figure(found, "figure3-losses", [*FLOWS, "others"], names)]


def _fairness(found: Found) -> Figure:
    from fairhaul.papers import figures
    from fairhaul.report import Figure
    from fairhaul.report.figures import bottom_of, of_scales

    lines = [
        figures.curve(found, look, {float(s): ((look.label,), s) for s in _scales(found)})
        for look in figures.looks(CONTROLLERS)
    ]
    bottom = bottom_of(min(p["low"] or p["mean"] for line in lines for p in line.points))
    caption = f"{_seen(found)} {figures.BANDS} The axis begins at {bottom:g}."
    chart = of_scales(lines, bottom)
    return Figure(
        name="figure3", title="Fairness over the time scale", caption=caption, chart=chart
    )


def _windows(found: Found) -> Figure:
    from fairhaul.papers import figures
    from fairhaul.report import Figure, plots

    spans = {name: found.kept[name,] for name in CONTROLLERS}
    span = spans[CONTROLLERS[0]][0]
    chart = plots.threads(
        figures.looks(FLOWS),
        {name: rows for name, (_, rows) in spans.items()},
        span,
        "cwnd (packets)",
    )
    means = ", ".join(
        f"{_ratio([row for row in rows if row['t'] >= span.warmup_s]):.3g} with {name}"
        for name, (_, rows) in spans.items()
    )
    caption = (
        "F1, F2 and F3 have 80, 140 and 200 ms; one seed, the first, of each controller, on one "
        f"scale. The mean window of F1 over that of F3 after the warm-up: {means}. Equal windows "
        "are throughputs as the inverse of the round trips."
    )
    return Figure(
        name="figure3-cwnd", title="Congestion windows over time", caption=caption, chart=chart
    )


def _ratio(rows: list[dict[str, float]]) -> float:
    first, last = (sum(row[v] for row in rows) for v in ("v0", "v2"))
    return first / last if last else float("inf")


EXPERIMENT = Experiment(
    heading="Figure 3: fairness over the time scale",
    about="Three flows of 80, 140 and 200 ms under one of four controllers, beside the background "
    "of Table 1. The paper's figure is lost; its text says that FHSTCP is the fairest.",
    seeds=10,
    quick_seeds=5,
    cases=_cases,
    numbers=three_flows,
    tables=_tables,
    figures=_figures,
    claims=_claims,
    keep=keep_windows,
    chosen=CHOSEN,
)
