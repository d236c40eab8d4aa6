"""Table 1 of FHSTCP: the factor c, and how friendly the protocol is to standard TCP.

F1, F2 and F3 are FHSTCP flows of 80, 140 and 200 ms; F4 is all of the background.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fairhaul.estimate import estimate
from fairhaul.fairness import jain
from fairhaul.measures import measure
from fairhaul.papers import Cell, Reproduction, Row, Table, scenario_file
from fairhaul.runs import for_each, with_seeds
from fairhaul.scenario import read

if TYPE_CHECKING:
    from fairhaul.record import Record
    from fairhaul.runs import Watch

SEEDS, QUICK_SEEDS = 20, 8
QUICK_DURATION = "200 s"

FLOWS = ("F1", "F2", "F3")
COLUMNS = (*FLOWS, "F4", "total", "fairness index", "background loss")

# As printed: link share in per cent of F1, F2, F3 and F4, the fairness index over F1 to F3, and
# the range of the background's loss rate.
PAPER: Mapping[int, tuple[tuple[float, ...], float, tuple[float, float]]] = {
    5: ((29.79, 16.80, 14.38, 26.96), 0.90, (7e-5, 1e-4)),
    10: ((32.22, 26.61, 19.36, 16.35), 0.96, (7e-5, 8e-4)),
    20: ((44.85, 24.69, 19.92, 5.55), 0.88, (5e-4, 1e-3)),
}

DIFFERS = "Differs from the paper, whose value lies outside our interval"

CHOSEN = (
    "The paper does not give the rate and delay of the bottleneck: 1 Gbit/s, 20 ms.",
    'The buffer is "the product of bandwidth and the delay of bottleneck link": 20 ms at 1 Gbit/s, '
    "2500 packets.",
    'The paper has "3~5" long-lived background flows: 4, with 80 to 200 ms.',
    "It has web and short flows without a number: what they offer stands in the scenario.",
    "Start times and duration are not given: 600 s, of which the first 100 s are not measured.",
    "The total is our sum of F1 to F4; the paper does not print it.",
)


def reproduce(
    *,
    quick: bool = False,
    seeds: int | None = None,
    jobs: int | None = None,
    watch: Watch | None = None,
    set: Mapping[str, object] | None = None,  # noqa: A002
) -> Reproduction:
    """Run Table 1 and put it beside the paper's; `set` changes further keys of its scenario."""
    file = scenario_file("fhstcp", "table1.toml")
    shorter = {"duration": QUICK_DURATION} if quick else {}
    count = seeds or (QUICK_SEEDS if quick else SEEDS)
    scenarios = dict(zip(PAPER, read(file, {**shorter, **(set or {})}), strict=True))
    plan = [seeded for scenario in scenarios.values() for seeded in with_seeds(scenario, count)]
    found = for_each(plan, lambda _, record: figures(record), jobs=jobs, watch=watch)
    rows = [_row(c, found[i * count : (i + 1) * count]) for i, c in enumerate(PAPER)]
    table = Table(
        title="Table 1: share of the link in %, fairness index of F1 to F3, background loss",
        parameter="c",
        columns=COLUMNS,
        rows=rows,
    )
    duration_s = scenarios[5].duration_s
    return Reproduction(
        paper="fhstcp",
        quick=quick,
        seeds=count,
        duration_s=duration_s,
        how=_how(quick, count, duration_s),
        tables=[table],
        remarks={
            DIFFERS: _differences(table, count),
            "Left out there, chosen here": CHOSEN,
        },
    )


def figures(record: Record) -> list[tuple[float, ...]]:
    """Compute what stands in one run's row of the table: a number for each column, or a range."""
    found = measure(record)["flows"]
    traffic = {flow["name"]: flow["traffic"]["kind"] for flow in record.meta["scenario"]["flows"]}
    by_name = {flow["name"]: flow for flow in found}
    measured = [100 * by_name[name]["link_share"] for name in FLOWS]
    background = [flow for flow in found if flow["role"] == "background"]
    shares = [*measured, 100 * sum(flow["link_share"] for flow in background)]
    losses = [flow["loss_rate"] for flow in background if traffic[flow["name"]] == "bulk"]
    ends = (min(losses), max(losses))
    return [*((share,) for share in shares), (sum(shares),), (jain(measured) or 0.0,), ends]


def _row(c: int, runs: Sequence[Sequence[tuple[float, ...]]]) -> Row:
    shares, index, losses = PAPER[c]
    printed = [*((share,) for share in shares), (sum(shares),), (index,), losses]
    forms = [*[".2f"] * 5, ".3f", ".1e"]
    cells = [
        Cell(
            paper=values,
            steps=[_step(value) for value in values],
            ours=[estimate(column) for column in zip(*(run[i] for run in runs), strict=True)],
            form=forms[i],
        )
        for i, values in enumerate(printed)
    ]
    return Row(label=str(c), cells=cells)


def _step(value: float) -> float:
    """How finely the paper prints: two decimals, and loss rates to one digit."""
    return float(f"1{f'{value:.0e}'[1:]}") if value < 0.01 else 0.01


def _how(quick: bool, seeds: int, duration_s: float) -> str:
    form = "Short form" if quick else "Full form"
    runs = f"{seeds} seeds of {duration_s:g} s, mean and 95 % interval"
    if seeds == 1:
        runs = f"one seed of {duration_s:g} s"
    note = f"; the full form has {SEEDS} seeds of 600 s and narrower intervals" if quick else ""
    return f"FHSTCP, Table 1. {form}: {runs}{note}."


def _differences(table: Table, seeds: int) -> list[str]:
    if seeds == 1:
        return ["One run gives no interval, so nothing is claimed."]
    return table.differences()
