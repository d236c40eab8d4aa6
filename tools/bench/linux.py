"""The engine `linux`: processor time of a data packet, beside the simulator's and the lab's."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from resource import RUSAGE_CHILDREN, getrusage
from typing import TYPE_CHECKING, Any, Literal

from tools.bench import Row, loads
from tools.bench.loads import Load

if TYPE_CHECKING:
    from fairhaul.scenario.engines import Engine

RUNS = 3
# A run that ends before a packet has arrived: what it takes is the start and the end of the kernel.
NOTHING = {"duration": "0.01 s", "warmup": "0 s"}
# What only the engine `linux` has: its keys of a flow.
CARD = ("offload", "host", "send_buffer", "receive_buffer")


@dataclass(frozen=True, kw_only=True)
class Use:
    """What a run took, and what it did."""

    cpu_s: float
    packets: int
    used: float

    @property
    def packet_us(self) -> float:
        """Processor time of a data packet, with its acknowledgement."""
        return self.cpu_s / self.packets * 1e6


def measure() -> Iterator[Row]:
    """Run a flow at three rates in Linux and in the simulator, and at the lowest in the lab.

    Raises:
        Refused: there is no program of Linux.
    """
    for load in loads.LINUX:
        aim = loads.LINUX_AIMS[load.name]
        start_s = _best(load, "linux", NOTHING).cpu_s
        use = _best(load, "linux")
        run = Use(cpu_s=use.cpu_s - start_s, packets=use.packets, used=use.used)
        yield _row(load, "a data packet", run.packet_us, "us", aim.packet_us)
        yield _row(load, "all of them", run.cpu_s, "s", aim.cpu_s)
        yield _row(load, "link used", 100 * use.used, "%", aim.used_percent, "least")
        yield _row(load, "start of the kernel", start_s, "s")
        yield _row(load, "a data packet, simulator", _best(load, "sim").packet_us, "us")
        if load == loads.LINUX[0]:
            yield from _in_the_lab(load)


def _in_the_lab(load: Load) -> Iterator[Row]:
    """The lab needs the rights for namespaces, without which there is no figure."""
    from fairhaul.host.process import Refused

    figure = "a data packet, lab"
    try:
        yield _row(load, figure, _run(load, "lab", {}).packet_us, "us")
    except Refused as why:
        yield Row(part="linux", load=load.name, figure=figure, measured=None, why=str(why))


def _best(load: Load, engine: Engine, changed: Mapping[str, str] | None = None) -> Use:
    runs = (_run(load, engine, changed or {}) for _ in range(RUNS))
    return min(runs, key=lambda use: use.cpu_s)


def _run(load: Load, engine: Engine, changed: Mapping[str, str]) -> Use:
    from fairhaul.measures.measures import measure as measured
    from fairhaul.runs.runs import for_each
    from fairhaul.scenario.read import read_one

    given: dict[str, Any] = tomllib.loads((loads.FOLDER / f"{load.file}.toml").read_text())
    if engine != "linux":
        given["flow"] = [
            {key: value for key, value in flow.items() if key not in CARD} for flow in given["flow"]
        ]
    before_s = _children_s()
    [record] = for_each([read_one(given, changed)], lambda _, record: record, engine=engine, jobs=1)
    cpu_s = _children_s() - before_s if engine == "lab" else float(record.meta["cpu_s"])
    return Use(
        cpu_s=cpu_s,
        packets=int(record.tables()["flow_series"]["sent"].sum()),
        used=measured(record)["links"][0]["utilization"],
    )


def _children_s() -> float:
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _row(
    load: Load,
    figure: str,
    measured: float,
    unit: str,
    target: float | None = None,
    bound: Literal["least", "most"] = "most",
) -> Row:
    return Row(
        part="linux",
        load=load.name,
        figure=figure,
        measured=measured,
        unit=unit,
        target=target,
        bound=bound,
    )
