"""Sweeps: many runs of varied scenarios, whose results a store keeps."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fairhaul.jobs.local import Failure, missing, shard, work
from fairhaul.jobs.plan import Plan, planned, rows
from fairhaul.jobs.store import Job, Store, Writer
from fairhaul.results.precision import Precision, read_precision
from fairhaul.results.table import Row, flows_frame, named, points_frame
from fairhaul.runs.cost import cost
from fairhaul.runs.runs import at_once, refuse_if_impossible
from fairhaul.scenario.engines import FACTS, Engine
from fairhaul.scenario.read import Controllers, Scenario, Settings, Source, read
from fairhaul.statistics.estimate import LEAST_RUNS

if TYPE_CHECKING:
    import polars as pl

    from fairhaul.figures.chart import Chart
    from fairhaul.measures.types import ManyResults, OneResult
    from fairhaul.runs.runs import OnProgress

OnEvent = Callable[[str], None]
Part = tuple[int, int]

# With five runs there is an interval.
SEEDS = LEAST_RUNS
BUDGET_S = 600.0


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """The results of a sweep: a row for each point, in the order of the scenario's file.

    `failures` are runs that failed, and `imprecise` names the points whose figure is not as precise
    as requested, because the budget has ended.
    """

    directory: Path
    plan: Plan
    rows: Sequence[Row]
    failures: Sequence[Failure] = ()
    imprecise: Sequence[Mapping[str, Any]] = ()

    @property
    def runs(self) -> int:
        """The number of runs whose results are there."""
        return sum(len(row.runs) for row in self.rows)

    @property
    def wanted(self) -> int:
        """The number of runs of the plan."""
        return sum(point.seeds for point in self.plan.points)

    def frame(self, of: Literal["points", "flows"] = "points") -> pl.DataFrame:
        """Give the results as a polars frame.

        Args:
            of: `"points"`: one row per point, with the mean of each figure and the ends of its
                interval. `"flows"`: one row per run and flow.
        """
        return points_frame(self.rows) if of == "points" else flows_frame(self.rows)

    def chart(self, name: str = "jain") -> Chart:
        """Draw a figure over the swept keys, such as `share`, `jain` or `bottleneck-utilization`.

        Raises:
            ScenarioError: there is no figure of that name.
        """
        from fairhaul.figures.chart import chosen
        from fairhaul.figures.swept import figures

        return chosen(figures(self.rows), name)

    def _repr_html_(self) -> str:
        from fairhaul.results.screen import grid
        from fairhaul.text.grid import html

        return html([grid(self.rows)])

    def to_dict(self) -> OneResult | ManyResults:
        """Give the object that `fairhaul sweep --json` prints: that of `run`."""
        from fairhaul.answers.answers import scenario_result
        from fairhaul.measures.types import document

        return document([scenario_result(row.runs) for row in self.rows if row.runs])


def sweep(  # noqa: PLR0913
    source: Source,
    out: str | Path,
    overrides: Settings | None = None,
    *,
    seeds: int | str | Precision = SEEDS,
    budget_s: float = BUDGET_S,
    jobs: int | None = None,
    dask: str | None = None,
    on_progress: OnProgress | None = None,
    controllers: Controllers | None = None,
    engine: Engine = "sim",
) -> Sweep:
    """Run every scenario of `source` with several seeds, and keep the results in a directory.

    Results that the directory holds already are not computed again. If the call is interrupted, or
    its process is killed, the same call goes on where it ended.

    Args:
        source: the path of a file, TOML text (anything with a line break), or a mapping.
        out: the directory.
        overrides: keys to change, named as in `[sweep]`.
        seeds: the number of runs of each point, or how precise a figure of each point is to be,
            as `--precise` takes it: `"jain=0.02"`.
        budget_s: the processor time that all runs of the sweep may cost, if `seeds` is a precision;
            a second is 2.5 million packets, and 50,000 in Linux.
        jobs: the number of runs at a time; by default one per core.
        dask: the address of a Dask scheduler, whose workers then run the jobs.
        on_progress: called with the progress about ten times a second, in the calling thread.
        controllers: classes of your own, by the names that the scenario uses for them. The workers
            of a cluster must be able to import them.
        engine: `"sim"`, the simulator, or `"linux"`, Linux in simulated time.

    Raises:
        ScenarioError: the scenario is wrong; `args` are all mistakes, one line each.
        Refused: there is no program for `"linux"`, or it cannot run one of the points.
        StoreError: `out` exists and is something else.
        OSError: `out` cannot be written.
    """
    return run_sweep(
        read(source, overrides, controllers=controllers),
        Path(out),
        seeds=read_precision(seeds) if isinstance(seeds, str) else seeds,
        budget_s=budget_s,
        jobs=jobs,
        dask=dask,
        on_progress=on_progress,
        engine=engine,
    )


def run_sweep(  # noqa: PLR0913
    scenarios: Sequence[Scenario],
    out: Path,
    *,
    seeds: int | Precision = SEEDS,
    budget_s: float = BUDGET_S,
    jobs: int | None = None,
    dask: str | None = None,
    part: Part | None = None,
    on_progress: OnProgress | None = None,
    on_event: OnEvent = lambda _: None,
    engine: Engine = "sim",
) -> Sweep:
    """Run scenarios, which are the points, as `sweep` does.

    `part` is the number of a part of the jobs, from 1, and the number of parts: only that part is
    run. `on_event` is called with a sentence at the start of each step. All other arguments are
    those of `sweep`.
    """
    refuse_if_impossible(engine, scenarios)
    counts = [seeds if isinstance(seeds, int) else LEAST_RUNS] * len(scenarios)
    failures: list[Failure] = []
    with Writer(out, " ".join(["fairhaul", *sys.argv[1:]])) as writer:
        for name in writer.store.damaged:
            on_event(f"{out}/{name} is damaged; its results are computed again")
        while True:
            plan, all_jobs = planned(scenarios, counts, engine)
            plan.store(out)
            own = shard(all_jobs, *part) if part else all_jobs
            left = missing(own, writer)
            _announce(len(own), left, out, at_once(jobs, engine), engine, on_event)
            if left and dask is not None:
                from fairhaul.jobs.cluster import work_on_cluster

                failures += work_on_cluster(left, writer, dask, on_progress, engine=engine)
            elif left:
                failures += work(left, writer, at_once=jobs, on_progress=on_progress, engine=engine)
            table = rows(plan, Store(out))
            if isinstance(seeds, int) or failures:
                return Sweep(directory=out, plan=plan, rows=table, failures=failures)
            wanted = [_wanted(seeds, row) for row in table]
            more = _within_budget(table, counts, wanted, budget_s * FACTS[engine].packets_per_cpu_s)
            if more == counts:
                imprecise = [
                    row.point.variant
                    for row, has, wants in zip(table, counts, wanted, strict=True)
                    if wants > has
                ]
                return Sweep(directory=out, plan=plan, rows=table, imprecise=imprecise)
            counts = more


def _announce(
    wanted: int,
    left: Sequence[Job],
    out: Path,
    jobs: int,
    engine: Engine,
    on_event: OnEvent,
) -> None:
    if len(left) < wanted:
        on_event(f"{wanted - len(left)} of {wanted} results are in {out} already")
    if left:
        on_event(str(cost([job.scenario for job in left], jobs, engine)))


def _wanted(precision: Precision, row: Row) -> int:
    """The number of runs that a point is to have next."""
    return precision.runs(named(row.summary), len(row.runs))


def _within_budget(
    table: Sequence[Row], counts: Sequence[int], wanted: Sequence[int], budget: float
) -> list[int]:
    """Give the number of runs of each point that a budget of packets allows, of the wanted ones."""
    each = [sum(run["packets"] for run in row.runs) / len(row.runs) for row in table]
    left = budget - sum(count * packets for count, packets in zip(counts, each, strict=True))
    needed = sum(
        (wants - count) * packets
        for wants, count, packets in zip(wanted, counts, each, strict=True)
    )
    if needed <= 0 or left <= 0:
        return list(counts)
    part = min(1.0, left / needed)
    return [
        count + int((wants - count) * part) for wants, count in zip(wanted, counts, strict=True)
    ]
