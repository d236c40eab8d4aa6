"""Compare the processor time of drawn scenarios with what is estimated before they run.

`make fuzz` runs 500 of them, `tests/test_drawn_costs.py` a few. They are drawn over what changes
the cost of a run: rates, round trips, sizes of packets, numbers of flows and of links, queues,
traffic, what a path does to packets, and how often something happens at a link. The length of a run
is chosen so that its estimate is a fraction of a second.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairhaul import _core
from fairhaul.runs.cost import ESTIMATED_PACKET_S, second_per_packet
from fairhaul.scenario.read import ScenarioError, read_one, toml

# No run may take more than this many times its estimate.
MOST = 20
# What is estimated of a run, seconds, and between which lengths of a run it is sought.
ESTIMATED_S = 0.02
SHORTEST_S, LONGEST_S = 1e-6, 1e5
# A run of less is not judged: its threads and tables take a few ms, whatever it simulates.
SHORT_S = 0.01
# After which multiple of its estimate a run is stopped.
STOPPED_AT = 3 * MOST
# How often a run must take too long, because other work on the machine slows each of them down.
ATTEMPTS = 3

QUEUES: Sequence[Mapping[str, Any]] = (
    {"kind": "droptail"},
    {"kind": "droptail", "mark": "20 packets"},
    {"kind": "red"},
    {"kind": "pie"},
    {"kind": "codel"},
    {"kind": "fq_codel"},
    {"kind": "sred"},
    {"kind": "xcp"},
    {"kind": "xcp_tcp"},
)
CONTROLLERS = ("reno", "cubic", "bbr", "bbr3", "highspeed", "fhstcp", "scalable", "dctcp", "fast")


@dataclass(frozen=True, kw_only=True)
class Timed:
    """A drawn scenario, its estimate and what its run took, seconds of processor time."""

    number: int
    scenario: Mapping[str, Any]
    estimated_s: float
    took_s: float

    @property
    def ratio(self) -> float:
        """How many times its estimate the run took; 0 if it is too short to be judged."""
        return self.took_s / self.estimated_s if self.took_s > SHORT_S else 0.0

    def __str__(self) -> str:
        """Write the ratio and the scenario, as the text of its file."""
        text = "\n".join(f"{key} = {toml(value)}" for key, value in self.scenario.items())
        return (
            f"{self.ratio:.1f} times its estimate ({self.took_s:.3g} s instead of "
            f"{self.estimated_s:.3g} s), number {self.number}:\n{text}"
        )


def timed(seed: int, numbers: Sequence[int]) -> list[Timed]:
    """Draw scenarios, run each on one core, and give them with the largest ratio first."""
    # The estimate is in packets, whose time depends on the machine.
    each_s = min(second_per_packet() for _ in range(3))
    found = []
    for number in numbers:
        content, scenario = drawn(seed, number)
        estimated_s = _estimated_s(scenario) * each_s / ESTIMATED_PACKET_S
        took_s = math.inf
        for _ in range(ATTEMPTS):
            took_s = min(took_s, _took_s(scenario, STOPPED_AT * estimated_s + SHORT_S))
            if took_s <= MOST * estimated_s:
                break
        found.append(Timed(number=number, scenario=content, estimated_s=estimated_s, took_s=took_s))
    return sorted(found, key=lambda run: run.ratio, reverse=True)


def drawn(seed: int, number: int) -> tuple[dict[str, Any], _core.Scenario]:
    """Draw scenario `number` of a seed; what the reader refuses is drawn again."""
    for attempt in range(100):
        content = _Draw(random.Random(f"{seed} {number} {attempt}")).scenario()
        try:
            return _with_length(content)
        except ScenarioError:
            continue
    raise AssertionError(f"nothing that is drawn as number {number} of seed {seed} can be read")


def _with_length(content: dict[str, Any]) -> tuple[dict[str, Any], _core.Scenario]:
    """Give a scenario the longest duration whose estimate is not above `ESTIMATED_S`."""

    def read(seconds: float) -> tuple[dict[str, Any], _core.Scenario]:
        whole = {"duration": f"{seconds:.9f} s", **content}
        return whole, read_one(whole)

    low, high = math.log(SHORTEST_S), math.log(LONGEST_S)
    for _ in range(12):
        middle = (low + high) / 2
        if _estimated_s(read(math.exp(middle))[1]) <= ESTIMATED_S:
            low = middle
        else:
            high = middle
    return read(math.exp(low))


def _estimated_s(scenario: _core.Scenario) -> float:
    return float(dict(scenario.estimate())["seconds"])


def _took_s(scenario: _core.Scenario, most_s: float) -> float:
    """Run a scenario for at most some processor time; give the time that it took."""
    run, took = _core.Run(scenario), [0.0]

    def work() -> None:
        before = time.thread_time()
        try:
            run.run()
        except _core.RunError:
            pass
        finally:
            took[0] = time.thread_time() - before

    # By the clock at first, because another thread's processor time is not known.
    thread = threading.Thread(target=work)
    thread.start()
    thread.join(most_s)
    before = time.process_time()
    while thread.is_alive() and time.process_time() - before < most_s:
        thread.join(0.01)
    run.stop()
    thread.join()
    return took[0]


@dataclass(frozen=True)
class _Draw:
    """Draws the parts of a scenario."""

    chance: random.Random

    def scenario(self) -> dict[str, Any]:
        """Draw all keys but the duration."""
        size = self._one([1500, 1500, 1000, 9000, 64_000, 64, 128, 576])
        nodes = self._whole(2, 40) if self._hits(0.3) else 0
        content: dict[str, Any] = {"seed": self._whole(1, 1000), "packet": f"{size} B"}
        content["profile"] = "linux-tcp" if self._hits(0.4) else "plain"
        if self._hits(0.15):
            content["grain"] = "packet"
        # Most links of a path have about the same rate.
        rate = self._spread(1e4, 2e10)
        if nodes:
            content["node"] = [{"name": f"n{node}"} for node in range(nodes)]
            content["link"] = [
                {
                    "from": f"n{node}",
                    "to": f"n{node + 1}",
                    **self._link(rate * self._spread(1, 4), size),
                }
                for node in range(nodes - 1)
            ]
        else:
            content["bottleneck"] = self._link(rate, size)
        content["flow"] = [self._flow(f"f{i}", rate, nodes) for i in range(self._whole(1, 4))]
        return content

    def _link(self, rate: float, size: int) -> dict[str, Any]:
        queue = {**self._one(QUEUES), "capacity": f"{self._whole(2, 3000)} packets"}
        link: dict[str, Any] = {
            "rate": f"{rate:.0f} bit/s",
            "delay": self._time(1e-6, 0.1),
            "queue": queue,
        }
        packet_s = 8 * size / rate
        more: dict[str, Any] = {
            "loss": self._one([1e-4, 0.01, 0.2, 0.9]),
            "reverse_loss": self._one([1e-3, 0.1, 0.5]),
            "jitter": f"uniform 0 s..{self._time(1e-5, 0.05)}",
            "reorder": {"probability": self._one([0.001, 0.05, 0.5]), "delay": "10 ms"},
            "duplicate": self._one([0.01, 0.5, 1.0]),
            "aggregate": {"every": self._time(packet_s / 10, packet_s * 1000)},
            "policer": {"rate": f"{rate / 2:.0f} bit/s", "burst": f"{100 * size} B"},
            "shaper": {"rate": f"{rate / 2:.0f} bit/s", "burst": f"{100 * size} B"},
            "schedule": [{"at": "1 ms", "rate": f"{rate / 3:.0f} bit/s"}],
            "reverse_rate": f"{max(rate / 100, 1000):.0f} bit/s",
        }
        link |= {key: value for key, value in more.items() if self._hits(0.08)}
        if "schedule" in link and self._hits(0.5):
            link["schedule_repeat"] = self._time(0.0011, 1)
        return link

    def _flow(self, name: str, rate: float, nodes: int) -> dict[str, Any]:
        flow: dict[str, Any] = {
            "name": name,
            "controller": self._one(CONTROLLERS),
            "count": round(self._spread(1, 2000)) if self._hits(0.3) else self._whole(1, 4),
        }
        if nodes:
            ends = self.chance.sample(range(nodes), 2)
            flow["from"], flow["to"] = (f"n{end}" for end in ends)
        elif self._hits(0.7):
            flow["rtt"] = self._time(0.4, 2)
        traffic = self._traffic(rate)
        if traffic:
            flow["traffic"] = traffic
        if isinstance(traffic, dict) and traffic["kind"] == "cbr":
            del flow["controller"]
        elif self._hits(0.2):
            flow["offload"] = f"{self._whole(2, 64)} packets"
        if self._hits(0.3):
            flow |= {"role": "background", "direction": self._one(["forward", "reverse"])}
            if nodes:
                del flow["direction"]
        if self._hits(0.1):
            flow["receive_buffer"] = f"{self._whole(2, 1000)} kB"
        return flow

    def _traffic(self, rate: float) -> Any:
        per_s = f"{self._spread(1e-2, 1) * rate / 1e5:.6g} /s"
        share = f"{rate * self._spread(0.01, 2):.0f} bit/s"
        on_off = {"on": self._time(1e-4, 10), "off": self._time(1e-4, 10)}
        return self._one(
            [
                None,
                None,
                None,
                f"{round(self._spread(1, 1e8))} B",
                {"kind": "short", "rate": per_s, "size": f"{round(self._spread(100, 1e6))} B"},
                {"kind": "web", "sessions": per_s, "think": "1 s"},
                {"kind": "onoff", "rate": share, **on_off},
                {"kind": "limited", "rate": share, "from": "1 ms"},
                {"kind": "cbr", "rate": share},
            ]
        )

    def _hits(self, probability: float) -> bool:
        return self.chance.random() < probability

    def _one(self, values: Sequence[Any]) -> Any:
        return self.chance.choice(values)

    def _whole(self, low: int, high: int) -> int:
        return self.chance.randint(low, high)

    def _spread(self, low: float, high: float) -> float:
        return math.exp(self.chance.uniform(math.log(low), math.log(high)))

    def _time(self, low: float, high: float) -> str:
        return f"{self._spread(low, high) * 1e6:.6f} us"


def main() -> None:
    """Run drawn scenarios, print the five with the largest ratios, and fail for one above 20."""
    options = argparse.ArgumentParser(prog="python -m tests.drawn_costs")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--count", type=int, default=500)
    asked = options.parse_args()
    found = timed(asked.seed, range(asked.count))
    judged = sum(run.ratio > 0 for run in found)
    print(f"{judged} of {len(found)} runs took more than {1000 * SHORT_S:g} ms.")
    for run in found[:5]:
        print(f"\n{run}")
    sys.exit(found[0].ratio > MOST)


if __name__ == "__main__":
    main()
