"""What an engine gives as a record."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fairhaul import _core
from fairhaul.record.record import SCHEMA, Record
from fairhaul.record.trace.outlet import Outlet
from fairhaul.scenario.link import source_of
from fairhaul.scenario.read import Scenario, variant


def record_of(
    scenario: Scenario, outcome: _core.Outcome, cpu_s: float, more: Mapping[str, Any]
) -> Record:
    """Build the record of a run; `more` is added to its `meta`."""
    outlet = outcome.outlet
    meta: dict[str, Any] = {
        "schema": SCHEMA,
        "engine": outcome.engine,
        "version": _core.__version__,
        "seed": scenario.seed,
        "packets": outcome.packets,
        "cpu_s": cpu_s,
        "variant": variant(scenario),
        "trace_is_full": outcome.trace_is_full or (outlet is not None and outlet[3]),
        # A dictionary of its own, because the scenario may outlive the record, and not keep one.
        "scenario": json.loads(scenario.describe()),
    }
    if outcome.closures:
        names = [flow["name"] for flow in meta["scenario"]["flows"]]
        meta["closures"] = [
            {"t_s": t_s, "flow": names[flow], "reason": reason}
            for t_s, flow, reason in outcome.closures
        ]
    if not scenario.own():
        meta["source"] = source_of(scenario)
    tables: dict[str, Any] = dict(outcome.tables)
    if outcome.trace is not None:
        import polars as pl

        tables["trace"] = pl.DataFrame(outcome.trace)
    if outlet is not None:
        contents, keys, (of_sender, of_receiver), _ = outlet
        tables["outlet"] = Outlet(contents=contents, keys=keys, logs=(of_sender, of_receiver))
    return Record(meta={**meta, **more}, **tables)
