"""The numbers and judgements of FHSTCP's experiments that are no plain figures of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from fairhaul.figures import charts
from fairhaul.figures.charts import Curve, Look
from fairhaul.figures.figure import Figure
from fairhaul.measures.fairness import jain
from fairhaul.record.record import Record
from fairhaul.statistics.estimate import estimate
from fairhaul.statistics.evidence import Evidence, below, less, within
from fairhaul.studies.papers.figures import looks, point, reference
from fairhaul.studies.papers.measured import Coincidence, goodput_factor, time_to_fill
from fairhaul.studies.papers.results import Measured, Results, Settings

if TYPE_CHECKING:
    from fairhaul.studies.papers.claims import Judgements

FLOWS = ("F1", "F2", "F3")

# Blocks that took back bursts would leave at most this part of the drops.
FEWER = 0.9

# How many losses of the standard flow a run of the friendliness is long enough for: at small p a
# loss costs so many packets that fewer have to do.
LOSSES = {"1e-2": 1600, "1e-3": 800, "1e-4": 300, "1e-5": 80}
QUICK_PART, WARM_PART = 0.3, 0.15

# How far the power may be from the paper's 1 to count as such.
NEAR = 0.25

HSTCP = "HSTCP"
RATIO, COMMON = "F1/F3", "losses in common"

# F1/F3 at 80 and 200 ms by the law of HSTCP with the factor of FHSTCP: where all lose whenever one
# does, and where each loses independently.
TOGETHER, APART = 2.5, 1.16


def three_flows(record: Record, figures: Mapping[str, Any]) -> dict[str, float | None]:
    """Give the numbers of a run of F1, F2 and F3 beside a background."""
    scenario = record.meta["scenario"]
    bulk = {flow["name"] for flow in scenario["flows"] if flow["traffic"]["kind"] == "bulk"}
    by_name = {flow["name"]: flow for flow in figures["flows"]}
    shares = {name: 100 * by_name[name]["link_share"] for name in FLOWS}
    background = [flow for flow in figures["flows"] if flow["role"] == "background"]
    rates = [flow["loss_rate"] or 0.0 for flow in background if flow["name"] in bulk]
    events = sum(by_name[name]["loss_events"] for name in FLOWS)
    return {
        **shares,
        "F4": 100 * sum(flow["link_share"] for flow in background),
        "total": 100 * sum(flow["link_share"] for flow in figures["flows"]),
        "fairness index": jain(list(shares.values())),
        "F1/F3": shares["F1"] / shares["F3"] if shares["F3"] > 0 else None,
        "least background loss": min(rates, default=None),
        "most background loss": max(rates, default=None),
        "drops per loss event": _drops(record) / events if events else None,
        "queue mean": figures["links"][0]["queue_mean_packets"],
        "queue peak": _peak(record),
        **figures["fairness"]["jain_by_window"],
    }


def alone(record: Record, figures: Mapping[str, Any]) -> dict[str, float | None]:
    """Give how well, and how soon, one flow fills the link."""
    used = 100 * figures["links"][0]["utilization"]
    return {"utilisation": used, "time to fill": time_to_fill(record)}


def _drops(record: Record) -> float:
    """The packets of F1 to F3 that were dropped in the measured time."""
    inside = pl.col("t_s") >= record.meta["scenario"]["warmup_s"]
    mine = pl.col("flow").cast(pl.String).is_in(FLOWS)
    return float(record.flow_series.filter(inside & mine)["lost"].sum())


def _peak(record: Record) -> float:
    """The longest queue of the first link in the measured time, as a mean over a bin of 0.1 s."""
    scenario = record.meta["scenario"]
    inside = pl.col("t_s") >= scenario["warmup_s"]
    first = pl.col("link").cast(pl.String) == scenario["links"][0]["name"]
    return float(record.link_series.filter(inside & first)["backlog_packets"].to_numpy().max())


def fewer_drops(results: Results) -> tuple[Judgements, list[Measured]]:
    """Whether there are fewer drops with blocks; no, where `FEWER` can be ruled out."""
    name, with_both, without = "drops per loss event", ("both",), ("factor only",)
    used = [
        Measured(number=name, case=key[0], ours=results.estimate(key, name), form=".1f")
        for key in (with_both, without)
    ]
    both, factor = results.by_seed(with_both, name), results.by_seed(without, name)
    fewer, fewer_by_that = below(less(both, factor), 0.0), below(less(both, factor, FEWER), 0.0)
    if fewer is None or fewer_by_that is None:
        return [None], used
    return [Evidence(if_false=fewer.if_false, if_true=fewer_by_that.if_true)], used


def long_enough(labels: Mapping[str, str], quick: bool) -> Settings:
    """Say how long a standard flow takes to lose enough: sqrt(3/2) / sqrt(p) packets in a round."""
    p, rtt_s = labels["p"], float(labels["RTT"].removesuffix(" ms")) / 1000
    length = LOSSES[p] * (QUICK_PART if quick else 1) * rtt_s / math.sqrt(1.5 * float(p))
    return {"duration": f"{length:.3f} s", "warmup": f"{length * WARM_PART:.3f} s"}


def exponents(results: Results, name: str) -> dict[int, float]:
    """Fit how a controller's throughput falls with the round trip: as its power of minus what.

    Least squares over the logarithms of all ratios, for each seed [FHSTCP, 1].
    """
    pairs: dict[int, list[tuple[float, float]]] = {}
    for key in results.runs:
        ratio, controller = key
        if controller == name and ratio != "1":
            for seed, of_goodputs in results.by_seed(key, "ratio").items():
                if of_goodputs:
                    pair = math.log(float(ratio)), math.log(of_goodputs)
                    pairs.setdefault(seed, []).append(pair)
    return {
        seed: sum(x * y for x, y in each) / sum(x * x for x, _ in each)
        for seed, each in pairs.items()
    }


def inverse(results: Results) -> tuple[Judgements, list[Measured]]:
    """Whether throughputs under FHSTCP are as the inverse of the round trips."""
    powers = _powers(results)
    ours = list(powers["fhstcp"].values())
    held = within(estimate(ours), 1 - NEAR, 1 + NEAR) if ours else None
    return [held], _measured(powers)


def less_unfair(results: Results) -> tuple[Judgements, list[Measured]]:
    """Whether throughput falls less with the round trip under FHSTCP than under each other."""
    ours, *others = (powers := _powers(results)).values()
    return [below(less(ours, other), 0.0) for other in others], _measured(powers)


def _powers(results: Results) -> dict[str, Mapping[int, float]]:
    controllers = dict.fromkeys(controller for _, controller in results.runs)
    return {name: exponents(results, name) for name in controllers}


def _measured(powers: Mapping[str, Mapping[int, float]]) -> list[Measured]:
    return [
        Measured(
            number="power",
            case=name,
            ours=estimate(list(power.values())) if power else None,
            form=".2f",
        )
        for name, power in powers.items()
    ]


def on_hosts(record: Record, figures: Mapping[str, Any]) -> dict[str, float | None]:
    """Give the numbers of a run that real hosts can make; the shares are of packets."""
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
    ratio, common = results.estimate((name,), RATIO), results.estimate((name,), COMMON)
    rows = [point(ratio, x=common.mean)] if ratio and common else []
    return Curve(look=Look(label=label, colour=colour), points=rows)
