"""The cells, which `cells.toml` lists: the usual ones, and those off the clean path.

An unusual cell is one flow, or two of different controllers, over a bottleneck of 20 Mbit/s and
40 ms. After 15 s something happens, or the path is unusual all the time.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("cells.toml")
PACKET = 1500
# Not measured: two slow starts, and their overshoot.
WARMUP_S = 10.0

# Variants that the eBPF ports have too; the profile of Linux would take Linux's own.
VARIANTS: Mapping[str, Any] = {
    "highspeed": {"kind": "highspeed", "growth": "formula"},
    "scalable": {"kind": "scalable", "variant": "kelly"},
    "fhstcp": {"kind": "fhstcp", "c": 20},
}

# The path of the unusual cells, and when it changes.
RATE_MBPS = 20
RTT_MS = 40
CHANGES_AT_S = 15
# Packets of one product of rate and round trip.
BDP = round(RATE_MBPS * 1e6 * RTT_MS / 1000 / 8 / PACKET)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One or two flows over one bottleneck with a drop-tail queue."""

    controllers: tuple[str, ...]
    rate_mbps: int
    rtts_ms: tuple[int, ...]
    buffer_bdp: float
    loss: float = 0.0
    """The probability that the bottleneck loses a packet, whatever its queue."""
    quoted: bool = False
    """Whether the documentation quotes it, so that the kernel runs it several times."""

    @property
    def name(self) -> str:
        """Give a name such as `reno-20M-20ms-1bdp`, or `bbr3-50M-40ms-1bdp-1%loss`."""
        rtts = "+".join(str(rtt) for rtt in dict.fromkeys(self.rtts_ms))
        loss = f"-{100 * self.loss:g}%loss" if self.loss else ""
        path = f"{self.rate_mbps}M-{rtts}ms-{self.buffer_bdp:g}bdp{loss}"
        return f"{'+'.join(self.controllers)}-{path}"

    def scenario(self, measured_s: float) -> dict[str, Any]:
        """Give the scenario, which is the same for all engines."""
        mean_s = sum(self.rtts_ms) / len(self.rtts_ms) / 1000
        packets = round(self.buffer_bdp * self.rate_mbps * 1e6 * mean_s / 8 / PACKET)
        flows = [
            {
                "name": f"{index + 1}",
                "controller": VARIANTS.get(controller, controller),
                "rtt": f"{rtt} ms",
                "start": f"{index} s",
            }
            for index, (controller, rtt) in enumerate(
                zip(self.controllers, self.rtts_ms, strict=True)
            )
        ]
        loss = {"loss": self.loss} if self.loss else {}
        bottleneck = {"rate": f"{self.rate_mbps} Mbit/s", "delay": "2 ms", **loss}
        return _scenario(self.name, measured_s, max(packets, 2), bottleneck, flows)


@dataclass(frozen=True, kw_only=True)
class UnusualCell:
    """A cell that is unusual."""

    kind: str
    controllers: tuple[str, ...]
    bottleneck: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Keys of the bottleneck that differ from the usual ones."""
    flow: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Keys of the first flow."""
    measured_s: float = 30.0
    rate_mbps: int = RATE_MBPS
    by_half_second: bool = False
    """Whether each half second is compared after the path has changed, and not only means."""

    @property
    def name(self) -> str:
        """Give a name such as `pause-3s-cubic`."""
        return f"{self.kind}-{'+'.join(self.controllers)}"

    def scenario(self) -> dict[str, Any]:
        """Give the scenario, which is the same for all engines."""
        flows: list[dict[str, Any]] = [
            {"name": f"{index + 1}", "controller": controller, "rtt": f"{RTT_MS} ms"}
            for index, controller in enumerate(self.controllers)
        ]
        flows[0].update(self.flow)
        usual = {"rate": f"{self.rate_mbps} Mbit/s", "delay": f"{RTT_MS / 4} ms"}
        return _scenario(self.name, self.measured_s, BDP, {**usual, **self.bottleneck}, flows)


AnyCell = Cell | UnusualCell


def _scenario(
    title: str,
    measured_s: float,
    packets: int,
    bottleneck: Mapping[str, Any],
    flows: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Give a scenario: flows of Linux over a queue of `packets`, measured after a warm-up."""
    queue = {"kind": "droptail", "capacity": f"{packets} packets"}
    return {
        "title": title,
        "duration": f"{WARMUP_S + measured_s} s",
        "warmup": f"{WARMUP_S} s",
        "packet": f"{PACKET} B",
        "profile": "linux-tcp",
        "bottleneck": {"queue": queue, **bottleneck},
        "flow": flows,
    }


def _usual(cells: Sequence[dict[str, Any]]) -> Iterator[Cell]:
    for keys in cells:
        lists = {key: tuple(keys[key]) for key in ("controllers", "rtts_ms")}
        yield Cell(**{**keys, **lists})


def _unusual(cells: Sequence[dict[str, Any]], default: Sequence[str]) -> Iterator[UnusualCell]:
    for keys in cells:
        for names in keys.get("controllers", default):
            yield UnusualCell(**{**keys, "controllers": tuple(names.split("+"))})


_FOUND = tomllib.loads(FILE.read_text(encoding="utf-8"))
CELLS: Mapping[str, Cell] = {cell.name: cell for cell in _usual(_FOUND["cell"])}
UNUSUAL: Mapping[str, UnusualCell] = {
    cell.name: cell for cell in _unusual(_FOUND["unusual"], _FOUND["default_controllers"])
}
