"""Queues of the simulator beside the same disciplines of the kernel, by the engine `linux`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from fairhaul.jobs.store import build_of, jobs_of
from fairhaul.jobs.values import Running, values
from fairhaul.measures.measures import measure
from fairhaul.scenario.read import read_one
from fairhaul.statistics.estimate import STRICT_LEVEL, estimate
from tools.l4s import ROOT, SCENARIOS

if TYPE_CHECKING:
    from fairhaul.record.record import Record
    from fairhaul.scenario.engines import Engine
    from fairhaul.scenario.read import Scenario

KERNEL = ROOT / "scenarios" / "kernel"
_MARKED = {f"flow.{name}.ecn": True for name in ("near", "far", "reno")}


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A queue of ours, and the words of `tc` for the kernel's, in a scenario."""

    ours: Mapping[str, Any]
    qdisc: str
    file: Path = KERNEL / "queues-beside.toml"
    changes: Mapping[str, object] = field(default_factory=dict)
    seeds: int = 5


def _cake(**more: object) -> Mapping[str, Any]:
    return {"kind": "cake", "capacity": "10000 packets", "bandwidth": 20, **more}


CELLS: Mapping[str, Cell] = {
    "cake": Cell(ours=_cake(tins="besteffort"), qdisc="cake bandwidth 20mbit besteffort"),
    "cake, three tins": Cell(
        ours=_cake(tins="diffserv3"),
        qdisc="cake bandwidth 20mbit diffserv3",
        changes={"flow.far.dscp": "CS1", "flow.reno.dscp": "EF"},
    ),
    "cake, four tins": Cell(
        ours=_cake(tins="diffserv4"),
        qdisc="cake bandwidth 20mbit diffserv4",
        changes={"flow.near.dscp": "CS1", "flow.reno.dscp": "AF41"},
    ),
    "cake, hosts": Cell(
        ours=_cake(capacity="4 MB"),
        qdisc="cake bandwidth 20mbit triple-isolate",
        file=SCENARIOS / "home.toml",
    ),
    "cake, hosts, by flows": Cell(
        ours=_cake(capacity="4 MB", sharing="flows"),
        qdisc="cake bandwidth 20mbit flows",
        file=SCENARIOS / "home.toml",
    ),
    "fq": Cell(ours={"kind": "fq", "capacity": "10000 packets"}, qdisc="fq"),
    "fq, ce_threshold": Cell(
        ours={"kind": "fq", "capacity": "10000 packets", "ce_threshold": 20},
        qdisc="fq ce_threshold 20ms",
        changes=_MARKED,
        seeds=15,
    ),
    "fq_codel": Cell(
        ours={"kind": "fq_codel", "variant": "linux", "capacity": "10240 packets"},
        qdisc="fq_codel",
        seeds=15,
    ),
    "fq_codel, ce_threshold": Cell(
        ours={
            "kind": "fq_codel",
            "variant": "linux",
            "capacity": "10240 packets",
            "ce_threshold": 3,
        },
        qdisc="fq_codel ecn ce_threshold 3ms",
        changes=_MARKED,
        seeds=15,
    ),
    "codel": Cell(
        ours={"kind": "codel", "variant": "linux", "capacity": "1000 packets"},
        qdisc="codel limit 1000",
        seeds=15,
    ),
    "codel, ce_threshold": Cell(
        ours={"kind": "codel", "variant": "linux", "capacity": "1000 packets", "ce_threshold": 3},
        qdisc="codel limit 1000 ecn ce_threshold 3ms",
        changes=_MARKED,
        seeds=15,
    ),
    "pie": Cell(
        ours={"kind": "pie", "capacity": "1000 packets", "variant": "linux"},
        qdisc="pie limit 1000",
        seeds=20,
    ),
}


@dataclass(frozen=True, kw_only=True)
class Beside:
    """A cell in both engines: each figure by seed, the goodput of the flows by their names."""

    simulated: Sequence[Mapping[str, float]]
    linux: Sequence[Mapping[str, float]]

    def means(self, figure: str) -> tuple[float, float]:
        """Give the mean of a figure in the simulator and in Linux."""
        ours, theirs = (fmean(run[figure] for run in each) for each in (self.simulated, self.linux))
        return ours, theirs

    def text(self) -> list[str]:
        """Write the means of both engines, and what differs by more than chance."""
        lines = []
        for figure in self.simulated[0]:
            ours, theirs = self.means(figure)
            if ours == theirs == 0:
                continue
            line = f"{figure:8} {ours:8.3f} / {theirs:8.3f}"
            pairs = zip(self.simulated, self.linux, strict=True)
            ends = estimate([b[figure] - a[figure] for a, b in pairs], level=STRICT_LEVEL).ends()
            if ends is not None:
                beyond = "  beyond chance" if ends[0] * ends[1] > 0 else ""
                line += f"  difference within [{ends[0]:+.3f}, {ends[1]:+.3f}]{beyond}"
            lines.append(line)
        return lines


def beside(name: str, running: Running, seeds: int | None = None) -> Beside:
    """Run a cell through our queue in the simulator, and through the kernel's in Linux."""
    cell = CELLS[name]
    count = seeds or cell.seeds
    kernel = {"kind": "kernel", "qdisc": cell.qdisc}
    return Beside(
        simulated=_run(cell, cell.ours, "sim", count, running),
        linux=_run(cell, kernel, "linux", count, running),
    )


def _run(
    cell: Cell, queue: Mapping[str, Any], engine: Engine, seeds: int, running: Running
) -> list[dict[str, float]]:
    one = read_one(cell.file, {**cell.changes, "bottleneck.queue": queue})
    jobs = jobs_of(one, seeds, engine, "figures of queues", build_of(figures))
    return values(jobs, figures, running, engine=engine)


def figures(_: Scenario, record: Record) -> dict[str, float]:
    """Give the goodput of each kind of flows, Mbit/s, and what the queue does."""
    measured: Any = measure(record)
    link = measured["links"][0]
    goodput: dict[str, float] = {}
    for flow in measured["flows"]:
        kind = flow["name"].partition("[")[0]
        goodput[kind] = goodput.get(kind, 0.0) + flow["goodput_bps"] / 1e6
    return {
        **goodput,
        "queue_ms": (link["queue_mean_s"] or 0.0) * 1e3,
        "drops_%": 100 * (link["drop_rate"] or 0.0),
        "marks_%": 100 * (link["mark_rate"] or 0.0),
    }
