"""Below the bandwidth-delay product: how soon one flow fills the link [GHSTCP, result]."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairhaul.measures import measure
from fairhaul.papers import filling
from fairhaul.papers.experiment import (
    Case,
    Claim,
    Experiment,
    Found,
    Settings,
    below,
    case,
    judged,
    sheet,
)
from fairhaul.papers.ghstcp.setting import DATA_LINK, HELD, MUCH, NONE, SWINGS, VARIANTS
from fairhaul.papers.ghstcp.switching import high_speed

if TYPE_CHECKING:
    from fairhaul.papers.table import Table
    from fairhaul.record import Record
    from fairhaul.report import Figure

FILE = "alone.toml"
LENGTH = {"duration": "60 s", "warmup": "0 s"}
QUICK = {"duration": "30 s"}

# Of Scenario 1 and 2, and one at which HSTCP's growth is far from Reno's; the buffer of the last is
# 0.35 of the bandwidth-delay product, as that of the first.
RATES: dict[str, Settings] = {
    "100 Mbit/s": {},
    "200 Mbit/s": {"bottleneck.rate": "200 Mbit/s", "bottleneck.queue.capacity": "500 kB"},
    "1 Gbit/s": {"bottleneck.rate": "1 Gbit/s", "bottleneck.queue.capacity": "2 MB"},
}
HSTCP, RENO = "HSTCP", "Reno"
OURS = {f"gHSTCP {name}": kind for name, kind in VARIANTS.items()}
REFINED = "gHSTCP refined"
RIVALS: dict[str, object] = {HSTCP: "highspeed", **OURS, RENO: "reno"}
SWINGING = (NONE, MUCH, HELD)
FILL, HIGH = "time to fill", "in HSTCP mode until then %"

# How many times as long still counts as quick as HSTCP; the paper has no number.
SLOWER = 1.1

CHOSEN = (
    "Filling: slow start ends at 100 packets, so that the controller and not slow start fills the "
    "link; that is filled when 90 % busy for 1 s.",
    f"Filling: {SLOWER:g} times as long as HSTCP counts as quickly.",
)


def _cases(quick: bool, settings: Settings) -> list[Case]:
    return [
        case(
            "ghstcp",
            FILE,
            [rate, swing, name],
            LENGTH,
            QUICK if quick else {},
            RATES[rate],
            SWINGS[swing],
            {"flow.one.controller": kind},
            settings,
        )
        for rate in RATES
        for swing in SWINGING
        for name, kind in RIVALS.items()
    ]


def _numbers(record: Record) -> dict[str, float | None]:
    filled = filling.time_to_fill(record, DATA_LINK)
    modes = "mode_changes_per_s" in measure(record)["flows"][0]
    high = 100 * high_speed(record, [0.0, filled])[0] if modes and filled else None
    return {FILL: filled, HIGH: high}


def _tables(found: Found) -> list[Table]:
    note = "A dash: not within the run."
    title = "Filling: seconds until one flow fills the link"
    return [sheet(found, title, "rate, swing, flow", {FILL: ".2f", HIGH: ".0f"}, [note])]


def _claims(found: Found) -> list[Claim]:
    parts = [
        below(
            found.estimate((rate, swing, REFINED), FILL),
            found.estimate((rate, swing, HSTCP), FILL),
            factor=SLOWER,
        )
        for rate in RATES
        for swing in SWINGING
    ]
    return [
        Claim(
            text="below the bandwidth-delay product it takes the link as quickly as HSTCP",
            verdict=judged(parts),
            seen=f"Seconds to fill the link with {MUCH}: {_seen(found, MUCH)}; with {HELD}: "
            f"{_seen(found, HELD)}.",
            why="An acknowledgement that is held for 40 ms lifts the mean of its round above the "
            "thresholds, which the fastest round sets: the flow is in Reno's mode for a while.",
        )
    ]


def _seen(found: Found, swing: str) -> str:
    return "; ".join(
        f"at {rate} "
        + ", ".join(f"{found.text((rate, swing, name), FILL, '.1f')} {name}" for name in RIVALS)
        for rate in RATES
    )


def _figures(found: Found) -> list[Figure]:
    from fairhaul.papers import figures
    from fairhaul.report import Figure, plots

    looks = figures.looks(list(RIVALS))
    names = [f"{rate}, {swing}" for rate in RATES for swing in SWINGING]
    rows = [
        row | {"row": f"{rate}, {swing}"}
        for rate in RATES
        for swing in SWINGING
        for look in looks
        for row in figures.dots(found, {(rate, swing, look.label): ""}, {look.label: FILL})
    ]
    _, high = plots.ends([row["mean"] for row in rows])
    caption = (
        f"Seconds until one flow has filled the link for the first time; none where it did not. "
        f"{figures.INTERVALS}"
    )
    x = plots.Scale(title="Time to fill (s)", low=0, high=high)
    chart = plots.dots(looks, rows, names, x)
    return [Figure(name="filling", title="Time to fill the link", caption=caption, chart=chart)]


EXPERIMENT = Experiment(
    heading="Below the bandwidth-delay product",
    about="One flow alone, from a window of 100 packets on: how soon it fills the link.",
    seeds=5,
    quick_seeds=2,
    cases=_cases,
    numbers=_numbers,
    tables=_tables,
    figures=_figures,
    claims=_claims,
    chosen=CHOSEN,
)
