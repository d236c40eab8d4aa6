"""Basic scenarios, the trade-off of delay and throughput, and the impact on standard TCP."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fairhaul.measures.measures import measure
from fairhaul.studies.tcpeval import network
from fairhaul.studies.tcpeval.cases import STANDARD, Case, Effort, Figures, percent
from fairhaul.studies.tcpeval.links import ACCESS, BASIC, Basic, Times
from fairhaul.studies.tcpeval.load import Wanted
from fairhaul.studies.tcpeval.network import Ends

if TYPE_CHECKING:
    from fairhaul.record.record import Record
    from fairhaul.studies.tcpeval.traffic import Made, Traffic

# Parts of the product of rate and 100 ms [TCPEVAL, 5.1.1].
BUFFERS = (0.1, 0.2, 0.5, 1.0, 2.0)
MEAN_RTT_S = 0.1
# Loads and times of both camps together [TCPEVAL, Table 10], which are those of 100 Mbit/s.
CAMPS = {
    0.5: Times(warmup_s=26, test_s=508, prefill_s=45.9),
    1.0: Times(warmup_s=50, test_s=498, prefill_s=91.8),
}


def basic(names: Mapping[str, Any], traffic: Traffic, effort: Effort) -> Iterator[Case]:
    """Run all links at all loads, with each controller and with standard TCP."""
    for of in BASIC:
        for load in of.times:
            for seed in range(1, effort.seeds + 1):
                made = _made(of, load, traffic, effort, seed)
                for name, controller in names.items():
                    title = f"{of.title}, load {percent(load)}, {name}"
                    yield Case(
                        test="basic",
                        point=(of.name, f"{percent(load)}"),
                        controller=name,
                        seed=seed,
                        text=_text(of, title, seed, made, [("", controller)]),
                        measure=central_link,
                    )


def tradeoff(names: Mapping[str, Any], traffic: Traffic, effort: Effort) -> Iterator[Case]:
    """Run the access link at a load of 85 % with buffers from 10 to 200 %."""
    for seed in range(1, effort.seeds + 1):
        made = _made(ACCESS, 0.85, traffic, effort, seed)
        for part in BUFFERS:
            buffer = f"{round(1000 * part * MEAN_RTT_S)} ms"
            of = replace(ACCESS, link=replace(ACCESS.link, buffer=buffer))
            for name, controller in names.items():
                title = f"Access link, load 85 %, buffer of {percent(part)}, {name}"
                yield Case(
                    test="tradeoff",
                    point=(f"{percent(part)}",),
                    controller=name,
                    seed=seed,
                    text=_text(of, title, seed, made, [("", controller)]),
                    measure=central_link,
                )


def impact(names: Mapping[str, Any], traffic: Traffic, effort: Effort) -> Iterator[Case]:
    """Run two camps of equal connections: A has standard TCP, B the controller."""
    for load, times in CAMPS.items():
        of = replace(ACCESS, times={load / 2: times})
        for seed in range(1, effort.seeds + 1):
            made = _made(of, load / 2, traffic, effort, seed)
            for name, controller in names.items():
                camps = [("A-", names[STANDARD]), ("B-", controller)]
                yield Case(
                    test="impact",
                    point=(f"{percent(load)}",),
                    controller=name,
                    seed=seed,
                    text=_text(of, f"Two camps, load {percent(load)}, {name}", seed, made, camps),
                    measure=camp_goodput,
                )


def _made(of: Basic, load: float, traffic: Traffic, effort: Effort, seed: int) -> Made:
    times = of.times[load]
    central_s = 2 * of.link.delay_s
    edges = [network.edges_s(path, of.left_s, of.right_s) for path in network.PATHS]
    wanted = Wanted(
        capacity_bps=of.capacity_bps,
        load=load,
        both_directions=of.both_directions,
        warmup_s=effort.seconds(times.warmup_s),
        test_s=effort.seconds(times.test_s),
        prefill_s=effort.seconds(times.prefill_s),
        rtt_s=central_s + 2 * sum(edges) / len(edges),
    )
    return traffic.make(f"{of.name}-{round(100 * load)}", wanted, seed)


def _text(of: Basic, title: str, seed: int, made: Made, camps: list[tuple[str, Any]]) -> str:
    flows = [
        network.exchanges(
            path,
            sizes,
            Ends(
                controller=controller,
                rtt_s=2 * (network.edges_s(path, of.left_s, of.right_s) + of.link.delay_s),
                folder=made.folder,
                name=f"{prefix}{path}",
            ),
        )
        for prefix, controller in camps
        for path, sizes in made.sizes.items()
    ]
    times = made.warmup_s, made.length_s
    return network.scenario(title, times, seed, of.link.text(), flows)


def central_link(record: Record) -> Figures:
    """Measure the central link in each direction [TCPEVAL, 4.5], and short and long transfers."""
    links = measure(record)["links"]
    figures: dict[str, float | None] = {}
    for link, direction in zip(links, ("", "_up"), strict=True):
        figures[f"utilization{direction}"] = link["utilization"]
        figures[f"drop_rate{direction}"] = link["drop_rate"]
        figures[f"queue_s{direction}"] = link["queue_mean_s"]
    return figures | _transfer_times(record)


def _transfer_times(record: Record) -> dict[str, float | None]:
    """Give the median time of transfers that start in the test and end, by their size."""
    import polars as pl

    rows = record.transfer.filter(pl.col("start_s") >= record.meta["scenario"]["warmup_s"])
    took = (pl.col("end_s") - pl.col("start_s")).alias("took_s")
    ended = rows.filter(pl.col("end_s").is_not_nan() & pl.col("end_s").is_not_null()).with_columns(
        took
    )
    small = ended.filter(pl.col("bytes") <= 10_000)["took_s"].median()
    large = ended.filter(pl.col("bytes") >= 1_000_000)["took_s"].median()
    return {"small_transfer_s": _number(small), "large_transfer_s": _number(large)}


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def camp_goodput(record: Record) -> Figures:
    """Give the goodput of each camp, both directions together."""
    flows = measure(record)["flows"]
    return {
        f"goodput_{camp}": sum(flow["goodput_bps"] for flow in flows if flow["name"][0] == camp)
        for camp in "AB"
    }
