"""The modes of gHSTCP over time, and how soon one flow fills the link [GHSTCP, validation]."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fairhaul.studies.papers.measured import time_to_fill
from fairhaul.studies.papers.results import Results

if TYPE_CHECKING:
    from fairhaul.figures.figure import Figure
    from fairhaul.record.record import Record

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


def high_speed(record: Record, edges: list[float]) -> list[float]:
    """Give the share of time that the first flow was in HSTCP's mode, between each two edges."""
    import numpy as np
    import polars as pl

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
    import numpy as np

    from fairhaul.figures.bins import level, tidy, whole_run
    from fairhaul.figures.charts import Span

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
    from fairhaul.figures import charts
    from fairhaul.figures.figure import Figure
    from fairhaul.studies.papers.figures import looks

    (results,) = engines.values()
    look, other = looks(["a", "b"])
    lanes = []
    for rule in ("original", "refined"):
        span, rtts, shares = results.kept["whole link", "jitter 0.3 ms", rule]
        top = 1.05 * max(row["high"] for row in rtts)
        for label, rows, end, colour in (
            (f"{rule}: round-trip time (ms)", rtts, top, look.colour),
            (f"{rule}: share of time in HSTCP's mode", shares, 1.0, other.colour),
        ):
            lanes.append(
                charts.Lane(look=charts.Look(label=label, colour=colour), rows=rows, top=end)
            )
    caption = (
        "One flow alone, with jitter of 0.3 ms. The link is full while the round-trip time is "
        "above 46 ms."
    )
    chart = charts.lanes(lanes, span, "")
    return [Figure(name="modes", title="Modes and round-trip time", caption=caption, chart=chart)]
