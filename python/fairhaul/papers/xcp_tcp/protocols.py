"""Other protocols than NewReno beside XCP [XCP-TCP, 4.2], for which it may have other values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairhaul.papers import Row, Table
from fairhaul.papers.experiment import (
    Case,
    Claim,
    Experiment,
    Found,
    Settings,
    below,
    cell,
    judged,
)
from fairhaul.papers.xcp_tcp.setting import (
    ADAPTIVE,
    LITERAL,
    RTTS,
    TEN_TCP,
    TWO_TCP,
    mixed,
    router,
)
from fairhaul.papers.xcp_tcp.shares import XCP, numbers, phases

if TYPE_CHECKING:
    from fairhaul.papers.experiment import Key
    from fairhaul.report import Figure

RENO = "reno"
OTHERS = ("highspeed", "bic", "cubic", "bbr")
PROTOCOLS = (RENO, *OTHERS)
RULES = (LITERAL, ADAPTIVE)
USED = (TWO_TCP, TEN_TCP)

CHOSEN = (
    "Protocols: the flows of Figures 2 and 3; all senders in the place of TCP recover with SACK, "
    "so that only the controller differs.",
    "Protocols: the adaptive rule is ours. It drops what would slow NewReno down by what is too "
    "much in four round trips, and more the longer the flows had too much.",
)


def _cases(_: bool, settings: Settings) -> list[Case]:
    return [
        mixed(
            mix,
            rtt,
            (mix, name, rule, rtt),
            router(rule=rule),
            {"flow.tcp*.controller": name, "flow.tcp*.recovery": "sack"},
            settings,
        )
        for mix in USED
        for name in PROTOCOLS
        for rule in RULES
        for rtt in RTTS
    ]


def _tables(found: Found) -> list[Table]:
    return [_table(found, mix) for mix in USED]


def _table(found: Found, mix: str) -> Table:
    ways = [(rule, rtt) for rtt in RTTS for rule in RULES]
    last = found.kept[mix, RENO, LITERAL, next(iter(RTTS))][-1]
    return Table(
        title=f"Protocols, {mix}: XCP's share of the link, %; XCP is due {last.due(XCP):.1f}",
        parameter="in the place of TCP",
        columns=[f"{rtt}, {rule}" for rule, rtt in ways],
        rows=[
            Row(
                label=name,
                cells=[
                    cell(found.estimate((mix, name, rule, rtt), XCP), ".1f") for rule, rtt in ways
                ],
            )
            for name in PROTOCOLS
        ],
    )


def _claims(found: Found) -> list[Claim]:
    def off(key: Key) -> str:
        return found.text(key, "off", ".1f")

    worse = [
        below(
            found.estimate((mix, RENO, LITERAL, rtt), "off"),
            found.estimate((mix, name, LITERAL, rtt), "off"),
        )
        for mix in USED
        for rtt in RTTS
        for name in OTHERS
    ]
    said = "; ".join(
        f"{mix}, {rtt}: "
        + ", ".join(f"{off((mix, name, LITERAL, rtt))} with {name}" for name in PROTOCOLS)
        for mix in USED
        for rtt in RTTS
    )
    return [
        Claim(
            text="other protocols than NewReno need other values of the mechanism",
            verdict=judged(worse),
            seen="With its values, XCP's 10 s means are off what is due by, in points of the "
            f"link, {said}.",
            why="Values that are made for NewReno suit what loses its ground to a loss as soon, "
            "and is as slow to regain it.",
        )
    ]


def _figures(found: Found) -> list[Figure]:
    from fairhaul.papers import figures
    from fairhaul.report import Figure, plots

    drawn = []
    for mix, file in zip(USED, ("protocols-two", "protocols-ten"), strict=True):
        looks = [f"{rule}, {rtt}" for rtt in RTTS for rule in RULES]
        rows = [
            figures.point(one, row=name, of=f"{rule}, {rtt}")
            for name in PROTOCOLS
            for rtt in RTTS
            for rule in RULES
            if (one := found.estimate((mix, name, rule, rtt), XCP)) is not None
        ]
        share = found.kept[mix, RENO, LITERAL, next(iter(RTTS))][-1].due(XCP)
        x = plots.Scale(title="XCP's share of the link (%)", low=0, high=100)
        chart = plots.dots(figures.looks(looks), rows, list(PROTOCOLS), x)
        caption = f"{share:.1f} % are due to XCP. {figures.INTERVALS}"
        title = f"XCP beside each protocol: {mix}"
        drawn.append(Figure(name=file, title=title, caption=caption, chart=chart))
    return drawn


EXPERIMENT = Experiment(
    heading="Other protocols in the place of TCP",
    about="The flows of Figures 2 and 3 with other controllers than NewReno, under the mechanism "
    "as published and under an adaptive rule, which learns how much loss the flows need.",
    seeds=3,
    quick_seeds=1,
    cases=_cases,
    numbers=numbers,
    tables=_tables,
    figures=_figures,
    claims=_claims,
    keep=phases,
    chosen=CHOSEN,
)
