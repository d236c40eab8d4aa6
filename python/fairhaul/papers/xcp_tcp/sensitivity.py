"""How far the shares hang on what the paper leaves out, one thing changed at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairhaul.papers import Row, Table
from fairhaul.papers.experiment import Case, Experiment, Found, Settings, cell
from fairhaul.papers.xcp_tcp.setting import RATE, RTTS, TEN_TCP, TWO_TCP, mixed, router
from fairhaul.papers.xcp_tcp.shares import XCP, numbers, phases

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairhaul.papers.experiment import Key
    from fairhaul.report import Figure

BASE, FAST = "as in the figures", "1 Gbit/s"
VARIANTS: Mapping[str, Settings] = {
    BASE: router(),
    "20 Mbit/s": router(),
    FAST: router(),
    "buffer of 100 ms": router(capacity="100 ms"),
    "p moves each 10 ms": router(period=10),
    "match within 0.5 %": router(tolerance=0.005),
    "match within 5 %": router(tolerance=0.05),
    "flows counted exactly": router(counter="exact"),
    "flows counted by NRED": router(counter="nred"),
    "list filled first": router(fill="literal"),
    "average from zero": router(start="literal"),
    "TCP with SACK": {**router(), "flow.tcp*.recovery": "sack"},
}
RATES = {"20 Mbit/s": "20 Mbit/s", FAST: FAST}
USED = (TWO_TCP, TEN_TCP)
# XCP's number, and how soon the first of XCP has its share among ten of TCP.
COLUMNS = {XCP: ".1f", "off": ".1f", "used": ".1f", "there from 10": ".0f"}

CHOSEN = (
    "Sensitivity: the flows of Figures 2 and 3, one thing changed at a time; at 20 ms a buffer "
    "of 100 ms holds five times the path.",
)


def _cases(quick: bool, settings: Settings) -> list[Case]:
    return [
        mixed(mix, rtt, (mix, rtt, name), one, settings, rate=RATES.get(name, RATE))
        for mix in USED
        for rtt in RTTS
        for name, one in VARIANTS.items()
        if not (quick and name == FAST)
    ]


def _names(found: Found) -> list[str]:
    return list(dict.fromkeys(name for _, _, name in found.runs))


def _tables(found: Found) -> list[Table]:
    return [_table(found, mix) for mix in USED]


def _table(found: Found, mix: str) -> Table:
    last = found.kept[mix, next(iter(RTTS)), BASE][-1]
    said = ("XCP", "off by", "all", "there, s")
    return Table(
        title=f"Sensitivity, {mix}: XCP's share of the link, where {last.due(XCP):.1f} % are due",
        parameter="variant",
        columns=[f"{rtt}: {word}" for rtt in RTTS for word in said],
        rows=[
            Row(
                label=name,
                cells=[
                    cell(found.estimate((mix, rtt, name), number), form)
                    for rtt in RTTS
                    for number, form in COLUMNS.items()
                ],
            )
            for name in _names(found)
        ],
        notes=[
            "Off by: the mean distance of XCP's 10 s means from what is due. There: how long "
            "after 10 s the class that arrives then takes to what is due to it; a mean over the "
            "seeds in which it does."
        ],
    )


def _figures(found: Found) -> list[Figure]:
    from fairhaul.papers import figures
    from fairhaul.report import Figure, plots

    drawn = []
    for mix, file in zip(USED, ("sensitivity-two", "sensitivity-ten"), strict=True):
        rows = []
        for rtt in RTTS:
            keys: dict[Key, str] = {(mix, rtt, name): name for name in _names(found)}
            rows += figures.dots(found, keys, {rtt: XCP})
        share = found.kept[mix, next(iter(RTTS)), BASE][-1].due(XCP)
        x = plots.Scale(title="XCP's share of the link (%)", low=0, high=100)
        chart = plots.dots(figures.looks(list(RTTS)), rows, _names(found), x)
        caption = (
            f"{share:.1f} % are due to XCP. One thing is changed at a time. {figures.INTERVALS}"
        )
        title = f"What XCP's share hangs on: {mix}"
        drawn.append(Figure(name=file, title=title, caption=caption, chart=chart))
    return drawn


EXPERIMENT = Experiment(
    heading="What the shares hang on",
    about="The flows of Figures 2 and 3 with one thing changed: the rate, the buffer, how often p "
    "moves, what counts as a match, how flows are counted, how TCP recovers.",
    seeds=3,
    quick_seeds=1,
    cases=_cases,
    numbers=numbers,
    tables=_tables,
    figures=_figures,
    keep=phases,
    chosen=CHOSEN,
)
