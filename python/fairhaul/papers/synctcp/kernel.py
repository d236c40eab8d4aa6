"""The start of Sync-TCP on real hosts: when its window first holds what the path does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fairhaul.measures import measure
from fairhaul.papers import Row, Table, payload
from fairhaul.papers.experiment import Case, Experiment, Found, Lab, Settings, case, cell
from fairhaul.papers.synctcp.flow import CONTROLLERS, reached
from fairhaul.papers.synctcp.start import BOUNDS
from fairhaul.papers.synctcp.start import PAPER as START

if TYPE_CHECKING:
    from fairhaul.papers.experiment import Key
    from fairhaul.record import Record
    from fairhaul.report import Figure

FILE = "kernel.toml"
KEYS: Mapping[Key, str] = {
    (speed, name): f"{packets} at {speed}, {name}"
    for speed, packets in BOUNDS.items()
    for name in CONTROLLERS
}
BY_THEN, EARLY, AGAIN, GOODPUT = "seconds", "sent again until then", "sent again", "goodput"
NUMBERS = {BY_THEN: ".2f", EARLY: ".1f", AGAIN: ".1f", "timeouts": ".1f", GOODPUT: ".2f"}

CHOSEN = (
    "Kernel: the window has no bound, since a real host's has none; an initial window of 2, data "
    "one way, and else the defaults of Linux in both engines. The paper's times are those until a "
    "bound of the same number of packets.",
)


def _cases(_: bool, settings: Settings) -> list[Case]:
    return [
        case("synctcp", FILE, [speed, name], {"link.*.rate": speed}, CONTROLLERS[name], settings)
        for speed, name in KEYS
    ]


def _numbers(record: Record) -> dict[str, float | None]:
    import polars as pl

    scenario, flow = record.meta["scenario"], measure(record)["flows"][0]
    there = reached(record, _packets(scenario["links"][0]["rate_bps"]))
    by_then = scenario["duration_s"] if there is None else there
    again = record.flow_series.filter(pl.col("t_s") < by_then)["retransmitted"].sum()
    return {
        BY_THEN: by_then,
        EARLY: float(again),
        AGAIN: float(flow["retransmits"]),
        "timeouts": float(flow["timeouts"]),
        GOODPUT: flow["goodput_bps"] * payload.alike(record) * 1e-6,
    }


def _packets(rate_bps: float) -> float:
    """What the path holds: 60 ms of packets of 1500 bytes."""
    return 0.06 * rate_bps / 12_000


def _tables(found: Found) -> list[Table]:
    rows = [
        Row(
            label=label,
            cells=[
                cell(
                    found.estimate(key, name),
                    form,
                    *(START.get((key[0], key[1]), ()) if name == BY_THEN else ()),
                )
                for name, form in NUMBERS.items()
            ],
        )
        for key, label in KEYS.items()
    ]
    notes = [
        "Seconds until the window first holds what the path does for a bin of the record, at most "
        "those of a run; packets sent again until then, and in the run; goodput in Mbit/s.",
    ]
    title = "Kernel: the start"
    return [Table(title=title, parameter="packets", columns=list(NUMBERS), rows=rows, notes=notes)]


def _figures(found: Found) -> list[Figure]:
    return _overlay({"simulator": found})


def _overlay(engines: Mapping[str, Found]) -> list[Figure]:
    from fairhaul.papers import figures
    from fairhaul.report import Figure, plots

    means = [found.mean(key, BY_THEN) for found in engines.values() for key in KEYS]
    x = plots.powers("Seconds until the window holds what the path does", means)
    chart = figures.engines(engines, KEYS, BY_THEN, x)
    caption = f"One flow alone, from two packets on. {figures.INTERVALS}"
    return [Figure(name="kernel", title="The start on real hosts", caption=caption, chart=chart)]


EXPERIMENT = Experiment(
    heading="On real hosts",
    about="One flow over three links of 10 ms, as Linux runs it: when its window first holds what "
    "the path does, and what it loses.",
    seeds=10,
    quick_seeds=8,
    cases=_cases,
    numbers=_numbers,
    tables=_tables,
    figures=_figures,
    chosen=CHOSEN,
    lab=Lab(full={}, quick={"duration": "15 s"}),
    overlay=_overlay,
)
