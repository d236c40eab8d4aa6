"""The runs: the set-up of the measurements as a scenario for each row, run on an engine."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairhaul.jobs.store import build_of, jobs_of
from fairhaul.jobs.values import Running, values
from fairhaul.scenario.read import Scenario, read_as_typed
from tools.queues.rows import PACKET_B, RATE_BPS, Row
from tools.queues.statistic import LINK, delays_s

if TYPE_CHECKING:
    from fairhaul.scenario.engines import Engine

SETUP = Path(__file__).parent / "setup.toml"
PACKET_TIME_S = PACKET_B * 8 / RATE_BPS


def scenario(row: Row, overrides: Mapping[str, str] | None = None) -> Scenario:
    """Give the scenario of a row; `overrides` change keys of the set-up."""
    setup = tomllib.loads(SETUP.read_text(encoding="utf-8"))
    own = {
        "flow.F.controller": row.controller,
        "flow.F.count": str(row.flows),
        f"link.{LINK}.queue.capacity": f"{row.capacity} packets",
    }
    (given,) = read_as_typed(setup["scenario"], [*own.items(), *(overrides or {}).items()])
    return given


def medians(
    rows: Sequence[Row],
    engine: Engine,
    seeds: int,
    running: Running,
    overrides: Mapping[str, str] | None = None,
) -> list[list[float]]:
    """Give the median of each row with each seed, in packets that are not rounded.

    Raises:
        RunError: a run failed.
        Refused: the engine cannot run here.
    """
    build = build_of(delays_s)
    jobs = [jobs_of(scenario(row, overrides), seeds, engine, "delays_s", build) for row in rows]
    flat = iter(values([job for each in jobs for job in each], delays_s, running, engine=engine))
    return [[next(flat)[0] / PACKET_TIME_S for _ in each] for each in jobs]
