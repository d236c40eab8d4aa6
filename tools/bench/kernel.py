"""What the kernel's eBPF ports cost beside its own `cubic`.

`crates/host/examples/cost` measures it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fairhaul.host import process as host
from tools.bench import Row, cost

PATH = "200 Mbit/s, 20 ms"


def measure() -> Iterator[Row]:
    """Time the acknowledgements of every eBPF port, and its throughput, alternating with `cubic`.

    Raises:
        Refused: Root, the eBPF ports or a feature of the kernel is missing.
        RuntimeError: The example could not be built.
        RunError: It failed on the way.
    """
    # Without fairhaul-host the example cannot be built either: `ask` refuses, and says why.
    program = cost.built("host", "cost") if host.PROGRAM.is_file() else host.PROGRAM
    costs = host.ask({}, program=program)
    for figures in costs["acknowledgements"]:
        yield from _acknowledgement(figures)
    yield from _paced(costs["paced"])
    yield from _path(costs["path"])


def _acknowledgement(cost: Mapping[str, Any]) -> Iterator[Row]:
    load = f"{'port' if cost['is_port'] else 'kernel'} {cost['name']}"
    over = cost["over_cubic"]
    yield _row(load, "an acknowledgement", cost["ns"]["median"], "ns")
    yield _row(load, "over cubic, median of rounds", over["median"], "x")
    yield _row(load, "over cubic, least", over["least"], "x")
    yield _row(load, "over cubic, most", over["most"], "x")
    if cost["programs_ns"] is not None:
        yield _row(load, "of it, its programs", cost["programs_ns"]["median"], "ns")


def _paced(paced: Mapping[str, Any]) -> Iterator[Row]:
    load = f"{PATH}, paced"
    yield _row(load, "cubic, processor time of a packet", paced["cubic_ns"]["median"], "ns")
    yield _row(load, "cubic, goodput", paced["cubic_bps"]["median"] / 1e6, "Mbit/s")
    for one in paced["controllers"]:
        name = f"{'port' if one['is_port'] else 'kernel'} {one['name']}"
        yield _row(load, f"{name}, processor time of a packet", one["ns"]["median"], "ns")
        yield _row(load, f"{name} over cubic, median of turns", one["over_cubic"]["median"], "x")
        yield _row(load, f"{name} over cubic, least", one["over_cubic"]["least"], "x")
        yield _row(load, f"{name} over cubic, most", one["over_cubic"]["most"], "x")
        yield _row(load, f"{name}, goodput", one["goodput_bps"]["median"] / 1e6, "Mbit/s")
        if one["programs_ns"] is not None:
            yield _row(load, f"{name}, of it, its programs", one["programs_ns"], "ns")


def _path(path: Mapping[str, Any]) -> Iterator[Row]:
    cubic = path["cubic_bps"]
    yield _row(PATH, "cubic, goodput, median of turns", cubic["median"] / 1e6, "Mbit/s")
    yield _row(PATH, "cubic, least", cubic["least"] / 1e6, "Mbit/s")
    yield _row(PATH, "cubic, most", cubic["most"] / 1e6, "Mbit/s")
    for port in path["ports"]:
        yield _row(PATH, f"{port['name']}, goodput", port["goodput_bps"] / 1e6, "Mbit/s")
        yield _row(PATH, f"{port['name']} over cubic", port["over_cubic"], "x")
    yield _row(PATH, "one packet in a hundred late by", 1e6 * path["lag_p99_s"], "us")


def _row(load: str, figure: str, measured: float, unit: str) -> Row:
    return Row(part="kernel", load=load, figure=figure, measured=measured, unit=unit)
