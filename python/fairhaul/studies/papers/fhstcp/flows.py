"""The numbers of FHSTCP's experiments that are no plain figures of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fairhaul.measures.fairness import jain
from fairhaul.statistics.evidence import Evidence, below, less
from fairhaul.studies.papers.measured import time_to_fill
from fairhaul.studies.papers.results import Measured, Results, Settings

if TYPE_CHECKING:
    from fairhaul.record.record import Record
    from fairhaul.studies.papers.claims import Judgements

FLOWS = ("F1", "F2", "F3")

# Blocks that took back bursts would leave at most this part of the drops.
FEWER = 0.9

# How many losses of the standard flow a run of the friendliness is long enough for: at small p a
# loss costs so many packets that fewer have to do.
LOSSES = {"1e-2": 1600, "1e-3": 800, "1e-4": 300, "1e-5": 80}
QUICK_PART, WARM_PART = 0.3, 0.15


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
    import polars as pl

    inside = pl.col("t_s") >= record.meta["scenario"]["warmup_s"]
    mine = pl.col("flow").cast(pl.String).is_in(FLOWS)
    return float(record.flow_series.filter(inside & mine)["lost"].sum())


def _peak(record: Record) -> float:
    """The longest queue of the first link in the measured time, as a mean over a bin of 0.1 s."""
    import polars as pl

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
