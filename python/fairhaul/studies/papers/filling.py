"""How soon a link is filled: for every paper's experiments on one flow alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairhaul.record.record import Record

# A link counts as filled when it was this busy for a second.
FILLED, OVER_S = 0.9, 1.0


def time_to_fill(record: Record, link: int = 0) -> float | None:
    """When a link had first been `FILLED` for `OVER_S` seconds, None if it never was.

    `link` is its number in the scenario, where the other direction of each follows it.
    """
    import numpy as np
    import polars as pl

    name = record.meta["scenario"]["links"][link]["name"]
    rows = record.link_series.filter(pl.col("link").cast(pl.String) == name)
    starts = rows["t_s"].to_numpy()
    ends = np.append(starts[1:], record.meta["scenario"]["duration_s"])
    busy = np.concatenate([[0.0], np.cumsum(rows["busy_s"].to_numpy())])
    edges = np.concatenate([[starts[0]], ends])
    past = ends[ends >= OVER_S]
    within = np.interp(past, edges, busy) - np.interp(past - OVER_S, edges, busy)
    filled = past[within >= FILLED * OVER_S]
    return float(filled[0]) if filled.size else None
