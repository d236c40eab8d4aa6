"""FHSTCP on real hosts: Table 1 of FHSTCP beside HSTCP, by the simulator and by the kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fairhaul.measures.fairness import jain
from fairhaul.studies.papers.fhstcp.flows import FLOWS
from fairhaul.studies.papers.measured import Coincidence, goodput_factor
from fairhaul.studies.papers.results import Results

if TYPE_CHECKING:
    from fairhaul.figures.charts import Curve
    from fairhaul.figures.figure import Figure
    from fairhaul.record.record import Record

HSTCP = "HSTCP"
RATIO, COMMON = "F1/F3", "losses in common"

# F1/F3 at 80 and 200 ms by the law of HSTCP with the factor of FHSTCP: where all lose whenever one
# does, and where each loses independently.
TOGETHER, APART = 2.5, 1.16


def numbers(record: Record, figures: Mapping[str, Any]) -> dict[str, float | None]:
    """Give the numbers of a run; the shares are of packets."""
    worth = 100 * goodput_factor(record)
    flows = {flow["name"]: worth * flow["link_share"] for flow in figures["flows"]}
    shares = {name: flows[name] for name in FLOWS}
    coincidence = Coincidence(title="", flows=FLOWS).numbers(figures)
    parts = [part for name in FLOWS if (part := coincidence[f"{name} reduces in"]) is not None]
    return {
        **shares,
        "F4": sum(flows.values()) - sum(shares.values()),
        "fairness index": jain(list(shares.values())),
        RATIO: shares["F1"] / shares["F3"] if shares["F3"] > 0 else None,
        COMMON: sum(parts) / len(parts) if parts else None,
        "link used %": 100 * figures["links"][0]["utilization"],
        **coincidence,
    }


def figures(engines: Mapping[str, Results]) -> list[Figure]:
    """Draw the windows of the engines over each other, and F1/F3 between its two laws."""
    return [*(_windows(engines, name) for name in ("c = 10", HSTCP)), _laws(engines)]


def _windows(engines: Mapping[str, Results], name: str) -> Figure:
    from fairhaul.figures import charts
    from fairhaul.figures.figure import Figure
    from fairhaul.studies.papers.figures import looks

    kept = [results.kept[name,] for results in engines.values()]
    lanes: dict[str, list[dict[str, Any]]] = {
        flow: [
            {"t": rows[0]["t"], **{f"v{i}": row[f"v{flow_at}"] for i, row in enumerate(rows)}}
            for rows in zip(*(rows for _, _, rows in kept), strict=True)
        ]
        for flow_at, flow in enumerate(FLOWS)
    }
    return Figure(
        name=f"kernel-windows-{'hstcp' if name == HSTCP else 'fhstcp'}",
        title=f"Windows over time, {name}",
        caption=f"{name}: the congestion windows of one run of each engine. No two runs of the "
        "kernel are identical.",
        chart=charts.threads(looks(list(engines)), lanes, kept[0][1], "cwnd (packets)"),
    )


def _laws(engines: Mapping[str, Results]) -> Figure:
    from fairhaul.figures import charts
    from fairhaul.figures.figure import Figure
    from fairhaul.studies.papers.figures import looks, reference

    laws = [
        reference(label, {0.0: ratio, 1.0: ratio})
        for label, ratio in (("all lose together", TOGETHER), ("each independently", APART))
    ]
    points = [
        _point(results, look.colour, f"{look.label}, {name}", name)
        for look, results in zip(looks(list(engines)), engines.values(), strict=True)
        for (name,) in results.runs
        if name != HSTCP
    ]
    means = [row["mean"] for point in points for row in point.points]
    x = charts.Scale(title="Losses in common (fraction of loss episodes)", low=0, high=1)
    y = charts.Scale(title=RATIO, low=0, high=1.1 * max([TOGETHER, *means]))
    return Figure(
        name="kernel-laws",
        title="F1/F3 between its two limits",
        caption="F1 divided by F3, over the fraction of loss episodes common to all flows. "
        f"By the rule of FHSTCP it is {TOGETHER:g} if all flows lose packets at the same time, and "
        f"{APART:g} if they lose packets independently. Points are means over runs.",
        chart=charts.curves([*laws, *points], x, y),
    )


def _point(results: Results, colour: str, label: str, name: str) -> Curve:
    from fairhaul.figures.charts import Curve, Look
    from fairhaul.studies.papers.figures import point

    ratio, common = results.estimate((name,), RATIO), results.estimate((name,), COMMON)
    rows = [point(ratio, x=common.mean)] if ratio and common else []
    return Curve(look=Look(label=label, colour=colour), points=rows)
