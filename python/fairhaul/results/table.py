"""The results of a sweep as tables: one row per point, or one row per run and flow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fairhaul.record import frames
from fairhaul.results.figure_rows import cell, plain
from fairhaul.results.summary import summary
from fairhaul.text.phrases import short_text
from fairhaul.text.table import Table

if TYPE_CHECKING:
    import polars as pl

    from fairhaul.measures.types import RunFigures

# What is said of each flow or group, and of all of them together.
OF_FLOWS = ("goodput_bps", "share", "link_share", "loss_rate", "loss_events", "timeouts")
OF_ONE = ("rtt_mean_s", "cwnd_mean", "completion_s", "transfer_bps")
OF_LINKS = (
    *("utilization", "drop_rate", "mark_rate"),
    *("queue_mean_s", "queue_p50_s", "queue_p95_s", "queue_p99_s"),
)
# What a link and its queue are made for: the same in all runs of a point.
OF_QUEUES = ("rate_bps", "capacity_packets", "capacity_s", "capacity_bdp")
OF_ALL = ("jain", "max_min_ratio", "entitlement")
# Flows or groups with a column each; of more only what all of them have together is shown.
MOST_PARTIES = 4
SHOWN = ("Jain", "% of link used", "queue ms", "p99 ms", "runs", "stationary")


@dataclass(frozen=True, kw_only=True)
class Point:
    """One scenario of a sweep: its title, what the sweep set, its digest, and its seeds.

    The seeds are `seeds` numbers from `seed` on; `made_by` is the engine as keys name it.
    """

    title: str
    variant: Mapping[str, Any]
    digest: str
    made_by: str
    seed: int
    seeds: int


@dataclass(frozen=True, kw_only=True)
class Row:
    """A point of a sweep, and the figures of its runs that are there."""

    point: Point
    runs: Sequence[RunFigures]

    @cached_property
    def summary(self) -> Mapping[str, Any]:
        """The means over the runs, of which at least one is required."""
        return summary(self.runs)

    @property
    def stationary(self) -> Sequence[bool]:
        """Whether each run is stationary, of those with a measured bulk flow."""
        return [run["stationary"] for run in self.runs if run["stationary"] is not None]


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
    """Give the figures of each class of several flows, and of each flow that is one alone."""
    groups = {group["name"]: group for group in figures.get("groups") or ()}
    flows = {flow["class"]: groups.get(flow["class"], flow) for flow in figures["flows"]}
    return list(flows.values())


def columns(row: Row) -> dict[str, Any]:
    """Give the columns of a point: what was swept, the number of runs, and figures.

    `stationary` is the share of the runs with a measured bulk flow that are stationary.

    The rate of each link and the capacity of its queue have a column each, whether swept or not.
    Each figure has its mean, and the ends of its interval as `NAME_low` and `NAME_high`; it is null
    where it does not exist.
    """
    found: dict[str, Any] = {key: frames.plain(value) for key, value in row.point.variant.items()}
    found["runs"] = len(row.runs)
    found["stationary"] = sum(row.stationary) / len(row.stationary) if row.stationary else None
    if not row.runs:
        return found
    found |= {
        f"{link['name']}.{name}": link[name] and link[name]["mean"]
        for link in row.summary["links"]
        for name in OF_QUEUES
    }
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


def short(key: str, keys: Sequence[str]) -> str:
    """Give the last parts of a path of keys that no other key of the sweep has."""
    parts = key.split(".")
    for count in range(1, len(parts)):
        tail = ".".join(parts[-count:])
        if not any(other != key and other.endswith(f".{tail}") for other in keys):
            return tail
    return key


def grid(table: Sequence[Row]) -> Table:
    """Lay the table out: the points that have results, and a note on the others."""
    keys, names = swept(table), _names(table)
    rates = [f"{name} Mbit/s" for name in names]
    done = [row for row in table if row.runs]
    return Table(
        title=table[0].point.title,
        columns=[*(short(key, list(keys)) for key in keys), *rates, *SHOWN],
        rows=[_cells(row, keys, names) for row in done],
        notes=[*unfinished(table), *_capacities(done)],
        words=len(keys),
        least=[*rates, "% of link used", "queue ms", "runs"],
    ).condensed()


def unfinished(table: Sequence[Row]) -> list[str]:
    """Say how many points have no result yet, if there are any."""
    none = sum(not row.runs for row in table)
    return [f"{none} of {len(table)} points have no result yet."] if none else []


def _capacities(done: Sequence[Row]) -> list[str]:
    """Say which buffers the points have, where they differ: a capacity of 1 bdp follows the RTT."""
    each = [_busiest(row) for row in done]
    packets = [link["capacity_packets"]["mean"] for link in each if link["capacity_packets"]]
    if len({link["name"] for link in each}) != 1 or len(set(packets)) < 2:
        return []
    ends = f"{min(packets):,.0f} to {max(packets):,.0f} packets"
    return [f"The queue of {each[0]['name']} holds {ends}, depending on the point."]


def _busiest(row: Row) -> Mapping[str, Any]:
    links: Sequence[Mapping[str, Any]] = row.summary["links"]
    return max(links, key=lambda link: link["utilization"]["mean"])


def swept(table: Sequence[Row]) -> dict[str, list[Any]]:
    """Give each value of each key that the sweep set; None where a point lacks the key."""
    found: dict[str, list[Any]] = {key: [] for row in table for key in row.point.variant}
    for row in table:
        for key, values in found.items():
            value = row.point.variant.get(key)
            if value not in values:
                values.append(value)
    return found


def _names(table: Sequence[Row]) -> list[str]:
    """Name the flows or groups that have a column."""
    found = [party["name"] for row in table if row.runs for party in parties(row.runs[0])]
    names = list(dict.fromkeys(found))
    return names if len(names) <= MOST_PARTIES else []


def _cells(row: Row, keys: Mapping[str, Sequence[Any]], names: Sequence[str]) -> list[str]:
    variant = row.point.variant
    settings = [short_text(variant.get(key, "-"), values) for key, values in keys.items()]
    figures: Mapping[str, Any] = row.summary
    by_name = {party["name"]: party for party in parties(figures)}
    goodput = plain(2, 1e-6)
    rates = [cell(by_name.get(name, {}).get("goodput_bps"), goodput) for name in names]
    link = _busiest(row)
    return [
        *settings,
        *rates,
        cell(figures["fairness"]["jain"], plain(3)),
        cell(link["utilization"], plain(1, 100)),
        cell(link["queue_mean_s"], plain(1, 1000)),
        cell(link["queue_p99_s"], plain(1, 1000)),
        str(len(row.runs)),
        f"{sum(row.stationary)} of {len(row.stationary)}" if row.stationary else "-",
    ]
