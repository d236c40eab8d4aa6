"""Above the bandwidth-delay product: one flow beside one of TCP Reno [GHSTCP, result]."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairhaul.measures import measure
from fairhaul.papers import losses
from fairhaul.papers.experiment import Case, Claim, Experiment, Found, Settings, case, judged, sheet
from fairhaul.papers.ghstcp.filling import HSTCP, REFINED, RIVALS

if TYPE_CHECKING:
    from fairhaul.papers.table import Table
    from fairhaul.record import Record
    from fairhaul.report import Figure

FILE = "beside.toml"
FULL, QUICK = {"duration": "330 s"}, {"duration": "90 s"}
BUFFERS = ("0.35 bdp", "1 bdp", "2 bdp")
FLOWS = ("one", "reno")
JAIN, OURS, RENO, USED = "Jain's index", "one Mbit/s", "reno Mbit/s", "link used %"

CHOSEN = (
    "Above: one flow beside one of TCP Reno on 100 Mbit/s, 23 ms one way, with buffers of 0.35, 1 "
    "and 2 bandwidth-delay products; the paper names no set-up for this claim.",
)


def _cases(quick: bool, settings: Settings) -> list[Case]:
    return [
        case(
            "ghstcp",
            FILE,
            [buffer, name],
            QUICK if quick else FULL,
            {"bottleneck.queue.capacity": buffer, "flow.one.controller": kind},
            settings,
        )
        for buffer in BUFFERS
        for name, kind in RIVALS.items()
    ]


def _numbers(record: Record) -> dict[str, float | None]:
    measures = measure(record)
    ours, reno = (flow["goodput_bps"] / 1e6 for flow in measures["flows"])
    return {
        JAIN: measures["fairness"]["jain"],
        OURS: ours,
        RENO: reno,
        USED: 100 * measures["links"][0]["utilization"],
        **losses.numbers(measures, FLOWS),
    }


def _tables(found: Found) -> list[Table]:
    columns = {JAIN: ".3f", OURS: ".1f", RENO: ".1f", USED: ".2f"}
    title = "Above: one flow beside one of TCP Reno"
    return [
        sheet(found, title, "buffer, flow", columns),
        losses.table(found, "Above", "buffer, flow", FLOWS),
    ]


def _claims(found: Found) -> list[Claim]:
    parts = [found.above((buffer, REFINED), (buffer, HSTCP), JAIN) for buffer in BUFFERS]
    return [
        Claim(
            text="above it, it is fairer to TCP Reno than HSTCP",
            verdict=judged(parts),
            seen=f"Jain's index of the two: {_seen(found)}.",
        )
    ]


def _seen(found: Found) -> str:
    return "; ".join(
        f"{buffer}: "
        + ", ".join(f"{found.text((buffer, name), JAIN, '.3f')} {name}" for name in RIVALS)
        for buffer in BUFFERS
    )


def _figures(found: Found) -> list[Figure]:
    from fairhaul.papers import figures
    from fairhaul.report import Figure, plots

    looks = figures.looks(list(RIVALS))
    rows = [
        row
        for buffer in BUFFERS
        for look in looks
        for row in figures.dots(found, {(buffer, look.label): buffer}, {look.label: JAIN})
    ]
    x = plots.Scale(title="Jain's index", low=0.5, high=1)
    caption = (
        "Jain's index of one flow and one of TCP Reno, by the buffer; at 1/2 one has all. "
        f"{figures.INTERVALS}"
    )
    chart = plots.dots(looks, rows, BUFFERS, x)
    return [Figure(name="above", title="Beside one of TCP Reno", caption=caption, chart=chart)]


EXPERIMENT = Experiment(
    heading="Above the bandwidth-delay product",
    about="One flow beside one of TCP Reno of the same round trip, whose windows together fill the "
    "link and a part of the queue most of the time.",
    seeds=5,
    quick_seeds=3,
    cases=_cases,
    numbers=_numbers,
    tables=_tables,
    figures=_figures,
    claims=_claims,
    chosen=CHOSEN,
)
