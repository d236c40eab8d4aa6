"""Queues of the simulator beside the same disciplines of the kernel, by the engine `linux`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairhaul.measures.measures import measure
from fairhaul.runs.runs import for_each
from fairhaul.scenario.read import read_one
from tools.l4s import ROOT

SCENARIO = ROOT / "scenarios" / "kernel" / "queues-beside.toml"
# Our queue, and the words of `tc` for the kernel's.
QUEUES: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "cake": (
        {"kind": "cake", "capacity": "10000 packets", "bandwidth": 20, "tins": "besteffort"},
        "cake bandwidth 20mbit besteffort",
    ),
    "fq": ({"kind": "fq", "capacity": "10000 packets"}, "fq"),
    "fq_codel": ({"kind": "fq_codel", "capacity": "10240 packets"}, "fq_codel"),
    "codel": ({"kind": "codel", "capacity": "1000 packets"}, "codel limit 1000"),
    "pie": ({"kind": "pie", "capacity": "1000 packets"}, "pie limit 1000"),
}


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What the flows get through a queue, Mbit/s, and what it does."""

    goodput_mbps: Sequence[float]
    queue_ms: float
    drop_rate: float

    def text(self) -> str:
        """Write them in a line."""
        shares = ", ".join(f"{share:.1f}" for share in self.goodput_mbps)
        return f"{shares} Mbit/s, {self.queue_ms:.1f} ms, drops {100 * self.drop_rate:.3f} %"


def both(name: str) -> tuple[Figures, Figures]:
    """Run the flows through our queue in the simulator, and through the kernel's in Linux."""
    ours, qdisc = QUEUES[name]
    kernel = {"kind": "kernel", "qdisc": qdisc}
    (simulated,) = for_each([read_one(SCENARIO, {"bottleneck.queue": ours})], _figures)
    (linux,) = for_each(
        [read_one(SCENARIO, {"bottleneck.queue": kernel})], _figures, engine="linux"
    )
    return simulated, linux


def _figures(_: int, record: Any) -> Figures:
    figures = measure(record)
    (link,) = (link for link in figures["links"] if link["name"] == "bottleneck")
    return Figures(
        goodput_mbps=[flow["goodput_bps"] / 1e6 for flow in figures["flows"]],
        queue_ms=(link["queue_mean_s"] or 0.0) * 1e3,
        drop_rate=link["drop_rate"] or 0.0,
    )
