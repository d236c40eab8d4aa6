"""The scenarios in which trains are compared with packets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


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
    more: Sequence[Mapping[str, Any]] = (),
) -> Case:
    """Give a dumbbell: rate (Gbit/s), queue (BDP), duration (s), and flows."""
    named = " + ".join(
        f"{count} {controller} {rtt if isinstance(rtt, str) else '/'.join(rtt)}"
        for controller, count, rtt in groups
    )
    extra = f" + {len(more)} more" if more else ""
    return Case(
        name=f"{gbit:g} Gbit/s, {buffer:g} bdp: {named}{extra}",
        seeds=seeds,
        scenario={
            "duration": f"{seconds:g} s",
            "warmup": f"{seconds * warmup:g} s",
            "bottleneck": {
                "rate": f"{gbit:g} Gbit/s",
                "delay": "5 ms",
                "queue": {"kind": "droptail", "capacity": f"{buffer:g} bdp"},
            },
            "flow": [*flows(*groups), *more],
        },
    )


SHORT = {
    "name": "short",
    "controller": "reno",
    "rtt": "50 ms",
    "role": "background",
    "traffic": {"kind": "short", "rate": "20/s", "size": {"law": "pareto", "mean": "200 kB"}},
}
BACK = {
    "name": "back",
    "controller": "cubic",
    "rtt": "50 ms",
    "role": "background",
    "direction": "reverse",
}

CASES = [
    # One flow.
    case(1, 1, 200, ("highspeed", 1, "100 ms")),
    case(1, 0.25, 200, ("cubic", 1, "50 ms")),
    case(1, 0.1, 200, ("reno", 1, "20 ms")),
    case(10, 0.5, 40, ("scalable", 1, "100 ms")),
    # Two alike.
    case(1, 1, 300, ("highspeed", 2, "100 ms")),
    case(1, 0.1, 200, ("highspeed", 2, "50 ms")),
    case(1, 2, 300, ("highspeed", 2, "50 ms")),
    case(1, 0.5, 300, ("highspeed", 2, "200 ms")),
    case(1, 1, 300, ("cubic", 2, "100 ms")),
    case(1, 0.1, 200, ("cubic", 2, "20 ms")),
    case(1, 0.25, 300, ("cubic", 2, "300 ms")),
    case(1, 2, 300, ("cubic", 2, "50 ms")),
    case(1, 1, 200, ("scalable", 2, "100 ms")),
    case(1, 0.25, 200, ("scalable", 2, "50 ms")),
    case(1, 0.1, 300, ("reno", 2, "20 ms")),
    case(1, 0.5, 300, ("reno", 2, "20 ms")),
    case(10, 1, 120, ("highspeed", 2, "100 ms"), seeds=3),
    case(10, 0.5, 60, ("highspeed", 2, "50 ms")),
    case(10, 0.1, 60, ("highspeed", 2, "20 ms")),
    case(10, 2, 60, ("highspeed", 2, "20 ms")),
    case(10, 0.25, 100, ("cubic", 2, "50 ms"), seeds=3),
    case(10, 0.5, 40, ("scalable", 2, "50 ms")),
    # Two of different round-trip times.
    case(1, 1, 300, ("highspeed", 2, ("40 ms", "120 ms"))),
    case(1, 0.5, 300, ("cubic", 2, ("40 ms", "120 ms"))),
    case(1, 0.25, 300, ("reno", 2, ("20 ms", "40 ms"))),
    case(10, 0.5, 60, ("highspeed", 2, ("20 ms", "60 ms"))),
    case(10, 0.25, 60, ("cubic", 2, ("20 ms", "100 ms"))),
    # Mixtures.
    case(1, 1, 300, ("highspeed", 1, "100 ms"), ("cubic", 1, "100 ms")),
    case(1, 0.5, 300, ("highspeed", 1, "50 ms"), ("reno", 1, "50 ms")),
    case(1, 0.25, 300, ("cubic", 2, "50 ms"), ("reno", 2, "50 ms")),
    case(1, 1, 200, ("highspeed", 3, ("80 ms", "140 ms", "200 ms")), ("reno", 4, "140 ms")),
    case(10, 0.25, 60, ("highspeed", 2, "50 ms"), ("cubic", 2, "50 ms")),
    case(10, 1, 60, ("scalable", 1, "50 ms"), ("highspeed", 1, "50 ms")),
    # Several.
    case(1, 0.5, 200, ("cubic", 4, ("50 ms", "100 ms", "150 ms", "200 ms"))),
    case(10, 0.25, 60, ("cubic", 10, "50 ms")),
    case(10, 0.5, 60, ("highspeed", 8, "50 ms")),
    # Beside other traffic.
    case(1, 0.5, 200, ("highspeed", 2, "50 ms"), more=[SHORT]),
    case(1, 0.5, 200, ("cubic", 2, "50 ms"), more=[SHORT]),
    case(1, 0.5, 200, ("highspeed", 2, "50 ms"), more=[BACK]),
    # 100 Gbit/s.
    case(100, 0.25, 16, ("highspeed", 2, "20 ms"), seeds=3),
    case(100, 0.1, 12, ("scalable", 2, "20 ms"), seeds=3),
    case(100, 0.25, 16, ("cubic", 4, "20 ms"), seeds=3),
]
