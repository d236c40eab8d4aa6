"""How often controllers that have several modes change their mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairhaul.record import Record


def changes_per_s(record: Record) -> dict[str, float]:
    """Give the mode changes per second in the measured time, for flows whose controller has modes.

    The first mode of a connection is not a change.
    """
    import polars as pl

    scenario = record.meta["scenario"]
    modes = record.event.filter(pl.col("kind").cast(pl.String) == "mode")
    modes = modes.with_columns(flow=pl.col("flow").cast(pl.String)).sort("t_s", maintain_order=True)
    before = pl.col("value").shift(1).over("flow")
    changed = (pl.col("value") != before) & (pl.col("t_s") >= scenario["warmup_s"])
    counts = modes.with_columns(changed=changed).group_by("flow").agg(pl.col("changed").sum())
    length = scenario["duration_s"] - scenario["warmup_s"]
    return {str(flow): int(count) / length for flow, count in counts.iter_rows()}
