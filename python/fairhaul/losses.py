"""The losses of a run as its senders detected them, without undone reductions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from fairhaul.record import Record

# A loss, or the echo of a mark that a queue sets instead of a drop: one reduction of the window.
REDUCTIONS = ("reduction", "marked")
LOSSES = (*REDUCTIONS, "timeout")


def not_undone(record: Record) -> pl.DataFrame:
    """Give the reductions and timeouts of `record` that were not undone.

    An event `undone` has a start time: packets were late and not lost. It undoes the reductions of
    its flow since that time; in a flow of many connections, those of every connection in that time,
    which is about one round trip.
    """
    import polars as pl

    flow, value, t = pl.col("flow").cast(pl.String), pl.col("value"), pl.col("t_s")
    events = record.event.with_columns(pl.col("kind").cast(pl.String), flow).sort("t_s")
    losses = events.filter(pl.col("kind").is_in(LOSSES))
    undone = events.filter(pl.col("kind") == "undone")
    if undone.is_empty():
        return losses
    next_undone = undone.select("flow", since=value, until=t)
    return (
        losses.join_asof(
            next_undone,
            left_on="t_s",
            right_on="until",
            by="flow",
            strategy="forward",
            check_sortedness=False,
        )
        .filter(pl.col("since").is_null() | (pl.col("since") > t))
        .select(losses.columns)
    )
