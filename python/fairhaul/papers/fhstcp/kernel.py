"""FHSTCP on real hosts: Table 1 of FHSTCP beside HSTCP, by the simulator and by the kernel.

F1, F2 and F3 are flows of 80, 140 and 200 ms; F4 is all of the background.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fairhaul.fairness import jain
from fairhaul.measures import measure
from fairhaul.papers import Row, Table, losses, payload
from fairhaul.papers.experiment import (
    Case,
    Claim,
    Experiment,
    Found,
    Lab,
    Settings,
    case,
    cell,
    every,
    judged,
)
from fairhaul.papers.fhstcp import table1
from fairhaul.papers.fhstcp.flows import FLOWS, keep_windows

if TYPE_CHECKING:
    from fairhaul.record import Record
    from fairhaul.report import Figure
    from fairhaul.report.plots import Curve

FILE = "kernel.toml"
QUICK = {"duration": "100 s", "warmup": "20 s"}
HSTCP = "HSTCP"
FACTORS = {f"c = {c}": c for c in table1.PAPER}
RIVALS: Mapping[str, Settings] = {
    **{name: {"flow.F*.controller.c": c} for name, c in FACTORS.items()},
    HSTCP: {"flow.F*.controller": {"kind": "highspeed", "growth": "formula"}},
}
RATIO, INDEX, SYNC, USED = "F1/F3", "fairness index", "losses in common", "link used %"
COLUMNS = {
    **dict.fromkeys((*FLOWS, "F4"), ".1f"),
    INDEX: ".3f",
    RATIO: ".2f",
    SYNC: ".2f",
    "episodes": ".0f",
    USED: ".1f",
}

# F1/F3 at 80 and 200 ms by the law of HSTCP with the factor of FHSTCP: where all lose whenever one
# does, and where each loses for itself.
TOGETHER, APART = 2.5, 1.16

CHOSEN = (
    "Kernel: 200 Mbit/s and a buffer of 20 ms, 333 packets, with the long-lived background of "
    "Table 1 alone; packets of 1500 bytes, and the defaults of Linux in both engines.",
    "Kernel: shares are of packets, so that the time stamps of real hosts cost them nothing.",
)


def _cases(quick: bool, settings: Settings) -> list[Case]:
    short = QUICK if quick else {}
    return [case("fhstcp", FILE, [name], short, one, settings) for name, one in RIVALS.items()]


def _numbers(record: Record) -> dict[str, float | None]:
    measures: Any = measure(record)
    worth = 100 * payload.alike(record)
    flows = {flow["name"]: worth * flow["link_share"] for flow in measures["flows"]}
    shares = {name: flows[name] for name in FLOWS}
    coincidence = losses.numbers(measures, FLOWS)
    parts = [part for name in FLOWS if (part := coincidence[f"{name} reduces in"]) is not None]
    return {
        **shares,
        "F4": sum(flows.values()) - sum(shares.values()),
        INDEX: jain(list(shares.values())),
        RATIO: shares["F1"] / shares["F3"] if shares["F3"] > 0 else None,
        SYNC: sum(parts) / len(parts) if parts else None,
        USED: 100 * measures["links"][0]["utilization"],
        **coincidence,
    }


def _printed(name: str) -> Mapping[str, float]:
    """What the paper prints of a case; of HSTCP nothing."""
    if name not in FACTORS:
        return {}
    shares, index, _ = table1.PAPER[FACTORS[name]]
    first, _, third, _ = shares
    return {**dict(zip((*FLOWS, "F4"), shares, strict=True)), INDEX: index, RATIO: first / third}


def _tables(found: Found) -> list[Table]:
    rows = [
        Row(
            label=name,
            cells=[
                cell(found.estimate((name,), column), form, _printed(name).get(column))
                for column, form in COLUMNS.items()
            ],
        )
        for name in RIVALS
    ]
    notes = [
        "Shares in % of the link; losses in common: the part of the loss episodes in which a flow "
        "of F1 to F3 reduced its window, in the mean of the three. F1/F3 of the paper is from its "
        "shares.",
    ]
    title = "Kernel: Table 1 beside HSTCP at 200 Mbit/s"
    return [Table(title=title, parameter="flows", columns=list(COLUMNS), rows=rows, notes=notes)]


def _claims(found: Found) -> list[Claim]:
    fairer = [found.above((name,), (HSTCP,), INDEX) for name in FACTORS]
    indices = ", ".join(f"{found.text((name,), INDEX, '.3f')} with {name}" for name in RIVALS)
    return [
        Claim(
            text="with the defaults of Linux it is fairer than HSTCP",
            verdict=judged([every(fairer)]),
            seen=f"Jain's index of F1 to F3 is {indices}.",
        )
    ]


def _figures(found: Found) -> list[Figure]:
    return _overlay({"simulator": found})


def _overlay(engines: Mapping[str, Found]) -> list[Figure]:
    return [*(_windows(engines, name) for name in ("c = 10", HSTCP)), _laws(engines)]


def _windows(engines: Mapping[str, Found], name: str) -> Figure:
    from fairhaul.papers import figures
    from fairhaul.report import Figure, plots

    looks = figures.looks(list(engines))
    kept = [found.kept[name,] for found in engines.values()]
    lanes: dict[str, list[dict[str, Any]]] = {
        flow: [
            {"t": rows[0]["t"], **{f"v{i}": row[f"v{flow_at}"] for i, row in enumerate(rows)}}
            for rows in zip(*(rows for _, rows in kept), strict=True)
        ]
        for flow_at, flow in enumerate(FLOWS)
    }
    chart = plots.threads(looks, lanes, kept[0][0], "cwnd (packets)")
    caption = (
        f"{name}: the congestion windows of one run each. No two runs of the kernel are alike."
    )
    slug = "hstcp" if name == HSTCP else "fhstcp"
    title = f"Windows over time, {name}"
    return Figure(name=f"kernel-windows-{slug}", title=title, caption=caption, chart=chart)


def _laws(engines: Mapping[str, Found]) -> Figure:
    from fairhaul.papers import figures
    from fairhaul.report import Figure, plots

    looks = figures.looks(list(engines))
    laws = [
        figures.reference(label, {0.0: ratio, 1.0: ratio})
        for label, ratio in (("all lose together", TOGETHER), ("each for itself", APART))
    ]
    points = [
        _point(found, look.colour, f"{look.label}, {name}", name)
        for look, found in zip(looks, engines.values(), strict=True)
        for name in FACTORS
    ]
    means = [row["mean"] for point in points for row in point.points]
    x = plots.Scale(title="Losses in common (part of the loss episodes)", low=0, high=1)
    y = plots.Scale(title="F1/F3", low=0, high=1.1 * max([TOGETHER, *means]))
    caption = (
        f"F1 over F3 by how much of their losses they have in common. By the law of FHSTCP it is "
        f"{TOGETHER:g} where all lose together, and {APART:g} where each loses for itself. "
        "Points are means over runs."
    )
    chart = plots.curves([*laws, *points], x, y)
    title = "F1/F3 between its two laws"
    return Figure(name="kernel-laws", title=title, caption=caption, chart=chart)


def _point(found: Found, colour: str, label: str, name: str) -> Curve:
    from fairhaul.papers import figures
    from fairhaul.report.charts import Look
    from fairhaul.report.plots import Curve

    ratio, sync = found.estimate((name,), RATIO), found.estimate((name,), SYNC)
    rows = [figures.point(ratio, x=sync.mean)] if ratio and sync else []
    return Curve(look=Look(label=label, colour=colour), points=rows)


EXPERIMENT = Experiment(
    heading="On real hosts",
    about="Three flows of FHSTCP, or of HSTCP, of 80, 140 and 200 ms beside four standard flows, "
    "as Linux runs them.",
    seeds=20,
    quick_seeds=8,
    cases=_cases,
    numbers=_numbers,
    tables=_tables,
    figures=_figures,
    claims=_claims,
    keep=keep_windows,
    chosen=CHOSEN,
    lab=Lab(
        full={"duration": "150 s", "warmup": "30 s"},
        quick={"duration": "26 s", "warmup": "8 s"},
        why=(
            "a kernel that hands over each packet for itself spaces packets evenly, where the "
            "paper and the simulator send blocks of hundreds. Without blocks on either side the "
            "background has 11.8 % of the link in the kernel beside c = 20, and 11.3 % in the "
            "simulator.",
        ),
    ),
    overlay=_overlay,
)
