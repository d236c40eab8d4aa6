"""What the experiments on FHSTCP have in common: cases, runs over seeds, and tables of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairhaul.estimate import Estimate, estimate
from fairhaul.fairness import jain
from fairhaul.measures import measure
from fairhaul.papers import Cell, Row, Table, scenario_file
from fairhaul.scenario import Scenario, read_one

if TYPE_CHECKING:
    from fairhaul.record import Record

FLOWS = ("F1", "F2", "F3")

# The figures of one run by name; nothing where a run cannot say.
Figures = Mapping[str, float | None]
Settings = Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class Case:
    """One scenario of an experiment, under the words by which its tables find it."""

    key: tuple[str, ...]
    scenario: Scenario


@dataclass(frozen=True, kw_only=True)
class Found:
    """What the runs of an experiment gave: the figures of each seed, by the key of the case."""

    runs: Mapping[tuple[str, ...], Sequence[Figures]]

    def values(self, key: tuple[str, ...], name: str) -> list[float]:
        """Give the figure `name` of every seed that has it."""
        found = [run.get(name) for run in self.runs[key]]
        return [value for value in found if value is not None]

    def estimate(self, key: tuple[str, ...], name: str) -> Estimate | None:
        """Estimate the figure `name`; nothing where no run has it."""
        values = self.values(key, name)
        return estimate(values) if values else None

    def mean(self, key: tuple[str, ...], name: str) -> float:
        """Give the mean of the figure `name`; not a number where no run has it."""
        found = self.estimate(key, name)
        return found.mean if found else float("nan")


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One experiment: its cases in short or in full, the figures of a run, and its tables."""

    seeds: int
    quick_seeds: int
    cases: Callable[[bool, Settings], Sequence[Case]]
    figures: Callable[[Record], Figures]
    tables: Callable[[Found], Sequence[Table]]
    chosen: Sequence[str]


def case(file: str, key: Sequence[str], *settings: Settings) -> Case:
    """Read the one scenario of `file` under `settings`, the last of which weigh most."""
    merged = {name: value for one in settings for name, value in one.items()}
    scenario = read_one(scenario_file("fhstcp", file), merged)
    return Case(key=tuple(key), scenario=scenario)


def cell(ours: Estimate | None, form: str, paper: float | None = None, step: float = 0.01) -> Cell:
    """Put our number into a cell, beside the paper's where it has one."""
    return Cell(
        paper=[] if paper is None else [paper],
        steps=[] if paper is None else [step],
        ours=[] if ours is None else [ours],
        form=form,
    )


def sheet(
    found: Found,
    title: str,
    parameter: str,
    columns: Mapping[str, str],
    notes: Sequence[str] = (),
) -> Table:
    """Lay out a table with a row for every case and a column for every figure and its form."""
    rows = [
        Row(
            label=", ".join(key),
            cells=[cell(found.estimate(key, name), form) for name, form in columns.items()],
        )
        for key in found.runs
    ]
    return Table(title=title, parameter=parameter, columns=list(columns), rows=rows, notes=notes)


def together(found: Found, title: str, parameter: str, names: Sequence[str]) -> Table:
    """Lay out how closely losses coincided: the part of the loss episodes in which each reduced."""
    columns = {"episodes": ".0f", **{f"{name} reduces in": ".2f" for name in names}}
    return sheet(found, f"{title}: synchronisation of losses", parameter, columns)


def coincidence(measures: Mapping[str, object], names: Sequence[str]) -> dict[str, float | None]:
    """Give the figures of `together` of one run; those without a name are the background's mean."""
    flows, episodes = measures["flows"], measures["loss_episodes"]
    assert isinstance(flows, list)
    assert isinstance(episodes, Mapping)
    parts = {flow["name"]: flow["loss_sync"] for flow in flows if flow["name"] in names}
    others = [
        f["loss_sync"] for f in flows if f["name"] not in names and f["loss_sync"] is not None
    ]
    found = {f"{name} reduces in": parts.get(name) for name in names}
    if others:
        found["others reduces in"] = sum(others) / len(others)
    return {"episodes": float(episodes["count"]), **found}


def three_flows(record: Record) -> dict[str, float | None]:
    """Give the figures of a run of F1, F2 and F3 beside a background."""
    measures = measure(record)
    scenario = record.meta["scenario"]
    bulk = {flow["name"] for flow in scenario["flows"] if flow["traffic"]["kind"] == "bulk"}
    by_name = {flow["name"]: flow for flow in measures["flows"]}
    shares = {name: 100 * by_name[name]["link_share"] for name in FLOWS}
    background = [flow for flow in measures["flows"] if flow["role"] == "background"]
    losses = [flow["loss_rate"] or 0.0 for flow in background if flow["name"] in bulk]
    events = sum(by_name[name]["loss_events"] for name in FLOWS)
    return {
        **shares,
        "F4": 100 * sum(flow["link_share"] for flow in background),
        "total": 100 * sum(flow["link_share"] for flow in measures["flows"]),
        "fairness index": jain(list(shares.values())),
        "F1/F3": shares["F1"] / shares["F3"] if shares["F3"] > 0 else None,
        "least background loss": min(losses, default=None),
        "most background loss": max(losses, default=None),
        "drops per loss event": _drops(record) / events if events else None,
        "queue mean": measures["links"][0]["queue_mean_packets"],
        "queue peak": _peak(record),
        **measures["fairness"]["jain_by_window"],
        **coincidence(measures, FLOWS),
    }


def _drops(record: Record) -> float:
    """The packets of F1 to F3 that were dropped in the measured time."""
    import polars as pl

    inside = pl.col("t_s") >= record.meta["scenario"]["warmup_s"]
    mine = pl.col("flow").cast(pl.String).is_in(FLOWS)
    return float(record.flow_series.filter(inside & mine)["lost"].sum())


def _peak(record: Record) -> float:
    """The longest queue of the first link in the measured time, as a mean over a bin of 0.1 s."""
    import polars as pl

    scenario = record.meta["scenario"]
    inside = pl.col("t_s") >= scenario["warmup_s"]
    first = pl.col("link").cast(pl.String) == scenario["links"][0]["name"]
    return float(record.link_series.filter(inside & first)["backlog_packets"].to_numpy().max())
