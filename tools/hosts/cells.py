"""The cells: one flow, or two of different controllers, over one bottleneck, with hosts of Linux.

docs/hosts.md states the distribution that they are drawn from.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairhaul.scenario.engines import Engine

RATE_MBPS = (20.0, 100_000.0)
RTT_MS = (1.0, 100.0)
# The largest product of rate and round trip.
MOST_BYTES = 125e6
MTUS = (1500, 9000)
BUFFERS_BDP = (0.5, 1.0, 2.0)
LEAST_PACKETS = 16
CONTROLLERS: Mapping[str, Any] = {
    "reno": "reno",
    "cubic": "cubic",
    "bbr": "bbr",
    "fhstcp": {"kind": "fhstcp", "c": 20},
}
MODERATIONS_US = (0, 10, 50, 126)
# Two of three cells have one flow, so that the third has a share.
TWO_FLOWS_ONE_IN = 3

# Without any random delay, exact times repeat the same phase in every cycle.
NOISE = "uniform 0 s..5 us"
# Limits of large buffers: four times the largest product of rate and round trip.
LARGE: Mapping[str, str] = {
    "net.ipv4.tcp_rmem": "4096 131072 536870912",
    "net.ipv4.tcp_wmem": "4096 16384 536870912",
}

# What the lab carries in real time.
LAB_MBPS = 1_000.0

# The time that is measured, below each rate.
MEASURED_S = ((1_000.0, 30.0), (10_000.0, 10.0), (float("inf"), 2.0))
# What is measured at least, and what passes before it, in round trips.
LEAST_ROUNDS = 20


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One bottleneck, and the hosts of its flows."""

    number: int
    controllers: Sequence[str]
    rate_mbps: float
    rtt_ms: float
    mtu: int
    buffer_bdp: float
    fq: bool
    moderation_us: int
    large_buffers: bool

    @property
    def name(self) -> str:
        """Give a name such as `7 cubic 120M 12.3ms 1500B 1bdp fq 50us large`."""
        buffers = "large" if self.large_buffers else "default"
        qdisc = "fq" if self.fq else "pfifo"
        path = f"{self.rate_mbps:g}M {self.rtt_ms:g}ms {self.mtu}B {self.buffer_bdp:g}bdp"
        host = f"{qdisc} {self.moderation_us}us {buffers}"
        return f"{self.number} {'+'.join(self.controllers)} {path} {host}"

    @property
    def packets(self) -> int:
        """The capacity of the queue."""
        bdp = self.rate_mbps * 1e3 * self.rtt_ms / 8 / self.mtu
        return max(LEAST_PACKETS, round(self.buffer_bdp * bdp))

    def times_s(self, most_packets: int | None = None) -> tuple[float, float]:
        """Give the time before the measurement and the time that is measured.

        `most_packets` shortens both: the measured time is that in which the link carries them.
        """
        measured_s = next(time_s for below, time_s in MEASURED_S if self.rate_mbps < below)
        if most_packets is not None:
            measured_s = min(measured_s, most_packets * 8 * self.mtu / (self.rate_mbps * 1e6))
        least_s = LEAST_ROUNDS * self.rtt_ms / 1e3
        measured_s = max(measured_s, least_s)
        return round(max(measured_s / 3, least_s), 6), round(measured_s, 6)

    def scenario(
        self, most_packets: int | None = None, *, real_time: bool = False
    ) -> dict[str, Any]:
        """Give the scenario, which is the same for both engines.

        In real time chance is the machine's, and large buffers are those without a limit.
        """
        before_s, measured_s = self.times_s(most_packets)
        host: dict[str, Any] = {"moderation": f"{self.moderation_us} us"}
        if not real_time:
            host["noise"] = NOISE
        if self.fq:
            host["qdisc"] = "fq"
        unlimited = self.large_buffers and real_time
        buffers = {} if unlimited else {"send_buffer": "auto", "receive_buffer": "auto"}
        if self.large_buffers and not real_time:
            host["sysctl"] = dict(LARGE)
        flows = [
            {
                "name": f"{index + 1}",
                "controller": CONTROLLERS[controller],
                "rtt": f"{self.rtt_ms:g} ms",
                "start": f"uniform 0 s..{self.rtt_ms:g} ms",
                "overhead": "0 s",
                "offload": "auto",
                **buffers,
                "host": host,
            }
            for index, controller in enumerate(self.controllers)
        ]
        return {
            "title": self.name,
            "duration": f"{before_s + measured_s:.6f} s",
            "warmup": f"{before_s:.6f} s",
            "packet": f"{self.mtu} B",
            "profile": "linux-tcp",
            "bottleneck": {
                "rate": f"{self.rate_mbps:g} Mbit/s",
                "delay": f"{self.rtt_ms / 4:.6g} ms",
                "queue": {"kind": "droptail", "capacity": f"{self.packets} packets"},
            },
            "flow": flows,
        }


def drawn(number: int, seed: int) -> Cell:
    """Draw a cell; the same number and seed give the same one."""
    random = Random(f"hosts {seed} {number}")
    while True:
        rate_mbps, rtt_ms = _log_uniform(random, RATE_MBPS), _log_uniform(random, RTT_MS)
        if rate_mbps * 1e3 * rtt_ms / 8 <= MOST_BYTES:
            break
    flows = 2 if random.randrange(TWO_FLOWS_ONE_IN) == 0 else 1
    return Cell(
        number=number,
        controllers=random.sample(list(CONTROLLERS), flows),
        rate_mbps=float(f"{rate_mbps:.3g}"),
        rtt_ms=float(f"{rtt_ms:.3g}"),
        mtu=random.choice(MTUS),
        buffer_bdp=random.choice(BUFFERS_BDP),
        fq=random.random() < 0.5,
        moderation_us=random.choice(MODERATIONS_US),
        large_buffers=random.random() < 0.5,
    )


def cells_of(engine: Engine, first: int, count: int, seed: int) -> list[Cell]:
    """Draw `count` cells from number `first` on, of the lab those with a rate that it carries."""
    cells = (drawn(number, seed) for number in itertools.count(first))
    if engine == "lab":
        cells = (cell for cell in cells if cell.rate_mbps <= LAB_MBPS)
    return list(itertools.islice(cells, count))


def _log_uniform(random: Random, bounds: tuple[float, float]) -> float:
    least, most = bounds
    return least * float((most / least) ** random.random())
