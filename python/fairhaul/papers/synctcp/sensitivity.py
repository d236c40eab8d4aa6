"""How far the start of Sync-TCP at 100 Mbit/s depends on its parameters and on what is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairhaul.papers import Row, Table
from fairhaul.papers.experiment import Case, Experiment, Found, Settings, case, cell
from fairhaul.papers.synctcp.flow import CONTROLLERS, start_of
from fairhaul.papers.synctcp.start import BOUNDS, FILE, HIGH, ONE_WAY, PAPER, TIMING, TRAFFIC

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairhaul.report import Figure

BASE = "as in Figure 2"
NAMES = ("original", "modified")
C = "flow.F.controller"

# What only the modified start has, and what both have.
STARTS: Mapping[str, Settings] = {
    "C_low 50": {f"{C}.c_low": 50},
    "C_low 75": {f"{C}.c_low": 75},
    "C_low 125": {f"{C}.c_low": 125},
    "C_high 100, no even growth": {f"{C}.c_high": 100},
    "C_high 125": {f"{C}.c_high": 125},
    "C_high 200": {f"{C}.c_high": 200},
    "C_high 300": {f"{C}.c_high": 300},
    "alpha0 0.1": {f"{C}.alpha0": 0.1},
    "alpha0 0.25": {f"{C}.alpha0": 0.25},
    "alpha0 0.5": {f"{C}.alpha0": 0.5},
    "alpha0 1": {f"{C}.alpha0": 1},
    "phases always": {f"{C}.phases": "always"},
}
BOTH: Mapping[str, Settings] = {
    BASE: {},
    "ties increasing": {f"{C}.tie": "increasing"},
    "qmax floor 5 ms": {f"{C}.qmax_floor": 5},
    "no qmax floor": {f"{C}.qmax_floor": 0},
    "no qmax floor, ties increasing": {f"{C}.qmax_floor": 0, f"{C}.tie": "increasing"},
    "buffers of 25 packets": {"link.*.queue.capacity": "25 packets"},
    "buffers of 100 packets": {"link.*.queue.capacity": "100 packets"},
    "buffers of 500 packets": {"link.*.queue.capacity": "500 packets"},
}

CHOSEN = (
    "Sensitivity: one thing is changed at a time, with data one way at 100 Mbit/s; parameters of "
    "the modified start have no row for the original.",
)


def _cases(_: bool, settings: Settings) -> list[Case]:
    path = {"link.*.rate": HIGH, "flow.*.max_window": BOUNDS[HIGH], **TRAFFIC[ONE_WAY]}
    return [
        case("synctcp", FILE, [label, timing, name], CONTROLLERS[name], path, exact, one, settings)
        for label, one in {**BOTH, **STARTS}.items()
        for timing, exact in TIMING.items()
        for name in NAMES
        if label in BOTH or name == "modified"
    ]


def _labels(found: Found) -> list[str]:
    return list(dict.fromkeys(label for label, _, _ in found.runs))


def _tables(found: Found) -> list[Table]:
    columns = [f"{name}: {what}" for name in NAMES for what in ("seconds", "early losses")]
    return [
        Table(
            title=f"Sensitivity, {timing} timing: seconds to 500 packets at 100 Mbit/s, at most "
            "25, and the losses before",
            parameter="variant",
            columns=columns,
            rows=[_row(found, label, timing) for label in _labels(found)],
            notes=[note(found, timing)],
        )
        for timing in TIMING
    ]


def _row(found: Found, label: str, timing: str) -> Row:
    cells = []
    for name in NAMES:
        key = label, timing, name
        there = key in found.runs
        time, losses = (
            found.estimate(key, number) if there else None for number in ("by then", "early losses")
        )
        printed = PAPER[HIGH, name] if label == BASE else ()
        cells += [cell(time, ".2f", *printed), cell(losses, ".1f")]
    return Row(label=label, cells=cells)


def note(found: Found, timing: str) -> str:
    """Say where the modified start is not the sooner, in the mean, and where it loses early."""
    later, lossy = [], []
    for label in _labels(found):
        key = label, timing, "modified"
        against = label if label in BOTH else BASE, timing, "original"
        if found.mean(key, "by then") >= found.mean(against, "by then"):
            later.append(label)
        if found.mean(key, "early losses") > 0:
            lossy.append(label)
    return (
        f"With {timing} timing the modified start is not the sooner with: "
        f"{'; '.join(later) or 'none'}. It loses packets before its bound with: "
        f"{'; '.join(lossy) or 'none'}."
    )


def _figures(found: Found) -> list[Figure]:
    from fairhaul.papers import figures
    from fairhaul.report import Figure, plots

    numbers = {
        "by then": plots.Scale(title="Seconds to 500 packets, at most 25", low=0, high=25),
        "early losses": plots.Scale(title="Losses before", low=0, high=80),
    }
    drawn = []
    for number, scale in numbers.items():
        rows: list[dict[str, Any]] = []
        for timing in TIMING:
            for name in NAMES:
                keys = {key: key[0] for key in found.runs if key[1:] == (timing, name)}
                rows += figures.dots(found, keys, {f"{name}, {timing}": number})
        notes = " ".join(note(found, timing) for timing in TIMING)
        caption = f"One thing is changed at a time. {notes} {figures.INTERVALS}"
        looks = figures.looks([f"{name}, {timing}" for timing in TIMING for name in NAMES])
        chart = plots.dots(looks, rows, _labels(found), scale)
        name = f"sensitivity-{number.split()[-1]}"
        drawn.append(Figure(name=name, title=scale.title, caption=caption, chart=chart))
    return drawn


EXPERIMENT = Experiment(
    heading="How far the start hangs on its parameters",
    about="The start at 100 Mbit/s with one thing changed: C_low, C_high and alpha0, which the "
    "paper chose, and ties, the floor of the largest delay and the buffers, which it does not "
    "give.",
    seeds=5,
    quick_seeds=2,
    cases=_cases,
    numbers=start_of,
    tables=_tables,
    figures=_figures,
    chosen=CHOSEN,
)
