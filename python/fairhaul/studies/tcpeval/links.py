"""The links of the basic scenarios, and their times [TCPEVAL, 4.4]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fairhaul.studies.tcpeval.network import LEFT_S, RIGHT_S, Link

LOADS = (0.60, 0.85, 1.10)


@dataclass(frozen=True, kw_only=True)
class Times:
    """The times of a run in seconds."""

    warmup_s: float
    test_s: float
    prefill_s: float


@dataclass(frozen=True, kw_only=True)
class Basic:
    """A basic scenario."""

    name: str
    title: str
    link: Link
    capacity_bps: float
    times: Mapping[float, Times]
    left_s: Mapping[int, float] = field(default_factory=lambda: LEFT_S)
    right_s: Mapping[int, float] = field(default_factory=lambda: RIGHT_S)
    both_directions: bool = False
    """Whether the load is that of both directions together."""
    departure: str = ""
    """What differs from the draft."""


def _times(*rows: tuple[float, float, float]) -> dict[float, Times]:
    return {
        load: Times(warmup_s=warmup, test_s=test, prefill_s=prefill)
        for load, (warmup, test, prefill) in zip(LOADS, rows, strict=True)
    }


ACCESS = Basic(
    name="access",
    title="Access link",
    link=Link(rate="100 Mbit/s", delay_s=0.002, buffer="100 ms", access="100 Mbit/s"),
    capacity_bps=100e6,
    times=_times((84, 479, 36.72), (179, 829, 52.02), (34, 1423, 67.32)),
)

BASIC = (
    Basic(
        name="data-center",
        title="Data center",
        # A delay of zero has no meaning for a link; the edges give the rest.
        link=Link(rate="1 Gbit/s", delay_s=1e-6, buffer="10 ms", access="1 Gbit/s"),
        capacity_bps=1e9,
        times=_times((63, 69, 9.0), (19, 328, 11.3), (8, 663, 14.6)),
        left_s={1: 10e-6, 2: 10e-6, 3: 100e-6},
        right_s={4: 10e-6, 5: 100e-6, 6: 100e-6},
        departure="the delay of the central link is 1 us instead of 0",
    ),
    ACCESS,
    Basic(
        name="trans-oceanic",
        title="Trans-oceanic link",
        link=Link(rate="1 Gbit/s", delay_s=0.065, buffer="100 ms", access="1 Gbit/s"),
        capacity_bps=1e9,
        times=_times((140, 82.5, 89.1), (64, 252, 126.2), (82, 326, 163.4)),
    ),
    Basic(
        name="satellite",
        title="Geostationary satellite",
        link=Link(
            rate="40 Mbit/s",
            delay_s=0.3,
            buffer="100 ms",
            access="100 Mbit/s",
            more={
                "reverse_rate": "4 Mbit/s",
                "reverse_queue": {"kind": "droptail", "capacity": "1000 ms"},
            },
        ),
        capacity_bps=40e6,
        times=_times((163, 2513, 324.7), (230, 2184, 460.0), (298, 2481, 595.3)),
    ),
    Basic(
        name="wireless",
        title="Wireless LAN",
        link=Link(
            rate="6 Mbit/s",
            delay_s=0.002,
            buffer="100 ms",
            access="100 Mbit/s",
            more={"jitter": "uniform 0 s..5 ms"},
        ),
        capacity_bps=6e6,
        times=_times((20, 4147, 0), (20, 5397, 0), (620, 1797, 0)),
        both_directions=True,
        departure="a link of the nominal 6 Mbit/s in each direction with random delays of up to "
        "5 ms stands for the shared medium; stations do not contend for it",
    ),
    Basic(
        name="dial-up",
        title="Dial-up link",
        link=Link(rate="64 kbit/s", delay_s=0.005, buffer="1250 ms", access="100 Mbit/s"),
        capacity_bps=64e3,
        times=_times((280, 168804, 559), (400, 88094, 792), (512, 69891, 1025)),
    ),
)
