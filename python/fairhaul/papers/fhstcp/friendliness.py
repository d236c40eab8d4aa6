"""Friendliness [FHSTCP, 3]: FHSTCP beside one standard flow that meets the same random loss.

The paper calls a protocol friendly that leaves standard TCP alone where that works well, at a
loss rate of 1e-3 and above, the Low_P of HighSpeed TCP.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fairhaul.measures import measure
from fairhaul.papers import Row, Table
from fairhaul.papers.experiment import (
    Case,
    Claim,
    Experiment,
    Found,
    Settings,
    case,
    cell,
    judged,
    within,
)

if TYPE_CHECKING:
    from fairhaul.record import Record
    from fairhaul.report import Figure

FILE = "friendliness.toml"
ROUNDS_MS = (10, 30, 100, 300)

# How many losses the standard flow should see: at small p a loss costs so many packets that
# fewer have to do.
LOSSES = {"1e-2": 1600, "1e-3": 800, "1e-4": 300, "1e-5": 80}
QUICK_PART, WARM_PART = 0.3, 0.15

# Where standard TCP works well, and a(w) is still that of standard TCP; and how many times its
# throughput still counts as the same, which the paper leaves open.
LOW_P = "1e-3"
FRIENDLY = 1.25

CHOSEN = (
    "Friendliness: random loss on a link that is never full, so that each flow gets what the loss "
    "leaves it; runs are as long as the standard flow needs to see 80 (p = 1e-5) to 1600 losses.",
)


def _cases(quick: bool, settings: Settings) -> list[Case]:
    cases = []
    for p, losses in LOSSES.items():
        for ms in ROUNDS_MS:
            wanted = losses * (QUICK_PART if quick else 1)
            length = _length_s(float(p), ms / 1000, wanted)
            loss = {
                "bottleneck.loss": float(p),
                "flow.*.rtt": f"{ms} ms",
                "duration": f"{length:.3f} s",
                "warmup": f"{length * WARM_PART:.3f} s",
            }
            cases.append(case("fhstcp", FILE, [p, str(ms)], loss, settings))
    return cases


def _length_s(p: float, rtt_s: float, losses: float) -> float:
    """How long a standard flow takes to see `losses`: it sends sqrt(3/2) / sqrt(p) in a round."""
    return losses * rtt_s / (math.sqrt(1.5 * p))


def _numbers(record: Record) -> dict[str, float | None]:
    ours, standard = (flow["goodput_bps"] for flow in measure(record)["flows"])
    return {"ratio": ours / standard if standard else None}


def _tables(found: Found) -> list[Table]:
    rows = [
        Row(
            label=p,
            cells=[cell(found.estimate((p, str(ms)), "ratio"), ".2f") for ms in ROUNDS_MS],
        )
        for p in LOSSES
    ]
    table = Table(
        title="Friendliness: throughput of FHSTCP over that of a standard flow of the same RTT",
        parameter="p",
        columns=[f"{ms} ms" for ms in ROUNDS_MS],
        rows=rows,
        notes=_notes(found),
    )
    return [table]


def _notes(found: Found) -> list[str]:
    """Say on which rounds the standard flow is left alone where the paper wants it to be."""
    ratios = {ms: found.mean((LOW_P, str(ms)), "ratio") for ms in ROUNDS_MS}
    above = [f"{ms} ms" for ms, ratio in ratios.items() if ratio > FRIENDLY]
    return [
        f"At p = {LOW_P}, where the paper wants standard TCP to be left alone: {_seen(found)}.",
        f"More than {FRIENDLY:g} times the standard flow there, against the paper: "
        f"{', '.join(above) or 'nowhere'}. The factor c x RTT is above 1 on rounds of more than "
        "100 ms, and below 1 on shorter ones, where FHSTCP is the one that falls behind.",
    ]


def _seen(found: Found) -> str:
    return ", ".join(
        f"{found.text((LOW_P, str(ms)), 'ratio', '.2f')} at {ms} ms" for ms in ROUNDS_MS
    )


def _claims(found: Found) -> list[Claim]:
    parts = [within(found.estimate((LOW_P, str(ms)), "ratio"), 0, FRIENDLY) for ms in ROUNDS_MS]
    return [
        Claim(
            text=f"it leaves standard TCP alone at p = {LOW_P}",
            verdict=judged(parts),
            seen=f"FHSTCP has {_seen(found)} times what the standard flow has; up to {FRIENDLY:g} "
            "counts as the same.",
            why="Growth is c x RTT times that of standard TCP, so the window is about as large as "
            "the root of that: FHSTCP takes more on rounds above 100 ms, and falls behind on "
            "shorter ones.",
        )
    ]


def _figures(found: Found) -> list[Figure]:
    from fairhaul.papers import figures
    from fairhaul.report import Figure, plots

    looks = figures.looks([f"p = {p}" for p in LOSSES])
    lines = [
        figures.curve(found, look, {float(ms): ((p, str(ms)), "ratio") for ms in ROUNDS_MS})
        for p, look in zip(LOSSES, looks, strict=True)
    ]
    # c is 10, and w^2 p is the growth of a round up to a factor that both have.
    root = figures.reference("root of c x RTT", {ms: math.sqrt(ms / 100) for ms in ROUNDS_MS})
    same = figures.reference("the same", dict.fromkeys(map(float, ROUNDS_MS), 1.0))
    means = [point["mean"] for line in lines for point in line.points]
    x = plots.Scale(
        title="Round-trip time (ms)",
        low=ROUNDS_MS[0] / 1.08,
        high=ROUNDS_MS[-1] * 1.08,
        log=True,
        ticks=ROUNDS_MS,
    )
    y = plots.powers("FHSTCP over standard TCP", means)
    caption = (
        f"At p = {LOW_P} FHSTCP has {_seen(found)} times what the standard flow has. Dashed: the "
        "same throughput for both, and the root of c x RTT, which growth in proportion to c x RTT "
        f"makes of windows below 38 packets. {figures.BANDS}"
    )
    chart = plots.curves([*lines, root, same], x, y)
    title = "Throughput beside a standard flow"
    return [Figure(name="friendliness", title=title, caption=caption, chart=chart)]


EXPERIMENT = Experiment(
    heading="Friendliness to standard TCP",
    about="One FHSTCP flow beside one standard flow of the same round trip; both meet the same "
    "random loss p. The paper wants standard TCP left alone at p = 1e-3 and above.",
    seeds=5,
    quick_seeds=2,
    cases=_cases,
    numbers=_numbers,
    tables=_tables,
    figures=_figures,
    claims=_claims,
    chosen=CHOSEN,
)
