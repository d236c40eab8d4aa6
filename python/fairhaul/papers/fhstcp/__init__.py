"""FHSTCP: its Table 1, its Figure 3 and its claims, each an experiment that can be run alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fairhaul.papers import Reproduction, Table
from fairhaul.papers.fhstcp import (
    ablation,
    advantages,
    figure3,
    friendliness,
    rtt,
    sensitivity,
    table1,
)
from fairhaul.papers.fhstcp.experiment import Case, Experiment, Figures, Found
from fairhaul.runs import for_each, with_seeds
from fairhaul.scenario import ScenarioError

if TYPE_CHECKING:
    from fairhaul.record import Record
    from fairhaul.runs import Watch
    from fairhaul.scenario import Scenario

EXPERIMENTS: Mapping[str, Experiment] = {
    "table1": table1.EXPERIMENT,
    "figure3": figure3.EXPERIMENT,
    "sensitivity": sensitivity.EXPERIMENT,
    "rtt": rtt.EXPERIMENT,
    "advantages": advantages.EXPERIMENT,
    "ablation": ablation.EXPERIMENT,
    "friendliness": friendliness.EXPERIMENT,
}

DIFFERS = "Differs from the paper, whose value lies outside our interval"


def reproduce(
    *,
    quick: bool = False,
    seeds: int | None = None,
    jobs: int | None = None,
    watch: Watch | None = None,
    only: Sequence[str] = (),
    set: Mapping[str, object] | None = None,  # noqa: A002
) -> Reproduction:
    """Run the experiments, or `only` some; `set` changes further keys of their scenarios."""
    for name in only:
        if name not in EXPERIMENTS:
            raise ScenarioError(f"{name!r} is no experiment; there are {', '.join(EXPERIMENTS)}")
    chosen = {name: one for name, one in EXPERIMENTS.items() if not only or name in only}
    cases = {name: one.cases(quick, set or {}) for name, one in chosen.items()}
    counts = {
        name: seeds or (one.quick_seeds if quick else one.seeds) for name, one in chosen.items()
    }
    plan = [
        (name, case, seeded)
        for name in chosen
        for case in cases[name]
        for seeded in with_seeds(case.scenario, counts[name])
    ]
    runs = _run(plan, jobs, watch)
    tables = [t for name, one in chosen.items() for t in one.tables(Found(runs=runs[name]))]
    first = next(iter(chosen))
    return Reproduction(
        paper="fhstcp",
        quick=quick,
        seeds=counts[first],
        duration_s=cases[first][0].scenario.duration_s,
        how=_how(quick, counts, cases),
        tables=tables,
        remarks={
            DIFFERS: _differences(tables, min(counts.values())),
            "Left out there, chosen here": [w for one in chosen.values() for w in one.chosen],
        },
    )


def _run(
    plan: Sequence[tuple[str, Case, Scenario]], jobs: int | None, watch: Watch | None
) -> dict[str, dict[tuple[str, ...], list[Figures]]]:
    """Run everything in one go, so that no core waits and the time left is that of the whole."""

    def figures(index: int, record: Record) -> Figures:
        return EXPERIMENTS[plan[index][0]].figures(record)

    found = for_each([seeded for _, _, seeded in plan], figures, jobs=jobs, watch=watch)
    runs: dict[str, dict[tuple[str, ...], list[Figures]]] = {}
    for (name, case, _), one in zip(plan, found, strict=True):
        runs.setdefault(name, {}).setdefault(case.key, []).append(one)
    return runs


def _how(quick: bool, counts: Mapping[str, int], cases: Mapping[str, Sequence[Case]]) -> str:
    parts = []
    for name, seeds in counts.items():
        lengths = [case.scenario.duration_s for case in cases[name]]
        least, most = min(lengths), max(lengths)
        length = f"{least:g} s" if least == most else f"{least:.3g} to {most:.3g} s"
        parts.append(f"{name}: {seeds} seed{'s' * (seeds > 1)} of {length}")
    form = "Short form" if quick else "Full form"
    note = " The full form has more seeds, longer runs and narrower intervals." if quick else ""
    interval = "; mean and 95 % interval" if max(counts.values()) > 1 else ""
    return f"FHSTCP. {form}: {'; '.join(parts)}{interval}.{note}"


def _differences(tables: Sequence[Table], seeds: int) -> list[str]:
    if seeds == 1:
        return ["One run gives no interval, so nothing is claimed."]
    return [line for table in tables for line in table.differences()]
