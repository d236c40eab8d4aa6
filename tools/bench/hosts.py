"""Flows of Linux hosts, whose bursts are simulated as one, beside the same packet by packet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import polars as pl

from fairhaul.runs.runs import for_each
from fairhaul.scenario.read import read_as_typed
from tools.bench import Row, loads
from tools.bench.timing import ENGINE, once

if TYPE_CHECKING:
    from fairhaul.record.record import Record
    from tools.bench.loads import Load

SINGLE = {"grain": "packet"}
# Long enough for the losses after slow start, and short enough for single packets.
BESIDE: Mapping[str, Mapping[str, str]] = {
    "H1": {"duration": "30 s", "warmup": "5 s"},
    "H2": {"duration": "20 s", "warmup": "5 s"},
}
TRACED = "F[0]"


def measure() -> Iterator[Row]:
    """Run H1 and H2 whole, a part of both beside single packets, and H3 with ten flows and 1000."""
    for load in loads.HOSTS:
        aim = loads.HOST_AIMS[load.name]
        use = once(ENGINE, load)
        yield _row(load, "processor time", use.cpu_s, "s", aim.cpu_s)
        yield _row(load, "peak memory", use.peak_mb, "MB", aim.peak_mb)
        short = load.with_settings(BESIDE[load.name])
        single, together = once(ENGINE, short.with_settings(SINGLE)), once(ENGINE, short)
        yield _row(load, "single packets over bursts", single.cpu_s / together.cpu_s, "x")
    costs = []
    for load in loads.HOST_SERIES:
        packets, ns = packets_per_burst(load), once(ENGINE, load).ns
        costs.append(packets * ns)
        yield _row(load, "packets of a burst", packets, "")
        yield _row(load, "a burst", costs[-1], "ns")
    yield _row(
        loads.HOST_SERIES[-1],
        "a burst, over that with ten flows",
        costs[-1] / costs[0],
        "x",
        loads.MOST_OVER_HOST_FLOWS,
    )


def packets_per_burst(load: Load) -> float:
    """Give the mean burst of the first flow, from its packet trace."""
    [scenario] = read_as_typed(load.path, list(load.settings.items()))
    [mean] = for_each([scenario], _mean_burst, trace=TRACED)
    return float(mean)


def _mean_burst(_: int, record: Record) -> float:
    trace = record.trace
    if trace is None:
        raise ValueError("a record without a packet trace")
    # Packets of a burst leave at one time, and bursts after random processing times.
    times = trace.filter(trace["what"].cast(pl.String) == "sent")["t_s"]
    return len(times) / times.n_unique()


def _row(load: Load, figure: str, measured: float, unit: str, target: float | None = None) -> Row:
    return Row(
        part="hosts", load=load.name, figure=figure, measured=measured, unit=unit, target=target
    )
