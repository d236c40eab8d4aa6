"""The scenarios in which trains are compared with packets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Seeds of a case in which another seed changes a share or the loss events by some per cent.
NOISY = 20


@dataclass(frozen=True, kw_only=True)
class Case:
    """A scenario, and how many seeds it is run with."""

    name: str
    scenario: Mapping[str, Any]
    seeds: int = 5


def flows(*groups: tuple[str, int, str | Sequence[str]]) -> list[dict[str, Any]]:
    """Give flows: controller, number, round-trip time or times."""
    return [
        {
            "name": f"{controller}-{index}",
            "controller": controller,
            "count": count,
            "rtt": rtt if isinstance(rtt, str) else list(rtt),
            "start": "uniform 0 s..1 s",
        }
        for index, (controller, count, rtt) in enumerate(groups)
    ]


def case(
    gbit: float,
    buffer: float,
    seconds: float,
    *groups: tuple[str, int, str | Sequence[str]],
    seeds: int = 5,
    warmup: float = 0.25,
) -> Case:
    """Give a dumbbell: rate (Gbit/s), queue (BDP), duration (s), and flows."""
    named = " + ".join(
        f"{count} {controller} {rtt if isinstance(rtt, str) else '/'.join(rtt)}"
        for controller, count, rtt in groups
    )
    return Case(
        name=f"{gbit:g}G, {buffer:g} bdp: {named}",
        seeds=seeds,
        scenario={
            "duration": f"{seconds:g} s",
            "warmup": f"{seconds * warmup:g} s",
            "bottleneck": {
                "rate": f"{gbit:g} Gbit/s",
                "delay": "5 ms",
                "queue": {"kind": "droptail", "capacity": f"{buffer:g} bdp"},
            },
            "flow": flows(*groups),
        },
    )


CASES = [
    # One flow.
    case(1, 1, 600, ("highspeed", 1, "100 ms")),
    case(1, 0.25, 600, ("cubic", 1, "50 ms")),
    case(1, 0.1, 600, ("reno", 1, "20 ms")),
    case(1, 0.5, 600, ("highspeed", 1, "50 ms")),
    case(1, 1, 800, ("cubic", 1, "100 ms")),
    case(1, 2, 1500, ("reno", 1, "20 ms")),
    # Two at 1 Gbit/s.
    case(1, 1, 600, ("highspeed", 2, "100 ms")),
    case(1, 0.1, 400, ("highspeed", 2, "50 ms")),
    case(1, 2, 600, ("highspeed", 2, "50 ms")),
    case(1, 0.5, 600, ("highspeed", 2, "200 ms")),
    case(1, 0.25, 400, ("highspeed", 2, "20 ms")),
    case(1, 1, 800, ("highspeed", 2, "300 ms")),
    case(1, 1, 800, ("cubic", 2, "100 ms")),
    case(1, 0.1, 400, ("cubic", 2, "20 ms"), seeds=NOISY),
    case(1, 0.25, 800, ("cubic", 2, "300 ms")),
    case(1, 2, 1500, ("cubic", 2, "50 ms")),
    case(1, 0.5, 600, ("cubic", 2, "20 ms")),
    case(1, 0.1, 600, ("reno", 2, "20 ms")),
    case(1, 0.5, 1500, ("reno", 2, "20 ms")),
    case(1, 1, 1500, ("reno", 2, "20 ms")),
    # Several at 1 Gbit/s.
    case(1, 0.25, 600, ("reno", 4, "20 ms")),
    case(1, 0.5, 400, ("highspeed", 4, "50 ms")),
    case(1, 0.5, 400, ("cubic", 5, "50 ms"), seeds=NOISY),
    case(1, 0.25, 400, ("highspeed", 8, "100 ms")),
    case(1, 0.25, 600, ("cubic", 10, "20 ms"), seeds=NOISY),
    # Two at 10 Gbit/s.
    case(10, 1, 120, ("highspeed", 2, "100 ms"), seeds=3),
    case(10, 0.5, 100, ("highspeed", 2, "50 ms")),
    case(10, 0.1, 60, ("highspeed", 2, "20 ms")),
    case(10, 2, 60, ("highspeed", 2, "20 ms")),
    case(10, 1, 60, ("highspeed", 2, "20 ms")),
    case(10, 0.1, 100, ("highspeed", 2, "300 ms"), seeds=3),
    case(10, 0.25, 100, ("cubic", 2, "50 ms"), seeds=3),
    case(10, 0.5, 100, ("cubic", 2, "100 ms"), seeds=3),
    # Several at 10 Gbit/s.
    case(10, 0.25, 60, ("highspeed", 4, "50 ms")),
    case(10, 0.5, 60, ("highspeed", 8, "50 ms")),
    case(10, 0.5, 60, ("cubic", 4, "20 ms"), seeds=NOISY),
    case(10, 0.25, 60, ("cubic", 10, "50 ms"), seeds=NOISY),
    case(10, 0.1, 60, ("reno", 10, "20 ms"), seeds=NOISY),
    case(10, 0.1, 60, ("reno", 20, "20 ms"), seeds=NOISY),
    # 100 Gbit/s.
    case(100, 0.25, 16, ("highspeed", 2, "20 ms"), seeds=3),
    case(100, 0.5, 16, ("highspeed", 2, "50 ms"), seeds=3),
    case(100, 0.1, 16, ("highspeed", 4, "50 ms"), seeds=3),
    case(100, 0.25, 16, ("cubic", 4, "20 ms"), seeds=3),
]
