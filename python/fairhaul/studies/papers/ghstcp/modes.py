"""The modes of gHSTCP over time, and how soon one flow fills the link [GHSTCP, validation].

Also the goodputs of scenarios 1 and 2 [GHSTCP, test in the emulation network].
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from fairhaul.figures import charts
from fairhaul.figures.bins import level, tidy, whole_run
from fairhaul.figures.charts import Look, Span
from fairhaul.figures.figure import Figure
from fairhaul.record.record import Record
from fairhaul.studies.papers.figures import looks
from fairhaul.studies.papers.measured import goodput_factor, time_to_fill
from fairhaul.studies.papers.results import Results

# Data go over the other direction of the one link.
DATA_LINK = 1


def switching(record: Record, figures: Mapping[str, Any]) -> dict[str, float | None]:
    """Give how often the mode changes, and how long it is HSTCP's."""
    scenario = record.meta["scenario"]
    inside = high_speed(record, [scenario["warmup_s"], scenario["duration_s"]])
    return {
        "changes of mode /s": figures["flows"][0]["mode_changes_per_s"],
        "time in HSTCP mode %": 100 * inside[0],
        "link used %": 100 * figures["links"][DATA_LINK]["utilization"],
    }


def filling(record: Record, figures: Mapping[str, Any]) -> dict[str, float | None]:
    """Give when the link is filled, and the part of that time in HSTCP's mode."""
    filled = time_to_fill(record, DATA_LINK)
    modes = "mode_changes_per_s" in figures["flows"][0]
    high = 100 * high_speed(record, [0.0, filled])[0] if modes and filled else None
    return {"time to fill": filled, "in HSTCP mode until then %": high}


def goodputs(record: Record, figures: Mapping[str, Any]) -> dict[str, float | None]:
    """Give the goodputs of Flow-1's transfer and of two Reno flows, and how fair they are."""
    worth = goodput_factor(record) / 1e6
    groups: dict[str, float] = {}
    for flow in figures["flows"]:
        groups[flow["group"]] = groups.get(flow["group"], 0.0) + worth * flow["goodput_bps"]
    first, *rest = groups.values()
    used, fair = 100 * figures["links"][0]["utilization"], figures["fairness"]
    return {
        "Flow-1 Mbit/s": first,
        "each of Flow-2 Mbit/s": sum(rest) / len(rest),
        "link used %": used,
        "Jain's index": fair["jain"],
        "of max-min share": fair["entitlement"],
        "used x Jain": used / 100 * fair["jain"],
    }


def high_speed(record: Record, edges: list[float]) -> list[float]:
    """Give the share of time that the first flow was in HSTCP's mode, between each two edges."""
    first = record.meta["scenario"]["flows"][0]["name"]
    kind, flow = (pl.col(name).cast(pl.String) for name in ("kind", "flow"))
    modes = record.event.filter((kind == "mode") & (flow == first)).sort("t_s", maintain_order=True)
    since = np.append(
        modes["t_s"].to_numpy(), max(edges[-1], record.meta["scenario"]["duration_s"])
    )
    # How long it had been in that mode until each change.
    past = np.concatenate([[0.0], np.cumsum(np.diff(since) * modes["value"].to_numpy())])
    spent = np.diff(np.interp(edges, since, past))
    return [float(part) for part in spent / np.diff(edges)]


def over_time(record: Record) -> Any:
    """Keep the round-trip time and the mode over time."""
    scenario = record.meta["scenario"]
    rows = whole_run(record.flow_series, len(scenario["flows"]), scenario)
    bins = level(rows, "rtt_s")
    half = bins.width_s / 2
    edges = [*np.maximum(bins.middle_s - half, 0.0), scenario["duration_s"]]
    modes = high_speed(record, [float(edge) for edge in edges])
    rtts = [
        {
            "t": tidy(t),
            **{end: tidy(1000 * getattr(bins, end)[0][i]) for end in ("mean", "low", "high")},
        }
        for i, t in enumerate(bins.middle_s)
        if np.isfinite(bins.mean[0][i])
    ]
    shares = [
        {"t": tidy(t), "mean": tidy(share), "low": 0.0, "high": tidy(share)}
        for t, share in zip(bins.middle_s, modes, strict=True)
    ]
    return Span(end_s=scenario["duration_s"], warmup_s=scenario["warmup_s"]), rtts, shares


def figures(engines: Mapping[str, Results]) -> list[Figure]:
    """Draw the round-trip time and the mode over time, by two rules."""
    (results,) = engines.values()
    look, other = looks(["a", "b"])
    lanes = []
    for rule in ("original", "refined"):
        span, rtts, shares = results.kept["whole link", "jitter 0.3 ms", rule]
        top = 1.05 * max(row["high"] for row in rtts)
        of_rtt = Look(label=f"{rule}: round-trip time (ms)", colour=look.colour)
        of_mode = Look(label=f"{rule}: share of time in HSTCP's mode", colour=other.colour)
        lanes.append(charts.Lane(look=of_rtt, rows=rtts, top=top))
        lanes.append(charts.Lane(look=of_mode, rows=shares, top=1.0))
    caption = (
        "One flow alone, with jitter of 0.3 ms. The link is full while the round-trip time is "
        "above 46 ms."
    )
    chart = charts.lanes(lanes, span, "")
    return [Figure(name="modes", title="Modes and round-trip time", caption=caption, chart=chart)]
