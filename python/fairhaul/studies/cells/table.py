"""The cells: controllers, rate, round trips and buffer of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

PACKET = 1500
# Not measured: two slow starts, and their overshoot.
WARMUP_S = 10.0

# Variants that the eBPF ports have too; the profile of Linux would take Linux's own.
CONTROLLERS: Mapping[str, Any] = {
    "reno": "reno",
    "cubic": "cubic",
    "bbr": "bbr",
    "bbr3": "bbr3",
    "highspeed": {"kind": "highspeed", "growth": "formula"},
    "scalable": {"kind": "scalable", "variant": "kelly"},
    "fhstcp": {"kind": "fhstcp", "c": 20},
    "ghstcp": "ghstcp",
}


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
                "controller": CONTROLLERS[controller],
                "rtt": f"{rtt} ms",
                "start": f"{index} s",
            }
            for index, (controller, rtt) in enumerate(
                zip(self.controllers, self.rtts_ms, strict=True)
            )
        ]
        bottleneck = {
            "rate": f"{self.rate_mbps} Mbit/s",
            "delay": "2 ms",
            "queue": {"kind": "droptail", "capacity": f"{max(packets, 2)} packets"},
            **({"loss": self.loss} if self.loss else {}),
        }
        return over_bottleneck(self.name, measured_s, bottleneck, flows)


def over_bottleneck(
    title: str,
    measured_s: float,
    bottleneck: Mapping[str, Any],
    flows: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Give the scenario of a cell: flows of Linux over a bottleneck, measured after a warm-up."""
    return {
        "title": title,
        "duration": f"{WARMUP_S + measured_s} s",
        "warmup": f"{WARMUP_S} s",
        "packet": f"{PACKET} B",
        "profile": "linux",
        "bottleneck": bottleneck,
        "flow": flows,
    }


def _cell(
    names: str,
    rate: int,
    rtts: tuple[int, ...],
    buffer: float,
    *,
    loss: float = 0.0,
    quoted: bool = False,
) -> Cell:
    return Cell(
        controllers=tuple(names.split()),
        rate_mbps=rate,
        rtts_ms=rtts,
        buffer_bdp=buffer,
        loss=loss,
        quoted=quoted,
    )


CELLS: Mapping[str, Cell] = {
    cell.name: cell
    for cell in (
        _cell("reno", 20, (20,), 1, quoted=True),
        _cell("reno", 100, (40,), 1),
        _cell("reno", 50, (100,), 0.5),
        _cell("cubic", 20, (40,), 1),
        _cell("cubic", 100, (20,), 1, quoted=True),
        _cell("cubic", 200, (100,), 1),
        _cell("bbr", 100, (40,), 1, quoted=True),
        _cell("bbr", 20, (100,), 2),
        _cell("bbr3", 100, (40,), 1, quoted=True),
        _cell("bbr3", 100, (40,), 0.25, quoted=True),
        _cell("bbr3", 100, (40,), 4),
        _cell("bbr3", 20, (20,), 1),
        _cell("bbr3", 20, (100,), 2),
        _cell("bbr3", 200, (100,), 1),
        _cell("bbr3", 50, (40,), 1, loss=0.01, quoted=True),
        _cell("highspeed", 200, (40,), 0.5, quoted=True),
        _cell("highspeed", 100, (100,), 1),
        _cell("scalable", 100, (40,), 2),
        _cell("scalable", 200, (20,), 1),
        _cell("fhstcp", 200, (100,), 1, quoted=True),
        _cell("fhstcp", 50, (40,), 0.5),
        _cell("ghstcp", 200, (40,), 1, quoted=True),
        _cell("ghstcp", 100, (20,), 2),
        _cell("reno reno", 50, (20, 20), 1),
        _cell("cubic reno", 100, (40, 40), 1, quoted=True),
        _cell("highspeed reno", 100, (40, 40), 1),
        _cell("fhstcp reno", 200, (100, 100), 1),
        _cell("ghstcp reno", 100, (20, 20), 1),
        _cell("reno reno", 50, (20, 80), 1),
        _cell("cubic cubic", 100, (20, 100), 1),
        _cell("fhstcp fhstcp", 200, (40, 100), 1, quoted=True),
        _cell("bbr3 bbr3", 100, (40, 40), 1, quoted=True),
        _cell("bbr3 cubic", 100, (40, 40), 1, quoted=True),
        _cell("bbr3 reno", 50, (20, 20), 1),
    )
}
