"""What runs will cost: processor time and memory, estimated before it begins.

The number of packets of each run is estimated from its scenario, and the time of a packet is
measured on this machine, by a run that takes a fraction of a second.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from fairhaul import _core
from fairhaul.scenario.engines import FACTS, Engine
from fairhaul.scenario.memory import memory_text, needed_bytes
from fairhaul.scenario.read import Scenario, read_one
from fairhaul.text.durations import rough_duration_text

# What one second of a budget of processor time counts as, in packets.
PACKETS_PER_CPU_S = FACTS["sim"].packets_per_cpu_s
# The time of a packet with which the engine estimates the time of a run, in which transfers, rows
# of series and retransmissions in vain count, too.
ESTIMATED_PACKET_S = 3e-7

# About 200,000 packets of eight flows that lose some of them.
CALIBRATION = {
    "duration": "4 s",
    "profile": "plain",
    "bottleneck": {
        "rate": "400 Mbit/s",
        "delay": "5 ms",
        "queue": {"kind": "droptail", "capacity": "0.5 bdp"},
    },
    "flow": [{"name": "cubic", "controller": "cubic", "count": 8, "rtt": "20 ms"}],
}
# What is said before runs begin that take longer or need more.
LONG_S = 60.0
MUCH_BYTES = 1e9


@dataclass(frozen=True, kw_only=True)
class Cost:
    """The estimated cost of runs on this machine.

    `cpu_s` is an upper limit in most cases: it assumes that bulk flows use their bottlenecks fully,
    and that each packet is simulated.
    """

    runs: int
    cpu_s: float
    at_once: int
    bytes: float

    @property
    def clock_s(self) -> float:
        """How long the runs take, if each has a core of its own."""
        return self.cpu_s / self.at_once

    def __str__(self) -> str:
        """Write the cost in a sentence."""
        of = "run" if self.runs == 1 else "runs"
        cores = "an idle core" if self.at_once == 1 else f"{self.at_once} idle cores"
        return (
            f"{self.runs} {of}: up to {rough_duration_text(self.clock_s)} on {cores}, "
            f"and {memory_text(self.bytes)} of memory"
        )


def cost(scenarios: Sequence[Scenario], at_once: int, engine: Engine = "sim") -> Cost:
    """Estimate what it costs to run scenarios, `at_once` of them at a time."""
    estimates = [dict(scenario.estimate()) for scenario in scenarios]
    packets = sum(
        estimate["seconds"] / ESTIMATED_PACKET_S if engine == "sim" else estimate["packets"]
        for estimate in estimates
    )
    largest = sorted((needed_bytes(estimate, engine) for estimate in estimates), reverse=True)
    facts = FACTS[engine]
    each_s = second_per_packet() if engine == "sim" else 1 / facts.packets_per_cpu_s
    return Cost(
        runs=len(scenarios),
        cpu_s=packets * each_s + len(scenarios) * facts.start_s,
        at_once=max(1, min(at_once, len(scenarios))),
        bytes=sum(largest[:at_once]),
    )


def counted_s(scenario: Scenario) -> float:
    """Give the processor time that a run of the simulator counts as in a budget, in seconds.

    Packets of a burst, which the engine passes on together, count for as much as they cost.
    """
    return dict(scenario.estimate())["seconds"] / ESTIMATED_PACKET_S / PACKETS_PER_CPU_S


def second_per_packet() -> float:
    """Measure the processor time of a packet on this machine, in seconds."""
    run = _core.Run(read_one(CALIBRATION))
    before = time.thread_time()
    outcome = run.run()
    return (time.thread_time() - before) / outcome.packets


def announced(scenarios: Sequence[Scenario], at_once: int, engine: Engine = "sim") -> str:
    """Give a sentence on the cost of runs that take long or need much memory, else nothing.

    A run in real time takes what its scenario says.
    """
    if FACTS[engine].real_time:
        return ""
    estimates = [dict(scenario.estimate()) for scenario in scenarios]
    rough_s = sum(estimate["seconds"] for estimate in estimates) / at_once
    rough_s *= FACTS["sim"].packets_per_cpu_s / FACTS[engine].packets_per_cpu_s
    if (
        rough_s < LONG_S
        and max(needed_bytes(estimate, engine) for estimate in estimates) < MUCH_BYTES
    ):
        return ""
    return str(cost(scenarios, at_once, engine))
