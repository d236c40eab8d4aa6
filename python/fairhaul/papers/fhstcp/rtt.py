"""RTT unfairness [FHSTCP, 1]: the throughput ratio of two flows over the ratio of their rounds.

The paper derives that windows become equal under FHSTCP, so that throughputs are as the inverse
of the round trips: that is its value here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairhaul.measures import measure
from fairhaul.papers import Row, Table
from fairhaul.papers.fhstcp.experiment import (
    Case,
    Experiment,
    Found,
    Settings,
    case,
    cell,
    coincidence,
    together,
)

if TYPE_CHECKING:
    from fairhaul.record import Record

FILE = "rtt.toml"
NEAR_MS = 40
RATIOS, QUICK_RATIOS = (1, 2, 3, 4, 5, 6), (1, 2, 3, 6)
QUICK = {"duration": "120 s", "warmup": "40 s"}
CONTROLLERS = ("fhstcp", "highspeed", "scalable", "reno")

CHOSEN = (
    "RTT unfairness: 622 Mbit/s, a buffer of 20 ms, the near flow at 40 ms, no background; the "
    "paper has no such figure.",
)


def _cases(quick: bool, settings: Settings) -> list[Case]:
    cases = []
    for ratio in QUICK_RATIOS if quick else RATIOS:
        for name in CONTROLLERS:
            pair = {"flow.far.rtt": f"{NEAR_MS * ratio} ms", "flow.*.controller": name}
            cases.append(case(FILE, [str(ratio), name], QUICK if quick else {}, pair, settings))
    return cases


def _figures(record: Record) -> dict[str, float | None]:
    measures = measure(record)
    near, far = (flow["goodput_bps"] for flow in measures["flows"])
    return {"ratio": near / far if far else None, **coincidence(measures, ("near", "far"))}


def _tables(found: Found) -> list[Table]:
    ratios = list(dict.fromkeys(ratio for ratio, _ in found.runs))
    rows = []
    for ratio in ratios:
        ours = [found.estimate((ratio, name), "ratio") for name in CONTROLLERS]
        cells = [cell(ours[0], ".2f", float(ratio), 1.0), *(cell(one, ".2f") for one in ours[1:])]
        rows.append(Row(label=ratio, cells=cells))
    table = Table(
        title="RTT unfairness: throughput of the near flow over that of the far one",
        parameter="RTT ratio",
        columns=CONTROLLERS,
        rows=rows,
        notes=_notes(found, ratios),
    )
    return [table, together(found, "RTT unfairness", "RTT ratio", ["near", "far"])]


def _notes(found: Found, ratios: list[str]) -> list[str]:
    notes = []
    for other in CONTROLLERS[1:]:
        worse = [
            ratio
            for ratio in ratios
            if ratio != "1"
            and found.mean((ratio, "fhstcp"), "ratio") >= found.mean((ratio, other), "ratio")
        ]
        where = f"not at a ratio of {', '.join(worse)}" if worse else "at every ratio above 1"
        notes.append(f"FHSTCP less unfair than {other}: {where}.")
    return notes


EXPERIMENT = Experiment(
    seeds=5, quick_seeds=2, cases=_cases, figures=_figures, tables=_tables, chosen=CHOSEN
)
