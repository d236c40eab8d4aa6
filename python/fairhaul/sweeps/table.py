"""The results of a sweep as tables: one row per point, or one row per run and flow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairhaul import frames
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


def rows_of(each: Sequence[Sequence[RunFigures]]) -> list[Row]:
    """Give rows for the figures of several scenarios that were run without a store."""
    return [
        Row(
            point=Point(
                title=runs[0]["title"],
                variant=runs[0].get("variant", {}),
                digest="",
                made_by="",
                seed=runs[0]["seed"],
                seeds=len(runs),
            ),
            runs=runs,
        )
        for runs in each
    ]


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
    found: dict[str, Any] = {key: frames.plain(value) for key, value in row.point.variant.items()}
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


def points_frame(table: Sequence[Row]) -> pl.DataFrame:
    """Give a polars frame with one row per point: `columns`."""
    return frames.frame([columns(row) for row in table])


def flows_frame(table: Sequence[Row]) -> pl.DataFrame:
    """Give a tidy polars frame with one row per run and flow."""
    return frames.flows_frame([run for row in table for run in row.runs])
