"""The study with ns-3 of 2026 beside our runs: Prague and CUBIC in a dual queue, with 30 seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import polars as pl

from fairhaul.jobs.store import build_of, jobs_of
from fairhaul.jobs.values import Running, values
from fairhaul.measures.measures import measure
from fairhaul.scenario.read import read_one
from fairhaul.statistics.estimate import AT_LEAST_0, estimate
from fairhaul.statistics.estimate import text as estimate_text
from fairhaul.text.digits import Significant
from fairhaul.text.table import Table
from tools.l4s import SCENARIOS, published

if TYPE_CHECKING:
    from fairhaul.record.record import Record
    from fairhaul.scenario.read import Scenario

SCENARIO = SCENARIOS / "ns3.toml"
LINK = "bottleneck"
# The payload of a packet of 1500 B with time stamps: rates count IP packets, as in the study.
WIRE = 1500 / 1448
# The queue of the study, and that of Linux, which is not the one of the file.
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "rfc": {},
    "linux": {
        "bottleneck.queue": {"kind": "dualpi2", "capacity": "10000 packets", "variant": "linux"}
    },
}
# The values of a run, and what the table calls them.
NUMBERS: Mapping[str, str] = {
    "prague_mbps": "Prague, Mbit/s",
    "cubic_mbps": "CUBIC",
    "prague_rtt_ms": "round trip of Prague, ms",
    "cubic_rtt_ms": "of CUBIC",
    "prague_cwnd": "window of Prague, packets",
    "cubic_cwnd": "of CUBIC",
    "base_p": "p'",
    "marks_per_s": "marks per second",
}


def ns3(_: Scenario, record: Record) -> dict[str, float]:
    """Give the values of a run, after the warm-up."""
    figures = measure(record)
    of = {flow["name"]: flow for flow in figures["flows"]}
    link = next(link for link in figures["links"] if link["name"] == LINK)
    begin = record.meta["scenario"]["warmup_s"]
    gauges = record.tables()["gauge"].filter(
        (pl.col("gauge").cast(pl.String) == "base_p")
        & (pl.col("link").cast(pl.String) == LINK)
        & (pl.col("t_s") >= begin)
    )
    found = {"base_p": float(gauges["value"].mean())}  # type: ignore[arg-type]
    for name, flow in of.items():
        found[f"{name}_mbps"] = flow["goodput_bps"] / 1e6 * WIRE
        found[f"{name}_rtt_ms"] = (flow["rtt_mean_s"] or 0.0) * 1e3
        found[f"{name}_cwnd"] = flow["cwnd_mean"] or 0.0
    packets = sum(found[f"{name}_mbps"] for name in of) * 1e6 / 12_000
    return {**found, "marks_per_s": (link["mark_rate"] or 0.0) * packets}


def report(seeds: int, running: Running) -> Iterator[str]:
    """Run both scenarios with both queues; give a table of the published values and of ours."""
    rows = published()["ns3"]
    build = build_of(ns3)
    jobs = [job for row in rows for job in jobs_of(scenario(row), seeds, "sim", "ns3", build)]
    found = iter(values(jobs, ns3, running))
    three = Significant(digits=3)
    lines = []
    for row in rows:
        ours = [next(found) for _ in range(seeds)]
        theirs = [three(float(row[name])) if name in row else "-" for name in NUMBERS]
        lines.append([row["path"], row["study"], *theirs])
        texts = [
            estimate_text(estimate([run[name] for run in ours], AT_LEAST_0), three)
            for name in NUMBERS
        ]
        lines.append(["", f"here, `{row['variant']}`", *texts])
    yield from Table(columns=["path", "", *NUMBERS.values()], rows=lines, words=2).markdown()


def scenario(row: Mapping[str, Any]) -> Scenario:
    """Give the scenario of a row of the published table, with the queue of its variant."""
    rate, rtt = row["path"].split(", ")
    keys = {"bottleneck.rate": rate, "flow.prague.rtt": rtt, "flow.cubic.rtt": rtt}
    return read_one(SCENARIO, {**keys, **VARIANTS[row["variant"]]})
