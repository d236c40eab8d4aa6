"""The least drop probability [XCP-TCP, 4.2, 5.1]: what it would do to TCP if it were always there.

"At its minimum [...] TCP flows are no longer penalized" is run as it is said, and otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairhaul.papers import Row, Table
from fairhaul.papers.experiment import (
    Case,
    Claim,
    Experiment,
    Found,
    Settings,
    cell,
    judged,
    within,
)
from fairhaul.papers.xcp_tcp.drawing import draw
from fairhaul.papers.xcp_tcp.over_time import WELL_BELOW, due
from fairhaul.papers.xcp_tcp.setting import FAR, MIXES, RTTS, TEN_XCP, TWO_TCP, mixed, router
from fairhaul.papers.xcp_tcp.shares import TCP, numbers, phases

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairhaul.report import Figure

# Whether packets are dropped while TCP is not above its share.
ABOVE, ALWAYS = "dropped above its share", "dropped always"
WAYS: Mapping[str, bool] = {ABOVE: False, ALWAYS: True}

# The window at which NewReno stays where one packet in 10 000 is lost: (1.5 / p)^0.5.
WINDOW = (1.5 / 1e-4) ** 0.5

CHOSEN = (
    "Floor: the paper has TCP no longer penalised at the least probability, so nothing is dropped "
    "while TCP is not above its share; dropped always is the other reading, with p as it is then.",
)


def _cases(quick: bool, settings: Settings) -> list[Case]:
    return [
        mixed(mix, rtt, (mix, rtt, way), router(at_floor=on), settings)
        for mix in MIXES
        for rtt in ([FAR] if quick else RTTS)
        for way, on in WAYS.items()
    ]


def allowed(flows: int, rtt: str) -> float:
    """Give the share of the link that flows of NewReno can have at the least probability, %."""
    seconds = float(rtt.removesuffix(" ms")) * 1e-3
    return min(100.0, flows * WINDOW * 8000 / seconds / 1e6)


def _tables(found: Found) -> list[Table]:
    rows = []
    for mix, rtt in dict.fromkeys((mix, rtt) for mix, rtt, _ in found.runs):
        last = found.kept[mix, rtt, ABOVE][-1]
        shares = [cell(found.estimate((mix, rtt, way), TCP), ".1f") for way in WAYS]
        bound = f"{allowed(last.flows[TCP], rtt):.1f}"
        rows.append(
            Row(label=f"{mix}, {rtt}; the floor allows {bound}", cells=[due(last, TCP), *shares])
        )
    return [
        Table(
            title="Floor: TCP's share of the link once all have arrived, %",
            parameter="flows, round trip, and what the least probability allows TCP, %",
            columns=["TCP is due", *WAYS],
            rows=rows,
            notes=[
                "At the least probability, 0.01 %, NewReno stays at a window of "
                f"{WINDOW:.0f} packets, (1.5 / p)^0.5, whatever the link."
            ],
        )
    ]


def _claims(found: Found) -> list[Claim]:
    key, other = ((TWO_TCP, FAR, way) for way in WAYS)
    return [
        Claim(
            text="at 100 ms it is slow growth that keeps TCP below its share, not drops (2b)",
            verdict=judged([within(found.estimate(key, "TCP of due"), 0, WELL_BELOW)]),
            seen=f"Dropped above its share alone, TCP has {found.text(key, TCP, '.1f')} % of the "
            f"link, {found.text(key, 'TCP at 25', '.1f')} % from 20 to 30 s; dropped always, "
            f"{found.text(other, TCP, '.1f')} %, where the least probability allows "
            f"{allowed(2, FAR):.1f} % and 66.7 % are due.",
            why="Drops at the least probability bring TCP to about where the paper has it in 2b, "
            "and growth alone does not. They are one reading that would explain it; 4b they do "
            "not.",
        )
    ]


def _figures(found: Found) -> list[Figure]:
    return [
        draw(found, {way: (mix, FAR, way) for way in WAYS}, f"Floor: {mix}, {FAR}", name)
        for mix, name in ((TWO_TCP, "floor-two"), (TEN_XCP, "floor-three"))
    ]


EXPERIMENT = Experiment(
    heading="The least drop probability",
    about="The mechanism drops packets while TCP is above its share, or always with the "
    "probability that it has then, 0.01 % at least.",
    seeds=5,
    quick_seeds=2,
    cases=_cases,
    numbers=numbers,
    tables=_tables,
    figures=_figures,
    claims=_claims,
    keep=phases,
    chosen=CHOSEN,
)
