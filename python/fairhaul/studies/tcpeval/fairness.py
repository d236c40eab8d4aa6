"""Two flows of a controller, and several bottlenecks [TCPEVAL, 6.2, 6.3]."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from fairhaul.measures.measures import measure
from fairhaul.studies.tcpeval import network
from fairhaul.studies.tcpeval.cases import Case, Effort, Figures, percent
from fairhaul.studies.tcpeval.latency import (
    CAPACITIES,
    CENTRAL_S,
    FAST_EDGES,
    MEAN_RTT_S,
    background,
    background_flows,
)
from fairhaul.studies.tcpeval.links import Times
from fairhaul.studies.tcpeval.load import Wanted
from fairhaul.studies.tcpeval.network import Ends, Link

if TYPE_CHECKING:
    from fairhaul.record.record import Record
    from fairhaul.studies.tcpeval.traffic import Made, Traffic

ROUND_TRIPS_MS = (10, 20, 40, 80, 160)
BUFFERS = (0.25, 0.5, 1.0, 2.0)


def fairness(names: Mapping[str, Any], traffic: Traffic, effort: Effort) -> Iterator[Case]:
    """Run two flows, with equal round trips and with one of 160 ms, over other traffic."""
    kinds = [(ms, ms) for ms in ROUND_TRIPS_MS]
    kinds += [(160, ms) for ms in ROUND_TRIPS_MS[:-1]]
    for capacity in CAPACITIES:
        for seed in range(1, effort.seeds + 1):
            made = background(capacity, traffic, effort, seed)
            lasts_s = made.length_s - made.warmup_s
            for part in BUFFERS:
                buffer = f"{round(1000 * part * MEAN_RTT_S)} ms"
                link = Link(rate=capacity, delay_s=CENTRAL_S, buffer=buffer, access=FAST_EDGES)
                for first_ms, second_ms in kinds:
                    for name, controller in names.items():
                        flows = background_flows(made, controller)
                        flows += _pair(controller, first_ms, second_ms, lasts_s)
                        title = f"{first_ms} and {second_ms} ms at {capacity}, {name}"
                        # Measured once both flows have started.
                        times = 0.1 * lasts_s, lasts_s
                        yield Case(
                            test="fairness",
                            point=(capacity, f"{percent(part)}", f"{first_ms}, {second_ms} ms"),
                            controller=name,
                            seed=seed,
                            text=network.scenario(title, times, seed, link.text(), flows),
                            measure=ratio_of_two,
                        )


def _pair(controller: object, first_ms: int, second_ms: int, lasts_s: float) -> list[str]:
    """Write two flows that start in the first tenth of the run; the first one earlier."""
    half = 0.05 * lasts_s
    early = f"uniform 0 s..{network.seconds(half)}"
    late = f"uniform {network.seconds(half)}..{network.seconds(2 * half)}"
    equal = f"uniform 0 s..{network.seconds(2 * half)}"
    starts = (equal, equal) if first_ms == second_ms else (early, late)
    return [
        network.flow(name, controller, {"rtt": f"{ms} ms", "start": start})
        for name, ms, start in zip(("first", "second"), (first_ms, second_ms), starts, strict=True)
    ]


def ratio_of_two(record: Record) -> Figures:
    """Give the throughput of the first flow over that of the second, and the drop rate."""
    measured = measure(record)
    flows = {flow["name"]: flow["goodput_bps"] for flow in measured["flows"]}
    ratio = flows["first"] / flows["second"] if flows["second"] else None
    return {"ratio": ratio, "drop_rate": measured["links"][0]["drop_rate"]}


# Offered by each source, and the times [TCPEVAL, Table 11].
LOADS = {
    0.3: Times(warmup_s=173, test_s=470, prefill_s=41.4),
    0.4: Times(warmup_s=37, test_s=2052, prefill_s=55.2),
    0.5: Times(warmup_s=38, test_s=1338, prefill_s=69.0),
}
PATH = "r4s1"
# Routers in the direction of most of the data, and what each source crosses.
ROUTERS = ("router4", "router3", "router2", "router1")
SOURCES = {
    "all": ("router4", "router1"),
    "A": ("router2", "router1"),
    "B": ("router3", "router2"),
    "C": ("router4", "router3"),
}
LOT_BPS, LOT_RTT_S = 100e6, 0.06


def bottlenecks(names: Mapping[str, Any], traffic: Traffic, effort: Effort) -> Iterator[Case]:
    """Run a parking lot: one source crosses all three bottlenecks, each other one crosses one."""
    lot = _parking_lot()
    for load, times in LOADS.items():
        wanted = Wanted(
            capacity_bps=LOT_BPS,
            load=load,
            both_directions=False,
            warmup_s=effort.seconds(times.warmup_s),
            test_s=effort.seconds(times.test_s),
            prefill_s=effort.seconds(times.prefill_s),
            rtt_s=LOT_RTT_S,
        )
        for seed in range(1, effort.seeds + 1):
            each = {
                source: traffic.make(f"lot-{round(100 * load)}-{source}", wanted, seed, (PATH,))
                for source in SOURCES
            }
            warmup_s = max(made.warmup_s for made in each.values())
            length_s = min(made.length_s for made in each.values())
            for name, controller in names.items():
                flows = [_source(source, made, controller) for source, made in each.items()]
                title = f"Three bottlenecks, load {percent(2 * load)}, {name}"
                yield Case(
                    test="bottlenecks",
                    point=(f"{percent(2 * load)}",),
                    controller=name,
                    seed=seed,
                    text=network.scenario(title, (warmup_s, length_s), seed, lot, flows),
                    measure=single_over_multiple,
                )


def _parking_lot() -> str:
    """Write three links, one behind the other."""
    nodes = [network.table("[[node]]", {"name": name}) for name in ROUTERS]
    links = [
        network.table(
            "[[link]]",
            {
                "name": name,
                "from": there,
                "to": back,
                "rate": "100 Mbit/s",
                "delay": "10 ms",
                # Unclear in [TCPEVAL, 6.3]: the buffers. As for the access link.
                "queue": {"kind": "droptail", "capacity": "100 ms"},
            },
        )
        for name, there, back in zip("CBA", ROUTERS, ROUTERS[1:], strict=False)
    ]
    return "\n".join([*nodes, *links])


def _source(name: str, made: Made, controller: object) -> str:
    ends = Ends(
        controller=controller,
        rtt_s=LOT_RTT_S,
        folder=made.folder,
        name=name,
        nodes=SOURCES[name],
    )
    return network.exchanges(PATH, made.sizes[PATH], ends)


def single_over_multiple(record: Record) -> Figures:
    """Give the mean throughput of sources with one bottleneck over that of the one with three."""
    measured = measure(record)
    goodput = dict.fromkeys(SOURCES, 0.0)
    for flow in measured["flows"]:
        goodput[flow["name"].split("-")[0]] += flow["goodput_bps"]
    single = sum(of for name, of in goodput.items() if name != "all") / (len(SOURCES) - 1)
    dropped = max(link["drop_rate"] or 0.0 for link in measured["links"])
    return {"ratio": single / goodput["all"] if goodput["all"] else None, "drop_rate": dropped}
