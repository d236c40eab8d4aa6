"""The workloads: scenarios, as they stand in `scenarios/bench` or with other numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tools import ROOT

FOLDER = ROOT / "scenarios" / "bench"

# Packets of 1000 bytes that a link of 1 Gbit/s sends in a second.
PER_GBIT = 125_000


@dataclass(frozen=True, kw_only=True)
class Load:
    """A scenario of the bench: its file, and what is set otherwise."""

    name: str
    what: str
    file: str
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def arguments(self) -> list[str]:
        """What the examples of the engine want to be called with."""
        pairs = (f"{key}={value}" for key, value in self.settings.items())
        return [str(self.path), *pairs]

    @property
    def path(self) -> Path:
        """Its file."""
        return FOLDER / f"{self.file}.toml"

    def with_settings(self, settings: Mapping[str, str]) -> Load:
        """Give the same load with more that is set otherwise."""
        return replace(self, settings={**self.settings, **settings})

    def described(self) -> dict[str, Any]:
        """Give the scenario with all that its file leaves open."""
        from fairhaul.scenario.read import read_as_typed

        [scenario] = read_as_typed(self.path, list(self.settings.items()))
        described: dict[str, Any] = json.loads(scenario.describe())
        return described


@dataclass(frozen=True, kw_only=True)
class Aim:
    """The targets of a workload, if it has any.

    They are million packets per second, the ratio to the floor (rings), and the peak memory.
    """

    rate: float | None = None
    over_rings: float | None = None
    peak_mb: float | None = None


W1 = Load(name="W1", what="1 cubic, 1 Gbit/s, 100 ms, 60 s", file="w1")
W2 = Load(
    name="W2",
    what="3 highspeed (80, 140, 200 ms) + 5 reno (140 ms), 1 Gbit/s, 100 s",
    file="w2",
)
W3 = Load(name="W3", what="100 cubic, 10 Gbit/s, 50 ms, 10 s", file="w3")
W4 = Load(name="W4", what="1000 reno, 1 Gbit/s, ten RTTs 20 to 200 ms, 20 s", file="w4")
W5 = Load(name="W5", what="2 highspeed, 10 Gbit/s, 100 ms, 40 s", file="w5")
W6 = Load(name="W6", what="4 highspeed, 100 Gbit/s, 100 ms, 4 s", file="w6")

WORKLOADS = (W1, W2, W3, W4)
# Fast paths: without targets, and too long for other simulators.
FAST = (W5, W6)
# The ratios are the aims over the floor that was measured when they were set.
AIMS = {
    "W1": Aim(rate=10, over_rings=10 / 23, peak_mb=40),
    "W2": Aim(rate=6, over_rings=6 / 11.8, peak_mb=40),
    "W3": Aim(rate=7, over_rings=7 / 23.5, peak_mb=40),
    "W4": Aim(rate=4, over_rings=4 / 11.1, peak_mb=40),
}


H1 = Load(name="H1", what="2 cubic, 2 bbr, 2 fhstcp, 10 Gbit/s, 50 to 150 ms, 300 s", file="h1")
H2 = Load(name="H2", what="2 cubic, 100 Gbit/s, 100 ms, 600 s", file="h2")
# Flows of Linux hosts, whose bursts are simulated as one.
HOSTS = (H1, H2)


@dataclass(frozen=True, kw_only=True)
class HostAim:
    """The targets of such a workload: processor time and peak memory."""

    cpu_s: float
    peak_mb: float | None = None


HOST_AIMS = {"H1": HostAim(cpu_s=8), "H2": HostAim(cpu_s=60, peak_mb=1000)}
HOST_SERIES = [
    Load(
        name=f"H3, {flows} flows",
        what="cubic, 100 Gbit/s, 20 to 200 ms, 20 s",
        file="h3",
        settings={"flow.*.count": str(flows)},
    )
    for flows in (10, 1000)
]
MOST_OVER_HOST_FLOWS = 1.5


@dataclass(frozen=True, kw_only=True)
class LinuxAim:
    """The targets of a workload of the engine `linux`.

    They are the processor time of a data packet and of all of them, and the part of the link used.
    """

    packet_us: float | None = None
    cpu_s: float | None = None
    used_percent: float | None = None


LINUX = (
    Load(name="100 Mbit/s", what="1 cubic, 40 ms, 10 s, single packets", file="linux-100m"),
    Load(name="10 Gbit/s", what="1 cubic, 10 ms, 10 s, offload", file="linux-10g"),
    Load(name="100 Gbit/s", what="1 cubic, 10 ms, 1 s, 9000 B, offload", file="linux-100g"),
)
LINUX_AIMS = {
    "100 Mbit/s": LinuxAim(packet_us=20),
    "10 Gbit/s": LinuxAim(cpu_s=25, used_percent=90),
    "100 Gbit/s": LinuxAim(cpu_s=25, used_percent=90),
}


def at_rate(load: Load, gbit: float, seconds: float, rtt_s: float, flows: int) -> Load:
    """Give `load` on a link of another rate, with another number of flows."""
    settings = {
        "duration": f"{seconds:g} s",
        "bottleneck.rate": f"{gbit:g} Gbit/s",
        "flow.*.count": str(flows),
        "flow.*.initial_ssthresh": f"{gbit * PER_GBIT * rtt_s / flows:.2f}",
    }
    return Load(
        name=f"{gbit:g} Gbit/s",
        what=f"{flows} cubic, {rtt_s * 1000:g} ms",
        file=load.file,
        settings=settings,
    )


# Long enough for some million packets, and for the slow start to be a small part of them.
RATES = {0.1: 60, 1: 30, 10: 8, 100: 5}
RATE_SERIES = {
    "1 cubic, 100 ms": [at_rate(W1, rate, s, 0.1, 1) for rate, s in RATES.items()],
    "10 cubic, 50 ms": [at_rate(W3, rate, s, 0.05, 10) for rate, s in RATES.items()],
}
MOST_OVER_RATES = 1.3


def with_flows(file: str, flows: int, gbit: int, seconds: float) -> Load:
    """Give reno flows whose round trips are spread over 20 to 200 ms."""
    tables = 10 if file == "w4" else 1
    settings = {
        "duration": f"{seconds:g} s",
        "bottleneck.rate": f"{gbit} Gbit/s",
        "flow.*.count": str(flows // tables),
        # Their mean round trip is 110 ms.
        "flow.*.initial_ssthresh": f"{gbit * PER_GBIT * 0.11 / flows:.2f}",
    }
    return Load(
        name=f"{flows} flows",
        what=f"reno, {gbit} Gbit/s, {'ten RTTs' if tables == 10 else 'all RTTs differ'}",
        file=file,
        settings=settings,
    )


FLOWS = (10, 100, 1000, 10_000)
FLOW_SERIES = {
    "ten RTTs, 10 Gbit/s": [with_flows("w4", flows, 10, 6) for flows in FLOWS],
    "all RTTs differ, 10 Gbit/s": [with_flows("distinct", flows, 10, 6) for flows in FLOWS],
}
MOST_OVER_FLOWS = {"ten RTTs, 10 Gbit/s": 2.0, "all RTTs differ, 10 Gbit/s": 4.0}

MANY = with_flows("w4", 100_000, 100, 3)
MOST_MB_OF_MANY = 4000

# Small enough to be counted under valgrind in seconds, long enough for losses and their recovery.
SMALL = {
    "W1": {
        **at_rate(W1, 0.1, 20, 0.02, 1).settings,
        **{"bottleneck.delay": "4 ms", "flow.*.rtt": "20 ms"},
    },
    "W2": {
        "duration": "12 s",
        "bottleneck.rate": "100 Mbit/s",
        "flow.*.initial_ssthresh": "218.75",
    },
    "W3": {
        **at_rate(W3, 0.5, 3, 0.01, 20).settings,
        **{"bottleneck.delay": "2 ms", "flow.*.rtt": "10 ms"},
        "flow.*.start": "uniform 0 s..0.2 s",
    },
    "W4": {
        "duration": "8 s",
        "bottleneck.rate": "100 Mbit/s",
        "flow.*.count": "10",
    },
    "W5": {
        "duration": "4 s",
        "bottleneck.rate": "0.5 Gbit/s",
        "bottleneck.delay": "4 ms",
        "flow.*.rtt": "20 ms",
        "flow.*.start": "uniform 0 s..0.2 s",
        "flow.*.initial_ssthresh": "1200",
    },
}
COUNTED = [
    Load(
        name=load.name, what=f"{load.what}, scaled down", file=load.file, settings=SMALL[load.name]
    )
    for load in (*WORKLOADS, W5)
]
