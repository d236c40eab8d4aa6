"""The comparison of engines in words: a row for each cell, and a verdict on each unusual one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairhaul.report.outcome import Outcome, Section
from fairhaul.scenario.engines import FACTS, Engine
from fairhaul.studies.cells.agreement import SHOWN, Agreement, Compared, agreement, entries, mean
from fairhaul.text.phrases import listed
from fairhaul.text.table import Table

if TYPE_CHECKING:
    from fairhaul.studies.cells.work import Cells

FIGURES = (*SHOWN, ("cycle_s", "cycle s", 1.0, 2), ("loss_rate", "loss 1e-4", 1e4, 2))


def outcome_of(done: Cells) -> Outcome:
    """Put the results into words and tables."""
    kernels = [engine for engine in done.engines if FACTS[engine].kernel]
    names = listed([FACTS[engine].title for engine in done.engines])
    counts = []
    for engine in kernels:
        found = [of for one in done.cells if (of := _found(one, engine))]
        agree = sum(all(each.agrees for each in of.values()) for of in found)
        counts.append(f"sim / {engine}: {agree} of {len(found)} cells agree.")
    return Outcome(
        study="lab cells",
        title=f"Cells: {names}",
        question=f"Do {names} agree?",
        answer=" ".join(counts) or f"{len(done.cells)} cells ran in {names}.",
        evidence=lambda: (
            [_agreement(done, engine) for engine in kernels] if done.unusual else [_all(done)]
        ),
        values=lambda: {"cells": [cell.to_dict() for cell in done.cells]},
    )


def _found(one: Compared, engine: Engine) -> dict[str, Agreement]:
    return {each.figure: each for each in agreement(one, engine)}


def _all(done: Cells) -> Section:
    """Give the figures of all engines, a row for each cell: sim / linux / lab."""
    in_real_time = "lab" in done.engines
    lag = ["lag p99 us"] if in_real_time else []
    notes = [
        'Values are means over runs. "link used" is goodput over the payload rate of the link.'
    ]
    if any(one.by.get("lab", {}) is None for one in done.cells):
        notes.insert(
            0, '"-" in the lab: no run is valid, or none is made, since the cycle exceeds 20 s.'
        )
    table = Table(
        title=" / ".join(done.engines),
        columns=["cell", *(heading for _, heading, _, _ in FIGURES), *lag, "runs"],
        rows=[_row(one, in_real_time=in_real_time) for one in done.cells],
    )
    return Section(heading="", tables=[table], text=notes)


def _row(one: Compared, *, in_real_time: bool) -> list[str]:
    def cell(figure: str, scale: float, digits: int) -> str:
        means = [mean(of_engine, figure) for of_engine in one.by.values()]
        return " / ".join("-" if v is None else f"{scale * v:.{digits}f}" for v in means)

    return [
        one.cell.name,
        *(cell(figure, scale, digits) for figure, _, scale, digits in FIGURES),
        *([f"{mean(one.by['lab'], 'lag_p99_us') or 0.0:.0f}"] if in_real_time else []),
        " / ".join("-" if of is None else str(len(of["rtt_ms"])) for of in one.by.values()),
    ]


def _agreement(done: Cells, engine: Engine) -> Section:
    """Give the figures of the simulator and of a kernel, and a verdict on each cell."""
    rows = []
    for one in done.cells:
        if not (found := _found(one, engine)):
            continue
        differ = [figure for figure, each in found.items() if not each.agrees]
        verdict = f"differs: {', '.join(differ)}" if differ else "agrees"
        rows.append([one.cell.name, *entries(found, missing="-"), verdict])
    header = ["cell", *(heading for _, heading, _, _ in SHOWN), "verdict"]
    return Section(heading="", tables=[Table(title=f"sim / {engine}", columns=header, rows=rows)])
