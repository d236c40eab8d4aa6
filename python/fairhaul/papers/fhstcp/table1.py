"""Table 1 of FHSTCP: the factor c, and how friendly the protocol is to standard TCP.

F1, F2 and F3 are FHSTCP flows of 80, 140 and 200 ms; F4 is all of the background.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairhaul.papers import Cell, Row, Table
from fairhaul.papers.fhstcp.experiment import (
    FLOWS,
    Case,
    Experiment,
    Found,
    Settings,
    case,
    three_flows,
    together,
)

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
    return [case(FILE, [str(c)], short, {"flow.F*.controller.c": c}, settings) for c in PAPER]


def _tables(found: Found) -> list[Table]:
    table = Table(
        title="Table 1: share of the link in %, fairness index of F1 to F3, background loss",
        parameter="c",
        columns=COLUMNS,
        rows=[_row(found, c) for c in PAPER],
    )
    return [table, together(found, "Table 1", "c", [*FLOWS, "others"])]


def _row(found: Found, c: int) -> Row:
    shares, index, losses = PAPER[c]
    printed = [*((share,) for share in shares), (sum(shares),), (index,), losses]
    forms = [*[".2f"] * 5, ".3f", ".1e"]
    cells = []
    for column, values, form in zip(COLUMNS, printed, forms, strict=True):
        names = LOSSES if column == "background loss" else (column,)
        cells.append(_cell(found, (str(c),), names, values, form))
    return Row(label=str(c), cells=cells)


def _cell(
    found: Found, key: tuple[str, ...], names: Sequence[str], values: Sequence[float], form: str
) -> Cell:
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


EXPERIMENT = Experiment(
    seeds=20, quick_seeds=8, cases=_cases, figures=three_flows, tables=_tables, chosen=CHOSEN
)
