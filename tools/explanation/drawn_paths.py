"""Captures by the simulator, whose truth is the scenario that was drawn.

A seed draws all of them. Each has one of four causes of loss, in turn: a policer, a shaper, random
loss and a queue that overflows; and one in five also a pause of the application.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from fairhaul.record.record import Record
from fairhaul.record.trace import write
from fairhaul.runs.runs import for_each
from fairhaul.scenario.read import read_one

Cause = Literal["policer", "shaper", "random", "overflow"]
CAUSES: tuple[Cause, ...] = get_args(Cause)
CONTROLLERS = ("cubic", "cubic", "reno", "bbr")
PACKET_BYTES = 1500
# A frame of Ethernet has this many bytes more, with its check sequence.
FRAME = 18
LEAST_QUEUE_BYTES = 10 * PACKET_BYTES
# How long a transfer takes: what the rate carries in it, and its bounds in seconds.
CARRIED_BYTES, LEAST_S, MOST_S = 16e6, 8.0, 60.0
# The application pauses in every so many of the captures.
PAUSED_EVERY = 5
FLOW = "transfer"


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A path that was drawn: rates in bit/s and sizes in bytes of the scenario, times in seconds.

    `capacity_bdp` is the capacity of the queue, at least 10 packets, and `faster` how many times as
    fast the link of a policer or a shaper is. `pause_s` has the start and the end of the pause,
    None without one.
    """

    number: int
    cause: Cause
    controller: str
    rate_bps: float
    rtt_s: float
    burst_bytes: float
    faster: float
    capacity_bdp: float
    loss: float
    duration_s: float
    pause_s: tuple[float, float] | None

    @property
    def name(self) -> str:
        """The name of its capture."""
        return f"{self.number:03}-{self.cause}-{self.controller}.pcapng"

    @property
    def frames(self) -> float:
        """How much larger the frames are than what the simulator counts."""
        return (PACKET_BYTES + FRAME) / PACKET_BYTES

    @property
    def link_bps(self) -> float:
        """The rate of the link."""
        return self.rate_bps * (self.faster if self.cause in ("policer", "shaper") else 1)

    @property
    def capacity_bytes(self) -> float:
        """The capacity of the queue."""
        drains_bps = self.rate_bps if self.cause == "shaper" else self.link_bps
        return max(LEAST_QUEUE_BYTES, self.capacity_bdp * drains_bps / 8 * self.rtt_s)

    def scenario(self) -> dict[str, Any]:
        """Give the scenario."""
        bucket = {"rate": f"{self.rate_bps:.0f} bit/s", "burst": f"{self.burst_bytes:.0f} B"}
        pause = self.pause_s and {
            "kind": "limited",
            "rate": "0 bit/s",
            "from": f"{self.pause_s[0]:.6f} s",
            "until": f"{self.pause_s[1]:.6f} s",
        }
        return {
            "title": f"{self.number}: {self.cause}",
            "seed": self.number + 1,
            "duration": f"{self.duration_s:.3f} s",
            "packet": f"{PACKET_BYTES} B",
            "bottleneck": {
                "rate": f"{self.link_bps:.0f} bit/s",
                "delay": f"{self.rtt_s / 4:.9f} s",
                "queue": {"kind": "droptail", "capacity": f"{self.capacity_bytes:.0f} B"},
                **({self.cause: bucket} if self.cause in ("policer", "shaper") else {}),
                **({"loss": self.loss} if self.cause == "random" else {}),
            },
            "flow": [
                {
                    "name": FLOW,
                    "rtt": f"{self.rtt_s:.9f} s",
                    "controller": self.controller,
                    **({} if pause is None else {"traffic": pause}),
                }
            ],
        }


def draw(count: int, seed: int) -> list[Drawn]:
    """Draw paths."""
    chance = np.random.default_rng(seed)

    def spread(low: float, high: float) -> float:
        """Draw a number whose logarithm is uniform."""
        return float(np.exp(chance.uniform(np.log(low), np.log(high))))

    return [_drawn(number, chance, spread) for number in range(count)]


def _drawn(number: int, chance: np.random.Generator, spread: Any) -> Drawn:
    rate_bps = spread(1e6, 50e6)
    duration_s = min(MOST_S, max(LEAST_S, 8 * CARRIED_BYTES / rate_bps))
    start_s, took_s = duration_s * chance.uniform(0.3, 0.6), chance.uniform(0.5, 3)
    pauses = number // len(CAUSES) % PAUSED_EVERY == 0
    cause = CAUSES[number % len(CAUSES)]
    return Drawn(
        number=number,
        cause=cause,
        controller=str(chance.choice(CONTROLLERS)),
        rate_bps=rate_bps,
        rtt_s=spread(0.01, 0.2),
        burst_bytes=spread(8e3, 1e6),
        faster=spread(2, 10),
        capacity_bdp=spread(*((0.1, 2) if cause == "overflow" else (0.5, 4))),
        loss=spread(0.001, 0.02),
        duration_s=duration_s,
        pause_s=(start_s, start_s + took_s) if pauses else None,
    )


def capture(of: Drawn, folder: Path) -> Path:
    """Give the capture of a path, which is simulated unless the folder has it."""
    file = folder / of.name
    if file.exists():
        return file
    part = file.with_suffix(".part")

    def written(_: int, record: Record) -> None:
        write(record, FLOW, "pcapng", part)

    for_each([read_one(of.scenario())], written, jobs=1, trace=FLOW)
    part.rename(file)
    return file
