"""The ramp-up of a new flow, and transients of other traffic [TCPEVAL, 5.2, 5.3]."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fairhaul.studies.tcpeval import network
from fairhaul.studies.tcpeval.cases import Case, Effort, Figures
from fairhaul.studies.tcpeval.load import Wanted
from fairhaul.studies.tcpeval.network import Ends, Link

if TYPE_CHECKING:
    from fairhaul.record.record import Record
    from fairhaul.studies.tcpeval.traffic import Made, Traffic

CENTRAL_S = 0.002
# Warm-up and prefilling of both capacities [TCPEVAL, Table 9]; the warm-up at 10 Mbit/s is that of
# the second seed, the longest.
CAPACITIES = {"10 Mbit/s": (10e6, 114.0, 500.0), "1 Gbit/s": (1e9, 102.0, 200.0)}
# Differs from [TCPEVAL, 5.2.1, 5.3.1, 6.2.1]: edges are at least ten times as fast as the link.
# Edges of its rate, whose queues have no limit here, would hold the queue of an endless flow.
FAST_EDGES = "10 Gbit/s"
BACKGROUND = 0.5
TEST_S = 600.0
BIN_S = 3.0
# Round trips of the flow that is there and of the new one.
ROUND_TRIPS_MS = ((80, 80), (120, 30), (30, 120))
MEAN_RTT_S = 0.1
# (1500 * 10^n) bytes [TCPEVAL, 5.2.3], as far as a link of 1 Gbit/s comes.
SIZES = tuple(1500 * 10**power for power in range(1, 8))


def size_key(size: int) -> str:
    """Give the key of the time to this number of bytes."""
    return f"s_to_{size}_bytes"


def size_name(size: int) -> str:
    """Write a number of bytes: `150 kB`."""
    unit, scale = next(
        (u, s) for u, s in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)) if size >= s
    )
    return f"{size / scale:g} {unit}"


def background(capacity: str, traffic: Traffic, effort: Effort, seed: int) -> Made:
    """Make traffic of half the capacity, as for the basic scenarios."""
    bps, warmup_s, prefill_s = CAPACITIES[capacity]
    wanted = Wanted(
        capacity_bps=bps,
        load=BACKGROUND,
        both_directions=False,
        warmup_s=effort.seconds(warmup_s),
        test_s=effort.seconds(TEST_S),
        prefill_s=effort.seconds(prefill_s),
        rtt_s=MEAN_RTT_S,
        bin_s=BIN_S,
    )
    return traffic.make(f"background-{capacity.split(maxsplit=1)[0]}", wanted, seed)


def background_flows(made: Made, controller: object) -> list[str]:
    """Write the flows of the background."""
    ends = {
        path: Ends(
            controller=controller,
            rtt_s=2 * (network.edges_s(path) + CENTRAL_S),
            folder=made.folder,
            name=path,
        )
        for path in made.sizes
    }
    return [network.exchanges(path, sizes, ends[path]) for path, sizes in made.sizes.items()]


def ramp_up(names: Mapping[str, Any], traffic: Traffic, effort: Effort) -> Iterator[Case]:
    """Start a flow without slow start beside one that is there, over traffic of half the link."""
    for capacity in CAPACITIES:
        link = Link(rate=capacity, delay_s=CENTRAL_S, buffer="80 ms", access=FAST_EDGES)
        for seed in range(1, effort.seeds + 1):
            made = background(capacity, traffic, effort, seed)
            for there, new in ROUND_TRIPS_MS:
                for name, controller in names.items():
                    flows = background_flows(made, controller)
                    flows.append(network.flow("there", controller, {"rtt": f"{there} ms"}))
                    begins = {
                        "rtt": f"{new} ms",
                        "start": network.seconds(made.warmup_s),
                        "initial_ssthresh": 10,
                    }
                    flows.append(network.flow("new", controller, begins))
                    title = f"Ramp-up at {capacity}, {there} and {new} ms, {name}"
                    times = made.warmup_s, made.length_s
                    yield Case(
                        test="ramp-up",
                        point=(capacity, f"{there}, {new} ms"),
                        controller=name,
                        seed=seed,
                        text=network.scenario(title, times, seed, link.text(), flows),
                        measure=time_of_bytes,
                    )


def time_of_bytes(record: Record) -> Figures:
    """Give when the (1500 * 10^n)-th byte of the new flow was received, after its start."""
    import polars as pl

    rows = record.flow_series.filter(pl.col("flow").cast(pl.Utf8) == "new").sort("t_s")
    start_s = float(record.meta["scenario"]["warmup_s"])
    ends = np.append(rows["t_s"].to_numpy()[1:], record.meta["scenario"]["duration_s"])
    received = np.cumsum(rows["goodput_bytes"].to_numpy())
    figures: dict[str, float | None] = {}
    for size in SIZES:
        place = int(np.searchsorted(received, size))
        late = place == len(received)
        figures[size_key(size)] = None if late else float(ends[place]) - start_s
    return figures


# The step at which other traffic changes, late enough for the end of slow start.
STEP_S = 100.0
AFTER_S = 100.0
UDP_BPS = 75e6
STEPS, EACH_BPS = 30, 2.5e6
CAPACITY_BPS, RTT_S = 100e6, 0.1
# Of the path, which the window reaches after the datagrams have ended [TCPEVAL, 5.3.3].
PARTS = (0.6, 0.8, 0.9)


def transients(names: Mapping[str, Any], traffic: Traffic, effort: Effort) -> Iterator[Case]:
    """Let datagrams of 75 Mbit/s end, begin, or begin in steps, beside one flow."""
    del traffic  # there is no other
    link = Link(rate="100 Mbit/s", delay_s=0.01, buffer="1024 packets", access=FAST_EDGES)
    for seed in range(1, effort.seeds + 1):
        for kind, udp in (("decrease", _ends()), ("increase", _begins()), ("steps", _steps())):
            for name, controller in names.items():
                flow = network.flow("test", controller, {"rtt": "100 ms"})
                times = STEP_S, STEP_S + AFTER_S
                title = f"Transient: {kind}, {name}"
                yield Case(
                    test="transients",
                    point=(kind,),
                    controller=name,
                    seed=seed,
                    text=network.scenario(title, times, seed, link.text(), [flow, *udp]),
                    measure=window_after if kind == "decrease" else dropped_datagrams,
                )


def _udp(name: str, rate_bps: float, begins_s: float, until_s: float | None = None) -> str:
    traffic: dict[str, object] = {"kind": "cbr", "rate": f"{rate_bps:.0f} bit/s"}
    if until_s is not None:
        traffic["until"] = network.seconds(until_s)
    keys = {
        "name": name,
        "rtt": "100 ms",
        "start": network.seconds(begins_s),
        "role": "background",
        "traffic": traffic,
    }
    return network.table("[[flow]]", keys)


def _ends() -> list[str]:
    return [_udp("udp", UDP_BPS, 0.0, STEP_S)]


def _begins() -> list[str]:
    return [_udp("udp", UDP_BPS, STEP_S)]


def _steps() -> list[str]:
    return [_udp(f"udp{step}", EACH_BPS, STEP_S + step) for step in range(STEPS)]


def window_after(record: Record) -> Figures:
    """Give when the window reaches parts of the path, and its largest change in a round trip."""
    import polars as pl

    rows = record.flow_series.filter(pl.col("flow").cast(pl.Utf8) == "test").sort("t_s")
    times, windows = rows["t_s"].to_numpy(), rows["cwnd_packets"].to_numpy()
    after = times >= STEP_S
    times, windows = times[after], windows[after]
    path_packets = CAPACITY_BPS * RTT_S / 8 / 1500
    figures: dict[str, float | None] = {}
    last = len(windows)
    for wanted in PARTS:
        reached = np.flatnonzero(windows >= wanted * path_packets)
        last = int(reached[0]) if len(reached) else len(windows)
        figures[f"s_to_{wanted:g}"] = float(times[last] - STEP_S) if len(reached) else None
    rising = windows[: last + 1]
    bins = max(round(RTT_S / float(times[1] - times[0])), 1)
    changes = np.abs(rising[bins:] - rising[:-bins]) if len(rising) > bins else np.zeros(1)
    figures["most_change_packets"] = float(changes.max())
    return figures


def dropped_datagrams(record: Record) -> Figures:
    """Give how many datagrams were dropped from the step on."""
    import polars as pl

    rows = record.flow_series.filter(
        pl.col("flow").cast(pl.Utf8).str.starts_with("udp") & (pl.col("t_s") >= STEP_S)
    )
    return {"dropped_packets": float(rows["lost"].sum())}
