"""Table 1 of FHSTCP: the factor c, and how friendly the protocol is to standard TCP.

F1, F2 and F3 are FHSTCP flows of 80, 140 and 200 ms; F4 is all of the background.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fairhaul.papers import Cell, Row, Table, losses
from fairhaul.papers.experiment import (
    Case,
    Claim,
    Experiment,
    Found,
    Key,
    Settings,
    case,
    every,
    judged,
    within,
)
from fairhaul.papers.fhstcp.flows import FLOWS, three_flows

if TYPE_CHECKING:
    from fairhaul.report import Figure

FILE = "table1.toml"
QUICK = {"duration": "200 s"}
COLUMNS = (*FLOWS, "F4", "total", "fairness index", "background loss")
LOSSES = ("least background loss", "most background loss")

# As printed: link share in per cent of F1, F2, F3 and F4, the fairness index over F1 to F3, and
# the range of the background's loss rate.
PAPER: Mapping[int, tuple[tuple[float, ...], float, tuple[float, float]]] = {
    5: ((29.79, 16.80, 14.38, 26.96), 0.90, (7e-5, 1e-4)),
    10: ((32.22, 26.61, 19.36, 16.35), 0.96, (7e-5, 8e-4)),
    20: ((44.85, 24.69, 19.92, 5.55), 0.88, (5e-4, 1e-3)),
}

CHOSEN = (
    "The paper does not give the rate and delay of the bottleneck: 1 Gbit/s, 20 ms.",
    'The buffer is "the product of bandwidth and the delay of bottleneck link": 20 ms at 1 Gbit/s, '
    "2500 packets.",
    'The paper has "3~5" long-lived background flows: 4, with 80 to 200 ms.',
    "It has web and short flows without a number: what they offer stands in the scenario.",
    "Start times and duration are not given: 600 s, of which the first 100 s are not measured.",
    "The total is our sum of F1 to F4; the paper does not print it.",
)


def _cases(quick: bool, settings: Settings) -> list[Case]:
    short = QUICK if quick else {}
    return [
        case("fhstcp", FILE, [str(c)], short, {"flow.F*.controller.c": c}, settings) for c in PAPER
    ]


def _tables(found: Found) -> list[Table]:
    table = Table(
        title="Table 1: share of the link in %, fairness index of F1 to F3, background loss",
        parameter="c",
        columns=COLUMNS,
        rows=[_row(found, c) for c in PAPER],
    )
    return [table, losses.table(found, "Table 1", "c", [*FLOWS, "others"])]


def _row(found: Found, c: int) -> Row:
    shares, index, rates = PAPER[c]
    printed = [*((share,) for share in shares), (sum(shares),), (index,), rates]
    forms = [*[".2f"] * 5, ".3f", ".1e"]
    cells = []
    for column, values, form in zip(COLUMNS, printed, forms, strict=True):
        names = LOSSES if column == "background loss" else (column,)
        cells.append(_cell(found, (str(c),), names, values, form))
    return Row(label=str(c), cells=cells)


def _cell(found: Found, key: Key, names: Sequence[str], values: Sequence[float], form: str) -> Cell:
    ours = [found.estimate(key, name) for name in names]
    return Cell(
        paper=values,
        steps=[_step(value) for value in values],
        ours=[estimate for estimate in ours if estimate is not None],
        form=form,
    )


def _step(value: float) -> float:
    """How finely the paper prints: two decimals, and loss rates to one digit."""
    return float(f"1{f'{value:.0e}'[1:]}") if value < 0.01 else 0.01


def _claims(found: Found) -> list[Claim]:
    indices = ", ".join(found.text((str(c),), "fairness index", ".3f") for c in PAPER)
    fairest = [found.above(("10",), (c,), "fairness index") for c in ("5", "20")]
    shares = ", ".join(found.text((str(c),), "F4", ".1f") for c in PAPER)
    falls = [
        found.above(one, other, "F4") for one, other in [(("5",), ("10",)), (("10",), ("20",))]
    ]
    rate = found.estimate(("10",), "most background loss")
    return [
        Claim(
            text="fairest at c = 10",
            verdict=judged([every(fairest)]),
            seen=f"Jain's index is {indices} at c = 5, 10, 20; the paper has 0.90, 0.96, 0.88.",
            why=_why(found),
        ),
        Claim(
            text="the larger c, the less is left to the background",
            verdict=judged(falls),
            seen=f"F4 has {shares} % at c = 5, 10, 20; in the paper 26.96, 16.35, 5.55 %.",
        ),
        Claim(
            text="at c = 10 the background loses less than one packet in a thousand",
            verdict=judged([within(rate, -math.inf, 1e-3)]),
            seen=f"The flow of the background that loses most loses "
            f"{found.text(('10',), 'most background loss', '.1e')} of its packets.",
        ),
    ]


def _why(found: Found) -> str:
    parts = ", ".join(found.text(("10",), f"{name} reduces in", ".2f") for name in FLOWS)
    counts = ", ".join(found.text((str(c),), "episodes", ".0f") for c in PAPER)
    return (
        f"F1, F2 and F3 reduce in {parts} of the loss episodes at c = 10. Where all do in all, "
        "the law of HSTCP makes F1/F3 = 2.5 and the index 0.87; where they lose independently, "
        f"1.16. There are {counts} episodes in a run at c = 5, 10, 20, and in each a flow forgets "
        "a little of how its slow start ended."
    )


def _figures(found: Found) -> list[Figure]:
    names = {f"{c}": f"c = {c}" for c in PAPER}
    return [
        _shares(found),
        _index(found),
        losses.figure(found, "table1-losses", [*FLOWS, "others"], names),
    ]


def _shares(found: Found) -> Figure:
    from fairhaul.papers import figures
    from fairhaul.report import Figure, plots

    names = (*FLOWS, "F4")
    rows = [
        figures.point(one, group=str(c), of=name, paper=printed)
        for c, (shares, _, _) in PAPER.items()
        for name, printed in zip(names, shares, strict=True)
        if (one := found.estimate((str(c),), name)) is not None
    ]
    top = 1.06 * max(v for row in rows for v in (row["high"], row["mean"], row["paper"]) if v)
    y = plots.Scale(title="Share of the link (%)", low=0, high=top)
    near = [
        row["paper"] for row in rows if row["low"] and row["low"] <= row["paper"] <= row["high"]
    ]
    caption = (
        "F1, F2 and F3 are FHSTCP flows of 80, 140 and 200 ms, F4 is all of the background. Of the "
        f"paper's {len(rows)} shares {len(near) or 'none'} lie in our intervals."
    )
    chart = plots.bars(figures.looks(names), rows, "c", y)
    return Figure(name="table1", title="Shares of the link by c", caption=caption, chart=chart)


def _index(found: Found) -> Figure:
    from fairhaul.papers import figures
    from fairhaul.report import Figure, plots

    name = "fairness index"
    rows = [
        figures.point(one, row=f"c = {c}", paper=index)
        for c, (_, index, _) in PAPER.items()
        if (one := found.estimate((str(c),), name)) is not None
    ]
    x = plots.Scale(title="Jain's index of F1 to F3", low=1 / 3, high=1)
    best = max(PAPER, key=lambda c: found.mean((str(c),), name))
    caption = (
        f"Dots are ours, with 95 % intervals; diamonds are the paper's. The axis begins at 1/3, "
        f"where one flow has all. In the mean ours is fairest at c = {best}, the paper's at c = 10."
    )
    chart = plots.panels([f"c = {c}" for c in PAPER], [plots.Panel(scale=x, rows=rows)])
    return Figure(name="table1-index", title="Fairness by c", caption=caption, chart=chart)


EXPERIMENT = Experiment(
    heading="Table 1: the factor c",
    about="Three FHSTCP flows of 80, 140 and 200 ms share a link with long-lived standard flows, "
    "short transfers and web pages, at three values of the factor c.",
    seeds=20,
    quick_seeds=8,
    cases=_cases,
    numbers=three_flows,
    tables=_tables,
    figures=_figures,
    claims=_claims,
    chosen=CHOSEN,
)
