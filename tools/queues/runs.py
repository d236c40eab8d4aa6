"""The runs: the set-up of the measurements as a scenario for each row, run on an engine."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairhaul.jobs.store import build_of, jobs_of
from fairhaul.jobs.values import Running, values
from fairhaul.scenario.read import Scenario, read_one
from tools.queues.rows import PACKET_B, Row
from tools.queues.statistic import LINK, delays_s

if TYPE_CHECKING:
    from fairhaul.scenario.engines import Engine

SETUP = Path(__file__).parent / "setup.toml"
PACKET_TIME_S = PACKET_B * 8 / 10e9


def scenario(row: Row, engine: Engine, overrides: Mapping[str, object] | None = None) -> Scenario:
    """Give the scenario of a row on an engine; `overrides` change keys of the set-up."""
    setup = tomllib.loads(SETUP.read_text(encoding="utf-8"))
    own = {
        "flow.F.controller": row.controller,
        "flow.F.count": row.flows,
        f"link.{LINK}.queue.capacity": f"{row.capacity} packets",
    }
    given = {**setup.get(engine, {}), **(overrides or {})}
    return read_one(
        setup["scenario"],
        {**own, **{key: _filled(value, row) for key, value in given.items()}},
    )


def _filled(value: object, row: Row) -> object:
    """Put the size of a burst into a value that asks for it."""
    return value.replace("{burst}", str(row.burst)) if isinstance(value, str) else value


def depth(delay_s: float) -> int:
    """Give the depth that a packet saw when it left, in packets as the switch counts them.

    A packet is counted itself, and takes 113 cells of 80 B, so that one without company counts as
    1.004 packets of 9000 B, which is rounded up.
    """
    return max(2, math.ceil(delay_s / PACKET_TIME_S))


def medians(
    rows: Sequence[Row],
    engine: Engine,
    seeds: int,
    running: Running,
    overrides: Mapping[str, object] | None = None,
) -> list[list[int]]:
    """Give the median depth of each row with each seed.

    Raises:
        RunError: a run failed.
        Refused: the engine cannot run here.
    """
    build = build_of(delays_s)
    jobs = [
        jobs_of(scenario(row, engine, overrides), seeds, engine, "delays_s", build) for row in rows
    ]
    flat = iter(values([job for each in jobs for job in each], delays_s, running, engine=engine))
    return [[depth(next(flat)[0]) for _ in each] for each in jobs]
