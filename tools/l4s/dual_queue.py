"""DualPI2 of the simulator beside the kernel's, which has it since Linux 6.17."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from fairhaul.measures.measures import measure
from fairhaul.runs.runs import for_each
from fairhaul.scenario.engines import Engine
from fairhaul.scenario.read import read_one
from tools.l4s import ROOT

SCENARIO = ROOT / "scenarios" / "kernel" / "dual-queue-beside.toml"
SEEDS = 3
KERNEL = {"kind": "kernel", "qdisc": "dualpi2"}
_CLASSIC = {"ect1": False, "accecn": False}


def _flow(name: str, values: Mapping[str, object]) -> dict[str, object]:
    return {f"flow.{name}.{key}": value for key, value in values.items()}


_TWO_CLASSIC = _flow("first", {**_CLASSIC, "controller": "reno", "rtt": "40 ms"})
# What is changed in the scenario, by the name of the cell.
CELLS: Mapping[str, Mapping[str, object]] = {
    "reno 40, cubic 20 ms": _TWO_CLASSIC,
    "the same, both with ECN": {
        **_TWO_CLASSIC,
        **_flow("first", {"ecn": True}),
        **_flow("second", {"ecn": True}),
    },
    "dctcp, cubic": {},
    "dctcp, cubic with ECN": _flow("second", {"ecn": True}),
    "dctcp 40, reno 40 ms": {
        **_flow("first", {"rtt": "40 ms"}),
        **_flow("second", {"controller": "reno", "rtt": "40 ms"}),
    },
    "dctcp with ECT(0), cubic": _flow("first", _CLASSIC),
    "dctcp, 8 cubic, 10 Mbit/s": {"flow.second.count": 8, "bottleneck.rate": "10 Mbit/s"},
    "8 dctcp, cubic, 5 Mbit/s": {"flow.first.count": 8, "bottleneck.rate": "5 Mbit/s"},
}
# By how much the means of both engines may differ: as a share of the larger one, or this much.
TOLERANCE: Mapping[str, tuple[float, float]] = {
    "first_mbps": (0.1, 0.0),
    "second_mbps": (0.1, 0.0),
    "first_ms": (0.05, 0.5),
    "second_ms": (0.05, 0.5),
    "drops": (0.3, 0.0003),
    "first_marks": (0.15, 0.001),
    "second_marks": (0.3, 0.001),
}


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What both kinds of flows get through DualPI2: means over the seeds, and their deviations."""

    means: Mapping[str, float]
    deviations: Mapping[str, float]

    def text(self) -> str:
        """Write them in a line."""
        mean = self.means
        return (
            f"{mean['first_mbps']:5.2f}, {mean['second_mbps']:5.2f} Mbit/s; "
            f"{mean['first_ms']:5.2f}, {mean['second_ms']:5.2f} ms; "
            f"drops {100 * mean['drops']:.3f} %; "
            f"marks {100 * mean['first_marks']:.2f}, {100 * mean['second_marks']:.2f} %"
        )


@dataclass(frozen=True, kw_only=True)
class Beside:
    """A cell in both engines."""

    name: str
    simulated: Figures
    linux: Figures

    def far(self) -> list[str]:
        """Give the figures that differ by more than is tolerated, and than three deviations."""
        return [key for key in TOLERANCE if not self._agrees(key)]

    def _agrees(self, key: str) -> bool:
        share, least = TOLERANCE[key]
        one, other = self.simulated.means[key], self.linux.means[key]
        chance = 3 * max(self.simulated.deviations[key], self.linux.deviations[key])
        return abs(one - other) <= max(share * max(one, other), least, chance)


def beside(name: str) -> Beside:
    """Run a cell with every seed, through our queue in the simulator and the kernel's in Linux."""
    simulated = _run(name, "sim", {})
    return Beside(
        name=name, simulated=simulated, linux=_run(name, "linux", {"bottleneck.queue": KERNEL})
    )


def _run(name: str, engine: Engine, more: Mapping[str, object]) -> Figures:
    runs = [
        read_one(SCENARIO, {**CELLS[name], **more, "seed": seed}) for seed in range(1, SEEDS + 1)
    ]
    trace = "first" if "flow.first.count" not in CELLS[name] else "first[0]"
    found = for_each(runs, _figures, trace=trace, engine=engine)
    columns = {key: [each[key] for each in found] for key in found[0]}
    return Figures(
        means={key: fmean(values) for key, values in columns.items()},
        deviations={key: stdev(values) for key, values in columns.items()},
    )


def _figures(_: int, record: Any) -> dict[str, float]:
    """Give the goodput, round trip and marks of each kind of flows, and the drops."""
    figures = measure(record)
    (link,) = (link for link in figures["links"] if link["name"] == "bottleneck")
    kinds = {
        kind: [flow for flow in figures["flows"] if flow["name"].startswith(kind)]
        for kind in ("first", "second")
    }
    megabits = {kind: sum(f["goodput_bps"] for f in flows) / 1e6 for kind, flows in kinds.items()}
    base = {flow["name"]: flow["rtt_s"] for flow in record.meta["scenario"]["flows"]}
    waits = {
        kind: fmean((f["rtt_mean_s"] - base[f["name"]]) * 1e3 for f in flows)
        for kind, flows in kinds.items()
    }
    first = _marked(record)
    share = megabits["first"] / sum(megabits.values())
    return {
        "first_mbps": megabits["first"],
        "second_mbps": megabits["second"],
        "first_ms": waits["first"],
        "second_ms": waits["second"],
        "drops": link["drop_rate"] or 0.0,
        "first_marks": first,
        "second_marks": max((link["mark_rate"] or 0.0) - share * first, 0.0) / (1 - share),
    }


def _marked(record: Any) -> float:
    """Give the share of the data packets of the traced flow that arrived with a mark."""
    begin = record.meta["scenario"]["warmup_s"]
    rows = record.trace.filter((record.trace["t_s"] >= begin) & ~record.trace["opens"])
    codepoints: Sequence[str] = rows.filter(rows["what"] == "received")["ecn"].to_list()
    return codepoints.count("CE") / max(len(codepoints), 1)
