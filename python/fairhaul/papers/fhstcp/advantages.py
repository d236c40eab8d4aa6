"""'Keeping the advantages of HSTCP' [FHSTCP]: how well, and how soon, one flow fills a link."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairhaul.measures import measure
from fairhaul.papers import Row, Table
from fairhaul.papers.fhstcp.experiment import Case, Experiment, Found, Settings, case, cell

if TYPE_CHECKING:
    from fairhaul.record import Record

FILE = "advantages.toml"
QUICK = {"duration": "300 s", "warmup": "200 s"}
ROUNDS_MS = (20, 80, 200)
CONTROLLERS = ("fhstcp", "highspeed", "scalable", "reno")

# A link counts as filled when it was this busy for a second.
FILLED, OVER_S = 0.9, 1.0

CHOSEN = (
    "Advantages: one flow on 622 Mbit/s with a buffer of 20 ms leaves slow start at 100 packets, "
    "so that the controller and not slow start fills the link; it is filled when 90 % busy for "
    "1 s. Utilisation is that of the time after the warm-up.",
)


def _cases(quick: bool, settings: Settings) -> list[Case]:
    cases = []
    for ms in ROUNDS_MS:
        for name in CONTROLLERS:
            pair = {"flow.one.rtt": f"{ms} ms", "flow.one.controller": name}
            key = [str(ms), name]
            cases.append(case(FILE, key, QUICK if quick else {}, pair, settings))
    return cases


def _figures(record: Record) -> dict[str, float | None]:
    links = measure(record)["links"]
    return {"utilisation": 100 * links[0]["utilization"], "time to fill": time_to_fill(record)}


def time_to_fill(record: Record) -> float | None:
    """When the first link had first been `FILLED` for `OVER_S` seconds; nothing if it never was."""
    import numpy as np
    import polars as pl

    name = record.meta["scenario"]["links"][0]["name"]
    rows = record.link_series.filter(pl.col("link").cast(pl.String) == name)
    starts = rows["t_s"].to_numpy()
    ends = np.append(starts[1:], record.meta["scenario"]["duration_s"])
    busy = np.concatenate([[0.0], np.cumsum(rows["busy_s"].to_numpy())])
    edges = np.concatenate([[starts[0]], ends])
    past = ends[ends >= OVER_S]
    within = np.interp(past, edges, busy) - np.interp(past - OVER_S, edges, busy)
    filled = past[within >= FILLED * OVER_S]
    return float(filled[0]) if filled.size else None


def _tables(found: Found) -> list[Table]:
    return [
        _table(found, "utilisation", "Advantages: utilisation of the link by one flow in %", ".2f"),
        _table(found, "time to fill", "Advantages: seconds until one flow fills the link", ".1f"),
    ]


def _table(found: Found, figure: str, title: str, form: str) -> Table:
    rows = [
        Row(
            label=str(ms),
            cells=[cell(found.estimate((str(ms), n), figure), form) for n in CONTROLLERS],
        )
        for ms in ROUNDS_MS
    ]
    notes = _notes(found) if figure == "utilisation" else ["A dash: not within the run."]
    return Table(title=title, parameter="RTT in ms", columns=CONTROLLERS, rows=rows, notes=notes)


def _notes(found: Found) -> list[str]:
    worse = []
    for ms in ROUNDS_MS:
        ours, theirs = (found.mean((str(ms), n), "utilisation") for n in CONTROLLERS[:2])
        if ours < theirs - 1:
            worse.append(f"{ms} ms ({ours:.1f} against {theirs:.1f} %)")
    return [f"More than 1 % of the link behind HighSpeed TCP: {', '.join(worse) or 'nowhere'}."]


EXPERIMENT = Experiment(
    seeds=3, quick_seeds=2, cases=_cases, figures=_figures, tables=_tables, chosen=CHOSEN
)
