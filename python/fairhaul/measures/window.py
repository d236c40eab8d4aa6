"""A record as if only a part of its time had been measured."""

from __future__ import annotations

from typing import Any

from fairhaul.record.columns import columns_of
from fairhaul.record.record import TABLES, Record

# Times are sums of binary fractions.
ROUNDING = 1e-9


def cut(record: Record, from_s: float, until_s: float) -> Record:
    """Give `record` with figures over [from_s, until_s), each rounded up to the edge of a bin.

    What happened before is in it, as what happens in a warm-up is. A reduction before `until_s`
    that was undone later stays undone.
    """
    scenario = record.meta["scenario"]
    if (from_s, until_s) == (scenario["warmup_s"], scenario["duration_s"]):
        return record
    starts = columns_of(record.raw("flow_series")).numbers["t_s"]
    edges = [*sorted(set(starts.tolist())), scenario["duration_s"]]
    # The time has at least one bin.
    last = next(i for i, edge in enumerate(edges) if i and edge >= until_s - ROUNDING)
    first = next(i for i, edge in enumerate(edges) if i == last - 1 or edge >= from_s - ROUNDING)
    start_s, end_s = edges[first], edges[last]
    meta = {**record.meta, "scenario": scenario | {"warmup_s": start_s, "duration_s": end_s}}
    if end_s == scenario["duration_s"]:
        tables: dict[str, Any] = {name: record.raw(name) for name in TABLES}
        return Record(meta=meta, **tables)
    return Record(meta=meta, **_before(record, end_s))


def _before(record: Record, end_s: float) -> dict[str, Any]:
    """Give the tables without what came after `end_s`."""
    import polars as pl

    early = pl.col("t_s") < end_s
    return {
        "flow_series": record.flow_series.filter(early),
        "link_series": record.link_series.filter(early),
        "gauge": record.gauge.filter(early),
        "flow_gauge": record.flow_gauge.filter(early),
        "event": record.event.filter(early | (pl.col("kind").cast(pl.String) == "undone")),
        "transfer": record.transfer.filter(pl.col("start_s") < end_s),
    }
