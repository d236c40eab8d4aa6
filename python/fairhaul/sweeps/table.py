"""The results of a sweep as tables: one row per point, or one row per run and flow."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairhaul.store import Store
from fairhaul.summary import summary
from fairhaul.sweeps.plan import Plan, Point

if TYPE_CHECKING:
    import polars as pl

    from fairhaul.results import RunFigures

# What is said of each flow or group, and of all of them together.
OF_FLOWS = ("goodput_bps", "share", "link_share", "loss_rate", "loss_events", "timeouts")
OF_ONE = ("rtt_mean_s", "cwnd_mean", "completion_s")
OF_LINKS = ("utilization", "drop_rate", "queue_mean_s")
OF_ALL = ("jain", "max_min_ratio", "entitlement")


@dataclass(frozen=True, kw_only=True)
class Row:
    """A point of a sweep, and the figures of its runs that are there."""

    point: Point
    runs: Sequence[RunFigures]

    @property
    def summary(self) -> Mapping[str, Any]:
        """The means over the runs, of which at least one is required."""
        return summary(self.runs)


def rows(plan: Plan, store: Store) -> list[Row]:
    """Give the points of a plan in their order, each with its runs in the order of the seeds."""
    wanted = {key for point in plan.points for key in plan.keys(point)}
    found = {result.key: result.decoded() for result in store.results(wanted)}

    def runs(point: Point) -> list[RunFigures]:
        own = {"title": point.title, "variant": dict(point.variant)}
        # Another sweep may have stored the same scenario under another title.
        return [found[key] | own for key in plan.keys(point) if key in found]

    return [Row(point=point, runs=runs(point)) for point in plan.points]


def parties(figures: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Give the figures of each group of several flows, and of each flow without such a group."""
    groups = {group["name"]: group for group in figures.get("groups") or ()}
    flows = {flow["group"]: groups.get(flow["group"], flow) for flow in figures["flows"]}
    return list(flows.values())


def columns(row: Row) -> dict[str, Any]:
    """Give the columns of a point: what was swept, the number of runs, and figures.

    Each figure has its mean, and the ends of its interval as `NAME_low` and `NAME_high`; it is null
    where it does not exist.
    """
    found: dict[str, Any] = {key: _plain(value) for key, value in row.point.variant.items()}
    found["runs"] = len(row.runs)
    if not row.runs:
        return found
    for name, mean in named(row.summary).items():
        known = mean or {"mean": None, "low": None, "high": None}
        found |= {name: known["mean"], f"{name}_low": known["low"], f"{name}_high": known["high"]}
    return found


def named(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Give the figures of a run, or of the summary of several, by the names of the columns."""
    found = {
        f"{party['name']}.{name}": party[name]
        for party in parties(figures)
        for name in (*OF_FLOWS, *OF_ONE)
        if name in party
    }
    found |= {
        f"{link['name']}.{name}": link[name] for link in figures["links"] for name in OF_LINKS
    }
    return found | {name: figures["fairness"][name] for name in OF_ALL}


def _plain(value: Any) -> Any:
    """Give a swept value as a cell holds it: a table or a list as JSON."""
    return json.dumps(value) if isinstance(value, Mapping | list) else value


def points_frame(table: Sequence[Row]) -> pl.DataFrame:
    """Give a polars frame with one row per point: `columns`."""
    return _frame([columns(row) for row in table])


def flows_frame(table: Sequence[Row]) -> pl.DataFrame:
    """Give a tidy polars frame with one row per run and flow."""
    return _frame([cells for row in table for run in row.runs for cells in _of_run(row, run)])


def _of_run(row: Row, run: RunFigures) -> Iterator[dict[str, Any]]:
    settings = {key: _plain(value) for key, value in row.point.variant.items()}
    everything = {"jain": run["fairness"]["jain"], "seed": str(run["seed"])}
    for flow in run["flows"]:
        yield {**settings, **everything, **flow}


def _frame(cells: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    import polars as pl

    names = dict.fromkeys(name for row in cells for name in row)
    return pl.DataFrame({name: _column([row.get(name) for row in cells]) for name in names})


def _column(values: Sequence[Any]) -> list[Any]:
    """Give a column one type: numbers, or texts where some value is one."""
    if any(isinstance(value, str) for value in values):
        return [None if value is None else str(value) for value in values]
    if any(isinstance(value, float) for value in values):
        return [None if value is None else float(value) for value in values]
    return list(values)
