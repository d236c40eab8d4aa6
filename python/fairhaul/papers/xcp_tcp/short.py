"""Short transfers of TCP beside XCP [XCP-TCP, 5.3]: it "is mainly adapted for long-life flows"."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fairhaul.estimate import estimate
from fairhaul.papers.experiment import (
    Case,
    Claim,
    Experiment,
    Found,
    Settings,
    case,
    judged,
    sheet,
    within,
)
from fairhaul.papers.xcp_tcp.setting import ADAPTIVE, LITERAL, RTTS, router
from fairhaul.papers.xcp_tcp.shares import XCP, by_second

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairhaul.estimate import Estimate
    from fairhaul.papers import Table
    from fairhaul.record import Record
    from fairhaul.report import Figure

FILE, FLOW = "short.toml", "short"
FULL, QUICK = {"duration": "60 s"}, {"duration": "40 s"}
PLAIN = "no mechanism"
ROUTERS: Mapping[str, Settings] = {
    PLAIN: router("xcp"),
    LITERAL: router(),
    ADAPTIVE: router(rule=ADAPTIVE),
}
# A fifth of 100 Mbit/s is 2.5 MB/s.
SIZES: Mapping[str, str] = {"100 kB": "25 /s", "1 MB": "2.5 /s"}
# Transfers that begin later may have no time to end.
LEFT_S = 10.0

MEAN, MEDIAN, LONGEST = "mean s", "median s", "19 of 20 within s"
COLUMNS = {
    MEAN: ".3f",
    MEDIAN: ".3f",
    LONGEST: ".2f",
    "transfers": ".0f",
    "unfinished": ".1f",
    XCP: ".1f",
}

CHOSEN = (
    "Short transfers: the paper has no experiment. Three long flows of XCP, three of TCP, and "
    "transfers of 100 kB or 1 MB that come as a Poisson process with a fifth of the link in the "
    "mean.",
)


def _cases(quick: bool, settings: Settings) -> list[Case]:
    return [
        case(
            "xcp-tcp",
            FILE,
            (size, rtt, name),
            QUICK if quick else FULL,
            {"bottleneck.delay": RTTS[rtt], "flow.*.rtt": rtt},
            {"flow.short.traffic.size": size, "flow.short.traffic.rate": rate},
            queue,
            settings,
        )
        for size, rate in SIZES.items()
        for rtt in RTTS
        for name, queue in ROUTERS.items()
    ]


def _numbers(record: Record) -> dict[str, float | None]:
    import numpy as np
    import polars as pl

    scenario = record.meta["scenario"]
    warmup, end = scenario["warmup_s"], scenario["duration_s"]
    begun = record.transfer.filter(
        (pl.col("flow").cast(pl.String) == FLOW)
        & pl.col("start_s").is_between(warmup, end - LEFT_S)
    )
    took = (begun["end_s"] - begun["start_s"]).drop_nulls()
    found: dict[str, float | None] = {
        "transfers": float(begun.height),
        "unfinished": float(begun.height - took.len()),
        XCP: float(by_second(record)[XCP][int(warmup) :].mean()),
    }
    if took.len():
        times = took.to_numpy()
        found[MEAN] = float(times.mean())
        found[MEDIAN], found[LONGEST] = (float(np.quantile(times, part)) for part in (0.5, 0.95))
    return found


def _tables(found: Found) -> list[Table]:
    title = "Short transfers: seconds to the end, and XCP's share of the link, %"
    return [sheet(found, title, "size, round trip, router", COLUMNS)]


def _claims(found: Found) -> list[Claim]:
    pairs = [(size, rtt) for size in SIZES for rtt in RTTS]
    slower = [within(_longer(found, *pair), 1.0, math.inf) for pair in pairs]
    said = "; ".join(
        f"{size}, {rtt}: "
        + ", ".join(f"{found.text((size, rtt, name), MEAN, '.2f')} s {name}" for name in ROUTERS)
        for size, rtt in pairs
    )
    return [
        Claim(
            text="the mechanism is for flows of long life: short ones take longer with it",
            verdict=judged(slower),
            seen=f"{said}. Compared seed by seed, since the transfers of a seed are the same.",
            why="Without it long flows of TCP may fill the queue, in which short ones wait; how "
            "much of the difference is that is not settled here.",
        )
    ]


def _longer(found: Found, size: str, rtt: str) -> Estimate | None:
    """Estimate how much longer transfers take with the mechanism, as a factor, seed by seed."""
    pairs = found.pairs((size, rtt, PLAIN), (size, rtt, LITERAL), MEAN)
    factors = [with_it / plain for plain, with_it in pairs]
    return estimate(factors) if factors else None


def _figures(found: Found) -> list[Figure]:
    from fairhaul.papers import figures
    from fairhaul.report import Figure, plots

    rows = [
        figures.point(one, row=f"{size}, {rtt}", of=name)
        for size, rtt, name in found.runs
        if (one := found.estimate((size, rtt, name), MEAN)) is not None
    ]
    names = list(dict.fromkeys(row["row"] for row in rows))
    values = [row[end] for row in rows for end in ("mean", "low", "high")]
    x = plots.powers("Mean time of a transfer (s)", values)
    chart = plots.dots(figures.looks(list(ROUTERS)), rows, names, x)
    title = "How long short transfers take beside XCP"
    return [Figure(name="short", title=title, caption=figures.INTERVALS, chart=chart)]


EXPERIMENT = Experiment(
    heading="Short transfers",
    about="Short transfers of TCP that come at random beside three long flows of XCP and three "
    "of TCP, with the mechanism and without.",
    seeds=5,
    quick_seeds=2,
    cases=_cases,
    numbers=_numbers,
    tables=_tables,
    figures=_figures,
    claims=_claims,
    chosen=CHOSEN,
)
