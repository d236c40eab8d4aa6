"""What is measured in the runs of the suite, by the names that `suite.toml` has for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from fairhaul.measures.measures import measure
from fairhaul.record.record import Record

if TYPE_CHECKING:
    from fairhaul.scenario.read import Scenario

Figures = Mapping[str, float | None]

# (1500 * 10^n) bytes [TCPEVAL, 5.2.3], as far as a link of 1 Gbit/s comes.
SIZES = tuple(1500 * 10**power for power in range(1, 8))
# The bottleneck of the transients, and the parts of the path that the window reaches after the
# datagrams have ended [TCPEVAL, 5.3.3].
CAPACITY_BPS, RTT_S = 100e6, 0.1
PARTS = (0.6, 0.8, 0.9)


def central_link(_: Scenario, record: Record) -> Figures:
    """Measure the central link in each direction [TCPEVAL, 4.5], and short and long transfers."""
    figures: dict[str, float | None] = {}
    for link, direction in zip(measure(record)["links"], ("", "_up"), strict=True):
        figures[f"utilization{direction}"] = link["utilization"]
        figures[f"drop_rate{direction}"] = link["drop_rate"]
        figures[f"queue_s{direction}"] = link["queue_mean_s"]
    return figures | _transfer_times(record)


def _transfer_times(record: Record) -> dict[str, float | None]:
    """Give the median time of transfers that start in the test and end, by their size."""
    took = (pl.col("end_s") - pl.col("start_s")).alias("took_s")
    ended = record.transfer.filter(
        (pl.col("start_s") >= record.meta["scenario"]["warmup_s"])
        & pl.col("end_s").is_not_nan()
        & pl.col("end_s").is_not_null()
    ).with_columns(took)
    small = ended.filter(pl.col("bytes") <= 10_000)["took_s"].median()
    large = ended.filter(pl.col("bytes") >= 1_000_000)["took_s"].median()
    return {"small_transfer_s": _number(small), "large_transfer_s": _number(large)}


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def time_of_bytes(_: Scenario, record: Record) -> Figures:
    """Give when the (1500 * 10^n)-th byte of the new flow was received, after its start."""
    rows = record.flow_series.filter(pl.col("flow").cast(pl.Utf8) == "new").sort("t_s")
    start_s = float(record.meta["scenario"]["warmup_s"])
    ends = np.append(rows["t_s"].to_numpy()[1:], record.meta["scenario"]["duration_s"])
    received = np.cumsum(rows["goodput_bytes"].to_numpy())
    figures: dict[str, float | None] = {}
    for size in SIZES:
        place = int(np.searchsorted(received, size))
        late = place == len(received)
        figures[f"s_to_{size}_bytes"] = None if late else float(ends[place]) - start_s
    return figures


def after_the_step(_: Scenario, record: Record) -> Figures:
    """Give how many datagrams were dropped after the warm-up; how the window grew if none came."""
    step_s = record.meta["scenario"]["warmup_s"]
    after = record.flow_series.filter(pl.col("t_s") >= step_s)
    datagrams = after.filter(pl.col("flow").cast(pl.Utf8).str.starts_with("udp"))
    if datagrams["sent"].sum():
        return {"dropped_packets": float(datagrams["lost"].sum())}
    rows = after.filter(pl.col("flow").cast(pl.Utf8) == "test").sort("t_s")
    times, windows = rows["t_s"].to_numpy(), rows["cwnd_packets"].to_numpy()
    path_packets = CAPACITY_BPS * RTT_S / 8 / 1500
    figures: dict[str, float | None] = {}
    last = len(windows)
    for part in PARTS:
        reached = np.flatnonzero(windows >= part * path_packets)
        last = int(reached[0]) if len(reached) else len(windows)
        figures[f"s_to_{part:g}"] = float(times[last] - step_s) if len(reached) else None
    rising = windows[: last + 1]
    bins = max(round(RTT_S / float(times[1] - times[0])), 1)
    changes = np.abs(rising[bins:] - rising[:-bins]) if len(rising) > bins else np.zeros(1)
    return {**figures, "most_change_packets": float(changes.max())}


def goodput_of_camps(_: Scenario, record: Record) -> Figures:
    """Give the goodput of camps B and A, both directions together.

    Relative to that of standard TCP in both camps they are gain and loss [TCPEVAL, 6.1.3]: the gain
    is that of camp B, which changed its controller; the loss is what camp A kept.
    """
    goodput = _goodputs(record)
    return {"gain": goodput["B"], "loss": goodput["A"]}


def ratio_of_two(_: Scenario, record: Record) -> Figures:
    """Give the goodput of the first flow over that of the second, and the drop rate."""
    goodput = _goodputs(record)
    ratio = goodput["first"] / goodput["second"] if goodput["second"] else None
    return {"ratio": ratio, "drop_rate": measure(record)["links"][0]["drop_rate"]}


def one_over_three(_: Scenario, record: Record) -> Figures:
    """Give the mean goodput of sources with one bottleneck over that of the one with three."""
    goodput = _goodputs(record)
    single = sum(goodput[source] for source in "ABC") / 3
    dropped = max(link["drop_rate"] or 0.0 for link in measure(record)["links"])
    return {"ratio": single / goodput["all"] if goodput["all"] else None, "drop_rate": dropped}


def _goodputs(record: Record) -> dict[str, float]:
    """Add up the goodput of the flows whose names have the same first word."""
    goodputs: dict[str, float] = {}
    for flow in measure(record)["flows"]:
        name = flow["name"].split("-")[0]
        goodputs[name] = goodputs.get(name, 0.0) + flow["goodput_bps"]
    return goodputs


MEASURES: Mapping[str, Callable[[Scenario, Record], Figures]] = {
    function.__name__: function
    for function in (
        central_link,
        time_of_bytes,
        after_the_step,
        goodput_of_camps,
        ratio_of_two,
        one_over_three,
    )
}
