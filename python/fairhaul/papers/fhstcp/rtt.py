"""RTT unfairness [FHSTCP, 1]: the throughput ratio of two flows over the ratio of their rounds.

The paper derives that windows become equal under FHSTCP, so that throughputs are as the inverse
of the round trips: that is its value here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fairhaul.estimate import estimate
from fairhaul.measures import measure
from fairhaul.papers import Row, Table, losses
from fairhaul.papers.experiment import (
    Case,
    Claim,
    Experiment,
    Found,
    Settings,
    below,
    case,
    cell,
    judged,
    within,
)
from fairhaul.papers.fhstcp.flows import CONTROLLERS

if TYPE_CHECKING:
    from fairhaul.estimate import Estimate
    from fairhaul.record import Record
    from fairhaul.report import Figure

FILE = "rtt.toml"
NEAR_MS = 40
RATIOS, QUICK_RATIOS = (1, 2, 3, 4, 5, 6), (1, 2, 3, 6)
QUICK = {"duration": "120 s", "warmup": "40 s"}

# How far the exponent of throughput over round trips may be from the paper's 1 to count as such.
NEAR = 0.25

CHOSEN = (
    "RTT unfairness: 622 Mbit/s, a buffer of 20 ms, the near flow at 40 ms, no background; the "
    "paper has no such figure.",
    f"RTT unfairness: a power within {NEAR:g} of 1 counts as the inverse of the round trips.",
)

QUEUE = (
    "The queue, in which both flows wait, brings their round trips closer than propagation says, "
    "so that the power is below 1."
)


def _cases(quick: bool, settings: Settings) -> list[Case]:
    cases = []
    for ratio in QUICK_RATIOS if quick else RATIOS:
        for name in CONTROLLERS:
            pair = {"flow.far.rtt": f"{NEAR_MS * ratio} ms", "flow.*.controller": name}
            cases.append(
                case("fhstcp", FILE, [str(ratio), name], QUICK if quick else {}, pair, settings)
            )
    return cases


def _numbers(record: Record) -> dict[str, float | None]:
    measures = measure(record)
    near, far = (flow["goodput_bps"] for flow in measures["flows"])
    return {"ratio": near / far if far else None, **losses.numbers(measures, ("near", "far"))}


def _ratios(found: Found) -> list[str]:
    return list(dict.fromkeys(ratio for ratio, _ in found.runs))


def _tables(found: Found) -> list[Table]:
    ratios = _ratios(found)
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
    return [table, losses.table(found, "RTT unfairness", "RTT ratio", ["near", "far"])]


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


def exponent(found: Found, name: str) -> Estimate | None:
    """Fit how a controller's throughput falls with the round trip: as its power of minus what.

    Least squares over the logarithms of all ratios, for each seed.
    """
    ratios = [ratio for ratio in _ratios(found) if ratio != "1"]
    slopes = []
    for runs in zip(*(found.runs[ratio, name] for ratio in ratios), strict=True):
        pairs = [
            (math.log(float(ratio)), math.log(run["ratio"]))
            for ratio, run in zip(ratios, runs, strict=True)
            if run["ratio"]
        ]
        if pairs:
            slopes.append(sum(x * y for x, y in pairs) / sum(x * x for x, _ in pairs))
    return estimate(slopes) if slopes else None


def _claims(found: Found) -> list[Claim]:
    ours = exponent(found, "fhstcp")
    return [
        Claim(
            text="throughputs are as the inverse of the round trips",
            verdict=judged([within(ours, 1 - NEAR, 1 + NEAR)]),
            seen=_seen(found),
            why=QUEUE if ours is not None and ours.mean < 1 else "",
        ),
        Claim(
            text="less RTT-unfair than HSTCP, STCP and standard TCP",
            verdict=judged([below(ours, exponent(found, other)) for other in CONTROLLERS[1:]]),
            seen="By the same powers.",
        ),
    ]


def _seen(found: Found) -> str:
    powers = ", ".join(
        f"{cell(exponent(found, name), '.2f').ours_text()} for {name}" for name in CONTROLLERS
    )
    return f"Throughput falls as a power of the round trip; the power is {powers}. The paper has 1."


def _figures(found: Found) -> list[Figure]:
    from fairhaul.papers import figures
    from fairhaul.report import Figure, plots

    ratios = _ratios(found)
    numbers = [float(ratio) for ratio in ratios]
    lines = [
        figures.curve(found, look, {float(r): ((r, look.label), "ratio") for r in ratios})
        for look in figures.looks(CONTROLLERS)
    ]
    inverse = figures.reference("as 1/RTT", {n: n for n in numbers})
    fair = figures.reference("the same", dict.fromkeys(numbers, 1.0))
    means = [point["mean"] for line in lines for point in line.points]
    x = plots.Scale(
        title="RTT of the far flow over that of the near one",
        low=numbers[0] / 1.04,
        high=numbers[-1] * 1.04,
        log=True,
        ticks=numbers,
    )
    y = plots.powers("Throughput of near over far", [0.7, numbers[-1], *means])
    caption = (
        f"{_seen(found)} Dashed: throughputs as the inverse of the round trips, which the paper "
        f"derives for FHSTCP, and the same throughput for both. {figures.BANDS}"
    )
    chart = plots.curves([*lines, inverse, fair], x, y)
    title = "Throughput ratio over RTT ratio"
    return [Figure(name="rtt", title=title, caption=caption, chart=chart)]


EXPERIMENT = Experiment(
    heading="RTT unfairness",
    about="Two flows share a link, one with 40 ms and one with up to six times as much, both under "
    "one controller. The paper derives that windows become equal under FHSTCP, so that throughputs "
    "are as the inverse of the round trips.",
    seeds=5,
    quick_seeds=2,
    cases=_cases,
    numbers=_numbers,
    tables=_tables,
    figures=_figures,
    claims=_claims,
    chosen=CHOSEN,
)
