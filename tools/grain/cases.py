"""The scenarios in which bursts simulated as one are compared with single packets.

All flows are those of Linux hosts with cards that interrupt at most every 50 us.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Flows of a case: controller, number, and round-trip times, which are spread over the flows.
Flows = tuple[str, int, str]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A scenario."""

    name: str
    scenario: Mapping[str, Any]


def flow(name: str, controller: str, count: int, rtt: str, **more: Any) -> dict[str, Any]:
    """Give flows of Linux hosts."""
    return {
        "name": name,
        "controller": controller,
        "count": count,
        "rtt": rtt,
        "offload": "auto",
        "start": "uniform 0 s..1 s",
        "host": {"moderation": "50 us"},
        **more,
    }


def case(
    gbit: float,
    buffer: float,
    seconds: float,
    *flows: Flows,
    queue: str = "droptail",
    what: str = "",
    more: Sequence[Mapping[str, Any]] = (),
    bottleneck: Mapping[str, Any] | None = None,
) -> Case:
    """Give a dumbbell: rate (Gbit/s), queue (BDP), duration (s), flows, and what it has besides."""
    named = " + ".join(f"{count} {controller} {rtt}" for controller, count, rtt in flows)
    kind = "" if queue == "droptail" else f" {queue}"
    return Case(
        name=f"{gbit:g}G, {buffer:g} bdp{kind}: {named}{f', {what}' if what else ''}",
        scenario={
            "duration": f"{seconds:g} s",
            "warmup": f"{seconds / 4:g} s",
            "packet": "1500 B",
            "profile": "linux-tcp",
            "bottleneck": {
                "rate": f"{gbit:g} Gbit/s",
                "delay": "5 ms",
                "queue": {"kind": queue, "capacity": f"{buffer:g} bdp"},
                **(bottleneck or {}),
            },
            "flow": [
                *(flow(f"{c}-{i}", c, count, rtt) for i, (c, count, rtt) in enumerate(flows)),
                *more,
            ],
        },
    )


MIXED = "20 ms..80 ms"
PAIRS = [("cubic", "bbr"), ("cubic", "reno"), ("cubic", "fhstcp"), ("bbr", "fhstcp")]
POLICER = {"policer": {"rate": "400 Mbit/s", "burst": "1 MB"}}
BACK = flow("back", "cubic", 1, "40 ms", direction="reverse")

CASES = [
    # One controller, equal and mixed round trips.
    *(
        case(1, buffer, 60, (controller, count, rtt))
        for controller in ("cubic", "reno", "bbr", "fhstcp")
        for buffer, count, rtt in ((0.5, 2, "40 ms"), (1, 4, MIXED), (2, 2, MIXED))
    ),
    *(
        case(1, buffer, 60, (controller, count, rtt))
        for controller in ("cubic", "reno", "bbr", "fhstcp")
        for buffer, count, rtt in ((1, 1, "100 ms"), (0.25, 2, "10 ms"))
    ),
    # Two controllers.
    *(
        case(1, buffer, 60, (one, 1, "40 ms"), (other, 1, rtt))
        for one, other in PAIRS
        for buffer, rtt in ((0.5, "40 ms"), (1, "80 ms"), (2, "40 ms"))
    ),
    # Many flows, and others.
    case(1, 1, 60, ("cubic", 20, MIXED)),
    case(1, 0.25, 60, ("reno", 10, MIXED)),
    case(1, 1, 60, ("cubic", 10, MIXED), ("bbr", 10, MIXED)),
    case(1, 1, 60, ("bbr3", 2, MIXED)),
    case(1, 1, 60, ("highspeed", 2, "40 ms")),
    case(1, 1, 60, ("scalable", 2, "40 ms")),
    # Queues that decide about each packet.
    *(
        case(1, 1, 60, *flows, queue=queue)
        for queue in ("codel", "pie", "red", "fq_codel")
        for flows in ((("cubic", 4, MIXED),), (("cubic", 2, "40 ms"), ("bbr", 2, "40 ms")))
    ),
    case(1, 1, 60, ("cubic", 2, "40 ms"), ("fhstcp", 2, "40 ms"), queue="xcp_tcp"),
    # Reverse traffic, policers and losses.
    *(
        case(1, 1, 60, (controller, 2, MIXED), what="reverse traffic", more=[BACK])
        for controller in ("cubic", "bbr", "fhstcp")
    ),
    *(
        case(1, 1, 60, (controller, 2, "40 ms"), what="policer", bottleneck=POLICER)
        for controller in ("cubic", "bbr")
    ),
    *(
        case(1, 1, 60, (controller, 2, "40 ms"), what="loss", bottleneck={"loss": 1e-5})
        for controller in ("cubic", "bbr")
    ),
    # Fast paths.
    case(10, 1, 30, ("cubic", 2, "50 ms..150 ms"), ("bbr", 2, "50 ms..150 ms")),
    case(10, 0.5, 30, ("cubic", 4, MIXED)),
    case(10, 1, 30, ("bbr", 2, MIXED)),
    case(10, 1, 30, ("fhstcp", 2, MIXED)),
    case(10, 0.25, 30, ("reno", 4, "20 ms")),
    case(10, 1, 30, ("cubic", 20, MIXED)),
]
