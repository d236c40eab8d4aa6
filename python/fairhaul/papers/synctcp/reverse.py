"""One-way times against round trips [SYNC-TCP, 2]: what a crowded way back does to controllers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairhaul.measures import series
from fairhaul.papers import Row, Table
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
    sheet,
)
from fairhaul.papers.synctcp.flow import reached

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairhaul.record import Record
    from fairhaul.report import Figure

FILE = "reverse.toml"
QUICK: Settings = {"duration": "120 s", "warmup": "60 s"}
OURS = "synctcp"
# Round trips bound the windows of some, and slow the growth of another.
BOUNDED, SLOWED = ("vegas", "fast"), "ghstcp"
CONTROLLERS = (OURS, SLOWED, *BOUNDED, "reno")

# A rate so small that a datagram comes every eight seconds stands for none.
NO_DATAGRAMS: Settings = {"flow.datagrams.traffic.rate": "1 kbit/s"}
NO_TCP: Settings = {"flow.tcp.traffic": "1 B"}
FREE, DATAGRAMS, TCP = "free", "datagrams", "4 flows of TCP"
WAYS: Mapping[str, Settings] = {
    FREE: {**NO_DATAGRAMS, **NO_TCP},
    DATAGRAMS: NO_TCP,
    TCP: NO_DATAGRAMS,
}

# The part of its window that a controller has to keep to count as unmoved.
KEPT = 0.95

CHOSEN = (
    "One-way times: 100 Mbit/s, 60 ms, a buffer of 80 ms each way, a window of at most 700 of the "
    "750 packets of the path, slow start up to 100, and a way back that is free, filled by "
    "datagrams, or by four flows of standard TCP.",
    f"One-way times: a mean window of {KEPT:.0%} or more of that with a free way back counts as "
    "unmoved; so does growth to the bound in as many rounds, or up to as much more.",
)


def _cases(quick: bool, settings: Settings) -> list[Case]:
    short = QUICK if quick else {}
    return [
        case("synctcp", FILE, [way, name], short, {"flow.F.controller": name}, back, settings)
        for way, back in WAYS.items()
        for name in CONTROLLERS
    ]


def _numbers(record: Record) -> dict[str, float | None]:
    import numpy as np

    scenario = record.meta["scenario"]
    rows = series(record.flow_series, len(scenario["flows"]), scenario)
    samples = rows.columns["rtt_samples"][0]
    means = {
        name: float(np.nansum(rows.columns[column][0] * samples) / samples.sum() * 1e3)
        for name, column in (("round trip", "rtt_s"), ("one way", "one_way_s"))
    }
    there = reached(record, scenario["flows"][0]["max_window"])
    payload = rows.total("goodput_bytes")[0] * 8e-6 / rows.lengths_s.sum()
    return {
        **means,
        "window": float(rows.mean("cwnd_packets")[0]),
        "goodput": float(payload),
        "rounds": None if there is None else _rounds(record, there),
    }


def _rounds(record: Record, until_s: float) -> float:
    """How many round trips F has had up to a time: bins over their mean round trips."""
    import numpy as np

    scenario = record.meta["scenario"]
    rows = series(record.flow_series, len(scenario["flows"]), {**scenario, "warmup_s": 0.0})
    before = (rows.starts_s < until_s) & (rows.columns["rtt_samples"][0] > 0)
    return float(np.sum(rows.lengths_s[before] / rows.columns["rtt_s"][0][before]))


def _tables(found: Found) -> list[Table]:
    windows = Table(
        title="One-way times: mean window in packets by what fills the way back",
        parameter="controller",
        columns=list(WAYS),
        rows=[
            Row(
                label=name,
                cells=[cell(found.estimate((way, name), "window"), ".0f") for way in WAYS],
            )
            for name in CONTROLLERS
        ],
        notes=[
            "Standard TCP reads no delay: what it loses here it loses to the longer round trip, "
            "which is its clock, if anything."
        ],
    )
    columns = dict.fromkeys(("round trip", "one way", "window", "goodput", "rounds"), ".1f")
    title = "One-way times: delays in ms, window in packets, goodput in Mbit/s, rounds to the bound"
    return [windows, sheet(found, title, "way back, controller", columns)]


def _claims(found: Found) -> list[Claim]:
    def smaller(way: str, name: str) -> bool | None:
        crowded, free = (found.estimate((one, name), "window") for one in (way, FREE))
        return below(crowded, free, factor=KEPT)

    crowded = (DATAGRAMS, TCP)
    rounds = {way: found.estimate((way, SLOWED), "rounds") for way in WAYS}
    slower = [below(rounds[FREE], rounds[way], factor=KEPT) for way in crowded]
    moved = [smaller(way, OURS) for way in crowded]
    return [
        Claim(
            text="one-way times are not moved by what is on the way back",
            verdict=judged([None if one is None else not one for one in moved]),
            seen=_seen(found, OURS),
            why="Acknowledgements that waited behind data come back in bursts, and let the flow's "
            "own data go in bursts, which wait for each other on their way out: that queue is "
            "real, and one-way times see it.",
        ),
        Claim(
            text="round trips do not tell which way is crowded",
            verdict=judged([*slower, *(smaller(way, name) for way in crowded for name in BOUNDED)]),
            seen=f"{' '.join(_seen(found, name) for name in BOUNDED)} {_slowed(found)}",
        ),
    ]


def _seen(found: Found, name: str) -> str:
    free, datagrams, tcp = (found.text((way, name), "window", ".0f") for way in WAYS)
    return (
        f"{name}: {free} packets with a free way back, {datagrams} with datagrams on it, {tcp} "
        "with TCP."
    )


def _slowed(found: Found) -> str:
    free, datagrams, tcp = (found.text((way, SLOWED), "rounds", ".0f") for way in WAYS)
    return (
        f"{SLOWED}, which takes the crowd for its own and grows as standard TCP: {free} rounds to "
        f"the bound with a free way back, {datagrams} with datagrams, {tcp} with TCP."
    )


def _figures(found: Found) -> list[Figure]:
    from fairhaul.papers import figures
    from fairhaul.report import Figure, plots

    rows = [
        figures.point(one, row=name, of=way)
        for name in CONTROLLERS
        for way in WAYS
        if (one := found.estimate((way, name), "window")) is not None
    ]
    x = plots.Scale(title="Mean window (packets)", low=0, high=760)
    chart = plots.dots(figures.looks(list(WAYS)), rows, list(CONTROLLERS), x)
    caption = f"{_seen(found, OURS)} The bound is 700 packets. {figures.INTERVALS}"
    title = "Windows by what fills the way back"
    return [Figure(name="reverse", title=title, caption=caption, chart=chart)]


EXPERIMENT = Experiment(
    heading="One-way times against round trips",
    about="A flow whose own way is free, and a way back that is free or crowded: controllers that "
    "read one-way times, round trips, or nothing of the kind.",
    seeds=5,
    quick_seeds=2,
    cases=_cases,
    numbers=_numbers,
    tables=_tables,
    figures=_figures,
    claims=_claims,
    chosen=CHOSEN,
)
