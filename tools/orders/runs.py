"""The figures of the runs of a scenario with its sweep, by the values of its keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairhaul.jobs.store import build_of, jobs_of
from fairhaul.jobs.values import Running, values
from fairhaul.measures.measures import figures
from fairhaul.measures.types import RunFigures
from fairhaul.scenario.read import read, variant
from tools import ROOT

SCENARIOS = ROOT / "scenarios" / "orders"
Case = tuple[Any, ...]


def runs_of(
    name: str, seeds: int, running: Running, overrides: Mapping[str, Any] | None = None
) -> dict[Case, Sequence[RunFigures]]:
    """Run a scenario of `scenarios/orders`; give the runs by the swept values, in their order."""
    cases = read(SCENARIOS / f"{name}.toml", overrides)
    by = build_of(figures)
    jobs = [job for of in cases for job in jobs_of(of, seeds, "sim", "figures", by)]
    found = iter(values(jobs, figures, running))
    return {tuple(variant(of).values()): [next(found) for _ in range(seeds)] for of in cases}
