"""Table 1 and Figure 2 of Sync-TCP: how long its window takes to the bound, at two speeds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fairhaul.papers import Row, Table
from fairhaul.papers.experiment import (
    Case,
    Claim,
    Experiment,
    Found,
    Key,
    Settings,
    below,
    case,
    cell,
    judged,
    sheet,
    within,
)
from fairhaul.papers.synctcp.flow import CONTROLLERS, keep_window, start_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairhaul.report import Figure

FILE = "start.toml"
LOW, HIGH = "10 Mbit/s", "100 Mbit/s"
ONE_WAY, BOTH_WAYS = "one way", "both ways"
BOUNDS: Mapping[str, int] = {LOW: 50, HIGH: 500}
TRAFFIC: Mapping[str, Settings] = {
    ONE_WAY: {"flow.back.traffic": "1 B"},
    BOTH_WAYS: {"flow.back.traffic": "bulk"},
}

# As printed, seconds: the modified one "behaves exactly like TCP Reno" at low speed; standard TCP
# "could not reach this size until 25 seconds" at high speed, which is no number.
PAPER: Mapping[tuple[str, str], tuple[float, float]] = {
    (LOW, "reno"): (0.4, 0.1),
    (LOW, "original"): (0.85, 0.01),
    (LOW, "modified"): (0.4, 0.1),
    (HIGH, "original"): (8.0, 1.0),
    (HIGH, "modified"): (4.0, 1.0),
}

# Its simulator lets packets leave at once, so that a run with one flow has no chance in it. Hosts
# do not, and chance of less than a packet's time tells what hangs on exact timing.
EXACT, ROUGH = "exact", "rough"
TIMING: Mapping[str, Settings] = {EXACT: {"flow.*.overhead": "0 s"}, ROUGH: {}}

# So short that a bin of the record tells tenths of the start; data both ways needs longer.
SHORT: Settings = {"duration": "5 s"}

# How far the modified start may be from standard TCP's to count as the same.
SAME = 0.02

WHY = (
    "50 packets are 6 ms at this rate, and no transit time is 10 ms above the least, which is the "
    "floor below which the average counts as low: so nothing is given up before a loss, and growth "
    "by up to half a window a round meets the queue. What comes of it hangs on single packets. "
    "With buffers of 100 packets, 12 ms, neither loses any, with either timing (sensitivity)."
)

SAID = (
    "The paper does not say which of the readings its numbers have.",
    "A window that was at its bound may be taken from it by a loss later.",
)

CHOSEN = (
    "Packets of 1500 B, with which the largest windows of Table 1 are what the path holds; three "
    "links of one rate and 10 ms each; buffers of 50 packets; an initial window of 2, and an "
    "acknowledgement for every packet.",
    '"Two-way TCP traffic" is run in both readings: data one way, and data both ways.',
    "The table of reactions, lost with Figure 1, is that of the thesis, as far as it is known; "
    "docs/controllers/synctcp.md has it, and every other choice about the controller.",
    "Packets leave their senders at once, as in its simulator where nothing is said (exact), or "
    "after a random time of up to that of one packet on the link (rough). With exact timing and "
    "data one way nothing is random, and all seeds are one run.",
    f"At low speed up to {SAME:.0%} more or less counts as the same.",
)


def _cases(_: bool, settings: Settings) -> list[Case]:
    cases = []
    for speed, most in BOUNDS.items():
        for way, traffic in TRAFFIC.items():
            path = {"link.*.rate": speed, "flow.*.max_window": most, **traffic}
            short = SHORT if (speed, way) == (LOW, ONE_WAY) else {}
            cases += [
                case("synctcp", FILE, [speed, way, timing, name], one, path, exact, short, settings)
                for timing, exact in TIMING.items()
                for name, one in CONTROLLERS.items()
            ]
    return cases


def _tables(found: Found) -> list[Table]:
    rows = [
        Row(
            label=f"{most} at {speed}, data {way}, {timing}",
            cells=[
                cell(
                    found.estimate((speed, way, timing, name), "by then"),
                    ".2f",
                    *PAPER.get((speed, name), ()),
                )
                for name in CONTROLLERS
            ],
        )
        for speed, most in BOUNDS.items()
        for way in TRAFFIC
        for timing in TIMING
    ]
    times = Table(
        title="Table 1, Figure 2: seconds until the window is at its bound, at most those of a run",
        parameter="packets",
        columns=list(CONTROLLERS),
        rows=rows,
        notes=[*never(found), *SAID],
    )
    columns = {"early losses": ".1f", "losses": ".1f", "timeouts": ".1f", "goodput": ".2f"}
    notes = [
        "Early losses are those before the window is at its bound, or in the whole run where it "
        "never is; goodput in Mbit/s."
    ]
    losses = sheet(found, "Losses of the start, and the goodput", "case", columns, notes)
    return [times, losses]


def never(found: Found) -> list[str]:
    """Say where the bound was not reached by every seed."""
    notes = []
    for key, runs in found.runs.items():
        there = len(found.values(key, "time"))
        if there < len(runs):
            notes.append(f"At its bound in {there} of {len(runs)} runs: {', '.join(key)}.")
    return notes


def _key(speed: str, timing: str, name: str) -> Key:
    return speed, ONE_WAY, timing, name


def _claims(found: Found) -> list[Claim]:
    slower, same, order, lossy, clean = [], [], [], [], []
    for timing in TIMING:
        low, high, lost = (
            {name: found.estimate(_key(speed, timing, name), number) for name in CONTROLLERS}
            for speed, number in ((LOW, "by then"), (HIGH, "by then"), (HIGH, "early losses"))
        )
        usual = found.mean(_key(LOW, timing, "reno"), "by then")
        slower.append(below(low["reno"], low["original"]))
        same.append(within(low["modified"], (1 - SAME) * usual, (1 + SAME) * usual))
        order.append(below(high["modified"], high["original"]))
        order.append(below(high["original"], high["reno"]))
        lossy.append(within(lost["original"], 0.5, math.inf))
        clean.append(within(lost["modified"], 0.0, 0.0))
    low_seen, high_seen, lost_seen = _seen(found, LOW), _seen(found, HIGH), _lost(found)
    return [
        Claim(
            text="at low speed the original is slower than standard TCP",
            verdict=judged(slower),
            seen=low_seen,
        ),
        Claim(
            text="at low speed the modified one is as fast as standard TCP",
            verdict=judged(same),
            seen=low_seen,
        ),
        Claim(
            text="at high speed the modified one is at its bound before the original, and that "
            "before standard TCP",
            verdict=judged(order),
            seen=high_seen,
            why=WHY,
        ),
        Claim(
            text="at high speed the original loses packets on its way",
            verdict=judged(lossy),
            seen=lost_seen,
        ),
        Claim(
            text="at high speed the modified one avoids the early losses",
            verdict=judged(clean),
            seen=lost_seen,
            why=WHY,
        ),
    ]


def _seen(found: Found, speed: str) -> str:
    times = "; ".join(
        ", ".join(
            f"{found.text(_key(speed, timing, name), 'by then', '.2f')} s for {name}"
            for name in CONTROLLERS
        )
        + f" with {timing} timing"
        for timing in TIMING
    )
    return f"With data one way {BOUNDS[speed]} packets are reached after {times}."


def _lost(found: Found) -> str:
    counts = "; ".join(
        ", ".join(
            f"{found.text(_key(HIGH, timing, name), 'early losses', '.1f')} for {name}"
            for name in CONTROLLERS
        )
        + f" with {timing} timing"
        for timing in TIMING
    )
    return f"Losses before the bound, a run: {counts}."


def _figures(found: Found) -> list[Figure]:
    from fairhaul.papers import figures
    from fairhaul.report import Figure, plots

    looks = figures.looks(list(CONTROLLERS))
    unit = "cwnd (packets)"
    drawn = []
    for name, speed, title in (
        ("figure2", HIGH, "Figure 2: the windows at 100 Mbit/s"),
        ("start-low", LOW, "The windows at 10 Mbit/s"),
    ):
        lanes = {f"{timing} timing": _together(found, speed, timing) for timing in TIMING}
        span = found.kept[_key(speed, EXACT, "reno")][0]
        printed = ", ".join(
            f"{PAPER[speed, name][0]:g} s for {name}"
            for name in CONTROLLERS
            if (speed, name) in PAPER
        )
        caption = f"One seed, the first; data one way. {_seen(found, speed)} The paper: {printed}."
        chart = plots.threads(looks, lanes, span, unit)
        drawn.append(Figure(name=name, title=title, caption=caption, chart=chart))
    return drawn


def _together(found: Found, speed: str, timing: str) -> list[dict[str, float]]:
    """Put the windows of the three controllers beside each other."""
    kept = [found.kept[_key(speed, timing, name)][1] for name in CONTROLLERS]
    return [
        {"t": each[0]["t"], **{f"v{i}": row["v0"] for i, row in enumerate(each)}}
        for each in zip(*kept, strict=True)
    ]


EXPERIMENT = Experiment(
    heading="The start",
    about="One flow over three links of 10 ms, with a window of at most what the path holds: how "
    "long the window takes to that bound, and what is lost on the way.",
    seeds=10,
    quick_seeds=3,
    cases=_cases,
    numbers=start_of,
    tables=_tables,
    figures=_figures,
    claims=_claims,
    keep=keep_window,
    chosen=CHOSEN,
)
