"""Figures 1 to 5 [XCP-TCP, 2, 5, 6]: who has how much of the link over time, and what is due."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairhaul.estimate import Estimate, estimate
from fairhaul.papers import Cell, Row, Table
from fairhaul.papers.experiment import (
    Case,
    Claim,
    Experiment,
    Found,
    Settings,
    below,
    cell,
    judged,
    within,
)
from fairhaul.papers.xcp_tcp.drawing import draw
from fairhaul.papers.xcp_tcp.setting import (
    FAR,
    NEAR,
    RATE,
    RTTS,
    TEN_TCP,
    TEN_XCP,
    TWO_TCP,
    mixed,
    router,
)
from fairhaul.papers.xcp_tcp.shares import CLASSES, LATE_S, TCP, XCP, numbers, phases

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairhaul.papers.experiment import Key
    from fairhaul.papers.xcp_tcp.shares import Phase
    from fairhaul.report import Figure

SLOW, FAST = "20 Mbit/s", "1 Gbit/s"
FIG_1, FIG_2, FIG_3, FIG_4 = (f"Figure {number}" for number in range(1, 5))
CAPTION_5, TEXT_5 = "Figure 5, caption", "Figure 5, text"
FIGURES: Mapping[str, tuple[str, Settings]] = {
    FIG_1: (TWO_TCP, router("xcp")),
    FIG_2: (TWO_TCP, router()),
    FIG_3: (TEN_TCP, router()),
    FIG_4: (TEN_XCP, router()),
    CAPTION_5: (TEN_XCP, router(inspect=0.5)),
    TEXT_5: (TEN_TCP, router(inspect=0.5)),
}

# "Can not obtain any resources": at most so much of the link, %, where a third is due.
STARVED = 20.0
# Near what is due, of that; and well below it.
NEARLY, WELL_BELOW = (0.75, 1.25), 0.75
# "Does not alter significantly": so little of the link, in points.
THE_SAME = 5.0

CHOSEN = (
    "All: a link of 100 Mbit/s, packets of 1000 B, one queue for all that holds one "
    "bandwidth-delay product of the round trip of each experiment, access links ten times as "
    "fast, starts spread over a second, NewReno with a timer of at least 1 s, 120 s.",
    "The mechanism: p moves once in a control interval of XCP, from the rate of TCP that was let "
    "in; a rate within 2 % of the link from its share matches it; p is 0.1 at most; nothing is "
    "dropped while TCP is not above its share; the list of flows is compared from the second "
    "packet on, and its average starts without bias.",
    "A share is throughput with headers over the rate of the link. What counts as settled is the "
    "last phase without its first 10 s, in which slow start ends. A class that arrives has its "
    "share once means over 5 s are within a tenth of it, or 2 % of the link, for 10 s.",
    "Figure 5 is run by its caption, TCP among ten of XCP, and by the text, which holds it "
    "against Figure 3, XCP among ten of TCP.",
)


def _cases(quick: bool, settings: Settings) -> list[Case]:
    cases = []
    for name, (mix, queue) in FIGURES.items():
        rates = [RATE] if name != FIG_1 else [SLOW, RATE] if quick else [SLOW, RATE, FAST]
        cases += [
            mixed(mix, rtt, (name, rate, rtt), queue, settings, rate=rate)
            for rate in rates
            for rtt in RTTS
        ]
    return cases


def _label(key: Key) -> str:
    name, rate, rtt = key
    figure, _, which = name.partition(", ")
    letter = "ab"[list(RTTS).index(rtt)] if figure != FIG_1 else ""
    words = [f"{figure}{letter}", *([which] if which else []), *([rate] if rate != RATE else [])]
    return ", ".join([*words, rtt])


def _tables(found: Found) -> list[Table]:
    return [_over_time(found), _law(found), _settled(found)]


def _over_time(found: Found) -> Table:
    """Lay out every phase of every figure in which both classes are there."""
    rows = []
    for key, when in found.kept.items():
        for phase in when[1:]:
            label = f"{_label(key)}, {phase}"
            rows.append(Row(label=label, cells=_phase(found, key, phase)))
    return Table(
        title="Figures: shares of the link between arrivals, %, and seconds",
        parameter="figure, round trip, phase",
        columns=[
            *(what for who in CLASSES for what in (f"{who} due", who)),
            "there, s",
            *(f"{who} low, s" for who in CLASSES),
        ],
        rows=rows,
        notes=[
            "The first 10 s of each phase are left out of the shares, in which slow start ends. "
            "There: how long the class that arrives takes to its share, a mean over the "
            "seeds in which it does. Low: seconds of the phase in which a class has less "
            "than half of what is due to it.",
        ],
    )


def _phase(found: Found, key: Key, phase: Phase) -> list[Cell]:
    start = phase.start_s
    shares = [
        one
        for who in CLASSES
        for one in (due(phase, who), cell(found.estimate(key, f"{who} from {start}"), ".1f"))
    ]
    low = [cell(found.estimate(key, f"{who} below half from {start}"), ".0f") for who in CLASSES]
    return [*shares, cell(found.estimate(key, f"there from {start}"), ".0f"), *low]


def due(phase: Phase, who: str) -> Cell:
    """Give what is due to a class as a cell."""
    return cell(Estimate(mean=phase.due(who), low=None, high=None), ".1f")


def _law(found: Found) -> Table:
    """Lay out what the law of XCP leaves it under TCP, beside what it has."""
    keys = [key for key in found.runs if key[0] == FIG_1]
    return Table(
        title="Figure 1: what the law of XCP leaves to XCP, % of the link",
        parameter="link",
        columns=["XCP due", "XCP", "by the law"],
        rows=[
            Row(
                label=f"{rate}, {rtt}",
                cells=[
                    *([due(found.kept[figure, rate, rtt][-1], XCP)]),
                    cell(found.estimate((figure, rate, rtt), XCP), ".1f"),
                    cell(found.estimate((figure, rate, rtt), "residue"), ".1f"),
                ],
            )
            for figure, rate, rtt in keys
        ],
        notes=[
            "TCP fills the queue, so the router has nothing to give but what it shuffles: a "
            "tenth of the traffic, less what it wants all to slow down by. It takes that from "
            "all in proportion to what they send, and gives it to XCP alone. By the law: what it "
            "gives over what it takes, from its own gauges.",
        ],
    )


def _settled(found: Found) -> Table:
    """Lay out what is due and what is there once all have arrived, for every figure."""
    rows = []
    for key, when in found.kept.items():
        cells = [
            one
            for who in CLASSES
            for one in (due(when[-1], who), cell(found.estimate(key, who), ".1f"))
        ]
        cells += [cell(found.estimate(key, name), ".1f") for name in ("used", "off", "dropping")]
        cells.append(cell(found.estimate(key, "p"), ".1e"))
        rows.append(Row(label=_label(key), cells=cells))
    return Table(
        title="Figures: shares once all have arrived, % of the link",
        parameter="figure, round trip",
        columns=[
            *(what for who in CLASSES for what in (f"{who} due", who)),
            *("used", "off by", "dropping", "p"),
        ],
        rows=rows,
        notes=[
            "Off by: the mean distance of XCP's 10 s means from what is due to it, points of the "
            "link. Dropping: the part of the time, %, in which the mechanism drops, and p is "
            "the mean probability then.",
        ],
    )


def _at(name: str, rtt: str) -> Key:
    return name, RATE, rtt


def _claims(found: Found) -> list[Claim]:
    return [*_plain_claims(found), *_near_claims(found), *_far_claims(found), _inspected(found)]


def _plain_claims(found: Found) -> list[Claim]:
    starved = [(FIG_1, rate, rtt) for rate in (SLOW, RATE) for rtt in RTTS]
    seen = ", ".join(
        f"{found.text(key, 'XCP late', '.1f')} at {key[1]}, {key[2]}" for key in starved
    )
    fast = [(FIG_1, FAST, rtt) for rtt in RTTS if (FIG_1, FAST, rtt) in found.runs]
    more = ", ".join(f"{found.text(key, 'XCP late', '.1f')} at {key[1]}, {key[2]}" for key in fast)
    better = [
        below(found.estimate(_at(FIG_2, rtt), "off"), found.estimate(_at(FIG_1, rtt), "off"))
        for rtt in RTTS
    ]
    return [
        Claim(
            text="without the mechanism two flows of TCP leave XCP next to nothing (1)",
            verdict=judged(
                [within(found.estimate(key, "XCP late"), 0, STARVED) for key in starved]
            ),
            seen=f"In the last {LATE_S} s XCP has {seen} % of the link, where {STARVED:.0f} % or "
            f"less counts as that and 33.3 % are due.{f' In no claim: {more} %.' if more else ''}",
            why="It lives on what the law shuffles, and TCP has not grown yet.",
        ),
        Claim(
            text="with the mechanism XCP and TCP share more fairly than without (2 against 1)",
            verdict=judged(better),
            seen="XCP's 10 s means are off what is due by "
            + "; ".join(
                f"{found.text(_at(FIG_2, rtt), 'off', '.1f')} points of the link, without it "
                f"{found.text(_at(FIG_1, rtt), 'off', '.1f')}, at {rtt}"
                for rtt in RTTS
            )
            + ".",
            why=SLOW_REGAIN,
        ),
    ]


def _has(found: Found, name: str, rtt: str, who: str) -> str:
    key = _at(name, rtt)
    share = found.text(key, who, ".1f")
    return f"{who} has {share} % of the link, {found.text(key, f'{who} of due', '.2f')} of its due."


def _near_claims(found: Found) -> list[Claim]:
    def of_due(name: str, who: str, low: float, high: float) -> bool | None:
        return within(found.estimate(_at(name, NEAR), f"{who} of due"), low, high)

    return [
        Claim(
            text="at 20 ms TCP is near its share, and below it, beside one of XCP (2a)",
            verdict=judged([of_due(FIG_2, TCP, *NEARLY), of_due(FIG_2, TCP, 0, 1)]),
            seen=_has(found, FIG_2, NEAR, TCP),
            why="It is nearer to it than the paper's, whose TCP has less than 60 % in the mean.",
        ),
        Claim(
            text="at 20 ms XCP among ten of TCP has nearly its share (3a)",
            verdict=judged([of_due(FIG_3, XCP, *NEARLY)]),
            seen=_has(found, FIG_3, NEAR, XCP),
        ),
        Claim(
            text="at 20 ms TCP among ten of XCP has a little less than 25 % of the link (4a)",
            verdict=judged([of_due(FIG_4, TCP, NEARLY[0], 25 / (300 / 13))]),
            seen=_has(found, FIG_4, NEAR, TCP),
        ),
    ]


# Why TCP stays below its share where round trips are long.
SLOW_REGAIN = (
    "Two flows of NewReno that came out of slow start with a few packets need 1 packet a round "
    "trip to regain hundreds; XCP takes what is free at once."
)


def _far_claims(found: Found) -> list[Claim]:
    due_2, due_3 = (found.estimate(_at(name, FAR), f"{TCP} of due") for name in (FIG_2, FIG_3))
    short = [
        within(found.estimate(_at(name, FAR), f"{TCP} of due"), 0, WELL_BELOW)
        for name in (FIG_2, FIG_4)
    ]
    above = within(found.estimate(_at(FIG_3, FAR), f"{XCP} of due"), 1.0, float("inf"))
    grows = [
        below(
            found.estimate(_at(FIG_4, FAR), "TCP at 65"),
            found.estimate(_at(FIG_4, FAR), "TCP at 115"),
        )
    ]
    return [
        Claim(
            text="at 100 ms TCP is well below its share (2b, 4b)",
            verdict=judged(short),
            seen=f"2b: {_has(found, FIG_2, FAR, TCP)} 4b: {_has(found, FIG_4, FAR, TCP)} Well "
            f"below is {WELL_BELOW:g} of it or less.",
            why="In 2b it would be if packets were dropped at the least probability also while "
            "TCP is below its share: see the floor. That does not explain 4b.",
        ),
        Claim(
            text="at 100 ms XCP among ten of TCP has more than its share (3b)",
            verdict=judged([above]),
            seen=_has(found, FIG_3, FAR, XCP),
        ),
        Claim(
            text="more flows of TCP regain more: 3b is nearer to fair than 2b",
            verdict=judged([below(due_2, due_3)]),
            seen=f"2b: {_has(found, FIG_2, FAR, TCP)} 3b: {_has(found, FIG_3, FAR, TCP)}",
        ),
        Claim(
            text="at 100 ms TCP takes all of the time from 60 s to 110 s to regain its share (4b)",
            verdict=judged(grows),
            seen="TCP's 10 s means from 60 s on are "
            + ", ".join(
                found.text(_at(FIG_4, FAR), f"TCP at {at}", ".1f") for at in range(65, 120, 10)
            )
            + " %, where 23.1 % are due.",
        ),
    ]


def _inspected(found: Found) -> Claim:
    pairs = [
        (one, other, rtt) for one, other in ((CAPTION_5, FIG_4), (TEXT_5, FIG_3)) for rtt in RTTS
    ]
    moved = [_moved(found, one, other, rtt) for one, other, rtt in pairs]
    seen = "; ".join(
        f"{found.text(_at(one, rtt), XCP, '.1f')} against "
        f"{found.text(_at(other, rtt), XCP, '.1f')} % of {other}, {rtt}"
        for one, other, rtt in pairs
    )
    return Claim(
        text="to inspect half of the packets does not alter the shares significantly (5)",
        verdict=judged([within(one, -THE_SAME, THE_SAME) for one in moved]),
        seen=f"XCP has {seen}. Within {THE_SAME:g} points counts as the same.",
    )


def _moved(found: Found, one: str, other: str, rtt: str) -> Estimate | None:
    """Estimate by how much more XCP has in one figure than in another, seed by seed."""
    pairs = found.pairs(_at(one, rtt), _at(other, rtt), XCP)
    moves = [ours - theirs for ours, theirs in pairs]
    return estimate(moves) if moves else None


def _figures(found: Found) -> list[Figure]:
    drawn = []
    for name in FIGURES:
        for rate in (RATE, SLOW, FAST):
            keys = {rtt: (name, rate, rtt) for rtt in RTTS}
            if all(key in found.kept for key in keys.values()):
                drawn.append(draw(found, keys, _title(name, rate), _file(name, rate)))
    return drawn


def _title(name: str, rate: str) -> str:
    said = f"{name}: {FIGURES[name][0]}"
    said += ", no mechanism" if name == FIG_1 else ""
    said += ", half of the packets inspected" if "5" in name else ""
    return said if rate == RATE else f"{said}, {rate}"


def _file(name: str, rate: str) -> str:
    words = name.lower().replace("figure ", "figure").replace(", ", "-")
    return words if rate == RATE else f"{words}-{rate.replace(' ', '').replace('/', '').lower()}"


EXPERIMENT = Experiment(
    heading="Figures 1 to 5",
    about="Flows of XCP and of TCP that come one after the other, without the mechanism and with "
    "it, at round trips of 20 ms (a) and 100 ms (b).",
    seeds=5,
    quick_seeds=3,
    cases=_cases,
    numbers=numbers,
    tables=_tables,
    figures=_figures,
    claims=_claims,
    keep=phases,
    chosen=CHOSEN,
)
