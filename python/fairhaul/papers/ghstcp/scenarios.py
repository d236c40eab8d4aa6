"""Scenarios 1 and 2 [GHSTCP, test in the emulation network]: Flow-1 beside two of TCP Reno.

Flow-1 is TCP Reno, gHSTCP, HSTCP, or parallel TCP of 2 to 16 connections of Reno; the two Reno
connections of Flow-2 have socket buffers of 64 kB or 512 kB.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from fairhaul.measures import measure
from fairhaul.papers import payload
from fairhaul.papers.experiment import (
    Case,
    Claim,
    Experiment,
    Found,
    Lab,
    Settings,
    below,
    case,
    judged,
    sheet,
    within,
)

if TYPE_CHECKING:
    from fairhaul.papers.table import Table
    from fairhaul.record import Record
    from fairhaul.report import Figure

FILE = "scenarios.toml"
FULL, QUICK = {"duration": "330 s"}, {"duration": "90 s"}
# A run is as long as its scenario, and there are fourteen of each.
LAB = Lab(
    full={"profile": "linux", "duration": "40 s", "warmup": "10 s"},
    quick={"duration": "8 s", "warmup": "3 s"},
    why=(
        "the simulator fills a socket buffer at the instant at which a third of it is free, and a "
        "real application does it a little later: with 64 kB over an empty link of 100 ms 41 "
        "packets leave in a round trip, where the simulator says 40.",
    ),
)

RENO, GHSTCP, HSTCP = "Reno", "gHSTCP", "HSTCP"
CONNECTIONS = (2, 4, 8, 16)
PARALLEL = tuple(f"{n} x Reno" for n in CONNECTIONS)
SINGLE: dict[str, Settings] = {
    RENO: {"flow.flow1.controller": "reno"},
    GHSTCP: {"flow.flow1.controller": "ghstcp"},
    # By the formulas in both engines, with the defaults of Linux too.
    HSTCP: {"flow.flow1.controller": {"kind": "highspeed", "growth": "formula"}},
}
FLOW_1: dict[str, Settings] = SINGLE | {
    name: {"flow.flow1.controller": "reno", "flow.flow1.connections": n}
    for name, n in zip(PARALLEL, CONNECTIONS, strict=True)
}
SMALL, LARGE = "64 kB", "512 kB"
SOCKETS = (SMALL, LARGE)

FIRST, SECOND, USED = "Flow-1 Mbit/s", "each of Flow-2 Mbit/s", "link used %"
JAIN, DUE, BOTH = "Jain's index", "of max-min share", "used x Jain"

CHOSEN = (
    "Scenarios: 23 ms are one way; packets of 1500 bytes; parallel TCP of 2, 4, 8 and 16 "
    "connections of Reno that share one transfer; Flow-1 has no bound of its own; 300 s are "
    "measured after 30 s, beside the lab 30 s after 10 s.",
    "Scenarios: Jain's index is over three parties, Flow-1's transfer and the two Reno flows. The "
    "other index is of goodput over the max-min fair share, which allows for the Reno flows whose "
    "socket buffers of 64 kB let through 11 Mbit/s at most.",
    "Scenarios: the best trade-off is the highest product of utilisation and Jain's index; the "
    "paper does not say how it weighs them.",
)


def _cases(rate: str, buffer: str, quick: bool, settings: Settings) -> list[Case]:
    link = {"bottleneck.rate": rate, "bottleneck.queue.capacity": buffer}
    return [
        case(
            "ghstcp",
            FILE,
            [socket, name],
            QUICK if quick else FULL,
            link,
            flow,
            {"flow.flow2.send_buffer": socket},
            settings,
        )
        for socket in SOCKETS
        for name, flow in FLOW_1.items()
    ]


def _numbers(record: Record) -> dict[str, float | None]:
    measures: Any = measure(record)
    worth = payload.alike(record) / 1e6
    parties: dict[str, float] = {}
    for flow in measures["flows"]:
        parties[flow["group"]] = parties.get(flow["group"], 0.0) + worth * flow["goodput_bps"]
    first, *rest = parties.values()
    used, fair = 100 * measures["links"][0]["utilization"], measures["fairness"]
    return {
        FIRST: first,
        SECOND: sum(rest) / len(rest),
        USED: used,
        JAIN: fair["jain"],
        DUE: fair["entitlement"],
        BOTH: used / 100 * fair["jain"],
    }


def _tables(title: str, found: Found) -> list[Table]:
    columns = {FIRST: ".1f", SECOND: ".1f", USED: ".2f", JAIN: ".3f", DUE: ".3f", BOTH: ".3f"}
    return [sheet(found, f"{title}: Flow-1 beside two of TCP Reno", "sockets, Flow-1", columns)]


def _more(found: Found, one: str, others: Sequence[str], number: str) -> list[bool | None]:
    return [found.above((LARGE, one), (LARGE, other), number) for other in others]


def _fewer(found: Found, ones: Sequence[str], others: Sequence[str]) -> list[bool | None]:
    """Whether each of `ones` has less of Jain's index than each of `others`."""
    fair = {name: found.estimate((LARGE, name), JAIN) for name in FLOW_1}
    return [below(fair[one], fair[other]) for one in ones for other in others]


def _said(found: Found, number: str, form: str) -> str:
    return ", ".join(f"{found.text((LARGE, name), number, form)} {name}" for name in FLOW_1)


def _claims_1(found: Found) -> list[Claim]:
    high = [within(found.estimate((LARGE, name), USED), 90, 100) for name in FLOW_1]
    better = [*_more(found, GHSTCP, [HSTCP], USED), *_more(found, GHSTCP, [HSTCP], JAIN)]
    return [
        Claim(
            text="with sockets of 512 kB every utilisation is above 90 %",
            verdict=judged(high),
            seen=f"{_said(found, USED, '.1f')} %.",
        ),
        Claim(
            text="fairness is very poor with parallel TCP",
            verdict=judged(_fewer(found, PARALLEL, list(SINGLE))),
            seen=f"Jain's index: {_said(found, JAIN, '.3f')}. It counts as very poor where it is "
            "below that of every single connection.",
            why="It depends on how many connections there are, which the paper does not say.",
        ),
        Claim(
            text="gHSTCP is better than HSTCP in utilisation and in fairness",
            verdict=judged(better),
            seen="By the same figures.",
            why="HSTCP gives up less at a loss and is soon back, so that it uses no less.",
        ),
    ]


def _claims_2(found: Found) -> list[Claim]:
    most = [part for name in PARALLEL for part in _more(found, name, list(SINGLE), USED)]
    rivals = [name for name in FLOW_1 if name != GHSTCP]
    singles = [RENO, HSTCP]
    better = [*_more(found, GHSTCP, singles, USED), *_more(found, GHSTCP, singles, JAIN)]
    return [
        Claim(
            text="parallel TCP has the best utilisation and the worst fairness",
            verdict=judged([*most, *_fewer(found, PARALLEL, list(SINGLE))]),
            seen=f"With sockets of 512 kB the link is used to {_said(found, USED, '.1f')} %; "
            f"Jain's index: {_said(found, JAIN, '.3f')}.",
            why="It depends on how many connections there are, which the paper does not say.",
        ),
        Claim(
            text="gHSTCP has higher utilisation and better fairness than Reno and HSTCP",
            verdict=judged(better),
            seen="By the same figures.",
            why="Reno beside Reno is as fair as can be, and HSTCP uses as much.",
        ),
        Claim(
            text="gHSTCP is the best trade-off of utilisation and fairness",
            verdict=judged(_more(found, GHSTCP, rivals, BOTH)),
            seen=f"Utilisation times Jain's index: {_said(found, BOTH, '.3f')}.",
            why="Where Reno uses nearly all of the link, its fairness decides.",
        ),
    ]


def _figures(name: str, title: str, found: Found) -> list[Figure]:
    from fairhaul.papers import figures
    from fairhaul.report import Figure, plots

    cases = {key: f"{key[1]} ({key[0]})" for key in found.runs}
    panels = []
    for number in (JAIN, DUE, USED):
        rows = [
            figures.point(one, row=label)
            for key, label in cases.items()
            if (one := found.estimate(key, number)) is not None
        ]
        ends = [row[end] for row in rows for end in ("mean", "low", "high")]
        low, high = plots.ends(ends, most=100.0 if number == USED else 1.0)
        panels.append(plots.Panel(scale=plots.Scale(title=number, low=low, high=high), rows=rows))
    caption = (
        f"Flow-1 and, in brackets, the socket buffers of the two Reno flows beside it. "
        f"With 512 kB, Jain's index: {_said(found, JAIN, '.3f')}. {figures.INTERVALS}"
    )
    chart = plots.panels(list(cases.values()), panels)
    return [Figure(name=name, title=title, caption=caption, chart=chart)]


def _overlay(name: str, title: str, engines: Mapping[str, Found]) -> list[Figure]:
    from fairhaul.papers import figures
    from fairhaul.report import Figure, plots

    cases = {key: f"{key[1]} ({key[0]})" for key in next(iter(engines.values())).runs}

    def figure(word: str, number: str) -> Figure:
        found = [
            one for each in engines.values() for key in cases if (one := each.estimate(key, number))
        ]
        ends = [end for one in found for end in (one.mean, one.low, one.high)]
        low, high = plots.ends(ends, most=100.0 if number == USED else 1.0)
        x = plots.Scale(title=number, low=low, high=high)
        return Figure(
            name=f"{name}-{word}",
            title=f"{title}: {number}",
            caption="Flow-1 and, in brackets, the socket buffers of the two Reno flows beside it. "
            + figures.INTERVALS,
            chart=figures.engines(engines, cases, number, x),
        )

    words = {"jain": JAIN, "due": DUE, "used": USED}
    return [figure(word, number) for word, number in words.items()]


def _experiment(
    name: str, rate: str, buffer: str, claims: Callable[[Found], Sequence[Claim]]
) -> Experiment:
    title = f"Scenario {name[-1]}"
    return Experiment(
        heading=f"{title}: {rate}",
        about=f"{rate}, 23 ms, a buffer of {buffer}; Flow-1 is one protocol or another, and two "
        "flows of TCP Reno are beside it.",
        seeds=5,
        quick_seeds=3,
        cases=partial(_cases, rate, buffer),
        numbers=_numbers,
        tables=partial(_tables, title),
        figures=partial(_figures, name, title),
        claims=claims,
        chosen=CHOSEN if name == "scenario1" else (),
        lab=LAB,
        overlay=partial(_overlay, name, title),
    )


SCENARIO_1 = _experiment("scenario1", "100 Mbit/s", "200 kB", _claims_1)
SCENARIO_2 = _experiment("scenario2", "200 Mbit/s", "500 kB", _claims_2)
