"""Sweeps: many runs of varied scenarios, whose results a store keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from fairhaul.figures.chart import Chart
from fairhaul.figures.view import DEFAULT, View
from fairhaul.jobs.plan import FILE, Plan, planned, read_plan, rows
from fairhaul.jobs.store import Store
from fairhaul.jobs.values import Failure, InStore, Running, attempt
from fairhaul.measures.measures import figures
from fairhaul.report.outcome import Outcome, StudyResult
from fairhaul.results.precision import Precision, read_precision
from fairhaul.results.table import Row, flows_frame, named, points_frame
from fairhaul.runs.runs import refuse_if_impossible
from fairhaul.scenario.engines import FACTS, Engine
from fairhaul.scenario.read import Controllers, Scenario, Settings, Source, read
from fairhaul.statistics.estimate import LEAST_RUNS

if TYPE_CHECKING:
    import polars as pl


# With five runs there is an interval.
SEEDS = LEAST_RUNS
BUDGET_S = 600.0


@dataclass(frozen=True, kw_only=True)
class Sweep(StudyResult):
    """The results of a sweep: a row for each point, in the order of the scenario's file.

    `failures` are runs that failed, and `imprecise` names the points whose figure is not as precise
    as requested, because the budget has ended.
    """

    directory: Path
    plan: Plan
    rows: Sequence[Row]
    failures: Sequence[Failure] = ()
    imprecise: Sequence[Mapping[str, Any]] = ()
    view: View = DEFAULT
    """What its report draws."""

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

    def chart(self, name: str = "jain", *, x: str | None = None, facet: str | None = None) -> Chart:
        """Draw a figure over the swept keys, such as `share`, `jain` or `bottleneck.utilization`.

        Args:
            name: a column of the table, or what each flow has.
            x: the key of the horizontal axis.
            facet: the key of the panels.

        Raises:
            ScenarioError: there is no figure or key of that name.
        """
        from fairhaul.figures.swept import chart

        return chart(self.rows, name, x=x, facet=facet)

    def outcome(self) -> Outcome:
        """Put the results into words and tables."""
        from fairhaul.studies.sweep.outcome import outcome_of

        return outcome_of(self)


def sweep(  # noqa: PLR0913
    source: Source,
    out: str | Path,
    overrides: Settings | None = None,
    *,
    seeds: int | str | Precision = SEEDS,
    budget_s: float = BUDGET_S,
    controllers: Controllers | None = None,
    engine: Engine = "sim",
    view: View = DEFAULT,
    **options: Unpack[InStore],
) -> Sweep:
    """Run every scenario of `source` with several seeds, and keep the results in a directory.

    Args:
        source: the path of a file, TOML text (anything with a line break), or a mapping.
        out: the directory.
        overrides: keys to change, named as in `[sweep]`.
        seeds: the number of runs of each point, or how precise a figure of each point is to be,
            as `--precise` takes it: `"jain=0.02"`.
        budget_s: the processor time that all runs of the sweep may cost, if `seeds` is a precision;
            a second is 2.5 million packets, and 50,000 in Linux.
        controllers: classes of your own, by the names that the scenario uses for them. The workers
            of a cluster must be able to import them.
        engine: `"sim"`, the simulator, or `"linux"`, Linux in simulated time.
        view: what the report draws: the key of the axis, the figure and the key of the panels.
        options: how the runs are run, as `Running` has it.

    Raises:
        ScenarioError: the scenario is wrong; `args` are all mistakes, one line each.
        Refused: there is no program for `"linux"`, or it cannot run one of the points.
        StoreError: `out` exists and is something else.
        OSError: `out` cannot be written.
    """
    return run_sweep(
        read(source, overrides, controllers=controllers),
        Running.of({**options, "out": out}),
        seeds=read_precision(seeds) if isinstance(seeds, str) else seeds,
        budget_s=budget_s,
        engine=engine,
        view=view,
    )


def is_sweep(directory: Path) -> bool:
    """Whether a directory holds a sweep."""
    return (directory / FILE).is_file()


def read_sweep(directory: str | Path, view: View = DEFAULT) -> Sweep:
    """Read what the directory of a sweep holds.

    Args:
        directory: that of the sweep.
        view: what its report draws.

    Raises:
        StoreError: the directory is not that of a sweep, or it is damaged.
    """
    place = Path(directory)
    plan = read_plan(place)
    return Sweep(directory=place, plan=plan, rows=rows(plan, Store(place)), view=view)


def run_sweep(
    scenarios: Sequence[Scenario],
    running: Running,
    *,
    seeds: int | Precision = SEEDS,
    budget_s: float = BUDGET_S,
    engine: Engine = "sim",
    view: View = DEFAULT,
) -> Sweep:
    """Run scenarios, which are the points, as `sweep` does, in a store."""
    refuse_if_impossible(engine, scenarios)
    assert running.out is not None
    out = running.out
    counts = [seeds if isinstance(seeds, int) else LEAST_RUNS] * len(scenarios)
    with running.opened() as opened:
        while True:
            plan, jobs = planned(scenarios, counts, engine)
            view.check([Row(point=point, runs=()) for point in plan.points])
            plan.store(out)
            _, failures = attempt(jobs, figures, opened, engine=engine)
            table = rows(plan, Store(out))
            view.check(table)
            done = Sweep(directory=out, plan=plan, rows=table, failures=failures, view=view)
            if isinstance(seeds, int) or failures:
                return done
            wanted = [seeds.runs(named(row.summary), len(row.runs)) for row in table]
            more = _within_budget(table, counts, wanted, budget_s * FACTS[engine].packets_per_cpu_s)
            if more == counts:
                each = zip(table, counts, wanted, strict=True)
                imprecise = [row.point.variant for row, has, wants in each if wants > has]
                return replace(done, imprecise=imprecise)
            counts = more


def _within_budget(
    table: Sequence[Row], counts: Sequence[int], wanted: Sequence[int], budget: float
) -> list[int]:
    """Give the number of runs of each point that a budget of packets allows, of the wanted ones."""
    each = [sum(run["packets"] for run in row.runs) / len(row.runs) for row in table]
    more = [wants - count for wants, count in zip(wanted, counts, strict=True)]
    left = budget - sum(count * packets for count, packets in zip(counts, each, strict=True))
    needed = sum(count * packets for count, packets in zip(more, each, strict=True))
    part = min(1.0, left / needed) if needed > 0 and left > 0 else 0.0
    return [count + int(further * part) for count, further in zip(counts, more, strict=True)]
