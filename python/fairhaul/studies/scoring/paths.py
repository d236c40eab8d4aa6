"""The paths of a score, drawn from stated ranges as a Latin hypercube [MCKAY]."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from fairhaul.scenario.packets import LEAST_BUFFER_PACKETS, PACKET_BYTES
from fairhaul.scenario.read import Scenario, ScenarioError, read, toml, variant
from fairhaul.scenario.transport import keyed, with_key

# What is drawn: rate, round-trip time and buffer evenly over the logarithm, one loss of the list.
RATES = ("5 Mbit/s", "500 Mbit/s")
RTTS = ("5 ms", "200 ms")
BUFFERS = ("0.1 bdp", "4 bdp")
LOSSES = (0.0, 0.0, 0.0, 0.0, 0.0, 1e-5, 1e-4, 1e-3)

PATHS, LEAST_PATHS, MOST_PATHS = 64, 8, 1024
PUBLIC_DRAW = 1
LARGEST_DRAW = 2**63 - 1

DROPTAIL = "droptail"
"""The queue of the published scores."""

# The runs last this many round trips, and at least this many seconds.
ROUND_TRIPS, LEAST_S = 400, 20.0


@dataclass(frozen=True, kw_only=True)
class Path:
    """A bottleneck with a DropTail queue, and the round-trip time of the flows that cross it."""

    number: int
    rate_bps: int
    rtt_s: float
    buffer_packets: int
    loss: float

    @property
    def bdp_packets(self) -> float:
        """The bandwidth-delay product, packets."""
        return self.rate_bps * self.rtt_s / 8 / PACKET_BYTES

    @property
    def duration_s(self) -> float:
        """How long the runs over this path last."""
        return max(LEAST_S, ROUND_TRIPS * self.rtt_s)

    @property
    def begins(self) -> bool:
        """Whether the scored controller is the flow that starts first beside another one."""
        return self.number % 2 == 1

    def text(self) -> str:
        """Describe the path in a few words."""
        loss = f", loss {self.loss:g}" if self.loss else ""
        return (
            f"{self.rate_bps / 1e6:.3g} Mbit/s, {self.rtt_s * 1e3:.3g} ms, buffer "
            f"{self.buffer_packets / self.bdp_packets:.2g} BDP{loss}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Give the path as it is printed in JSON."""
        return {
            **asdict(self),
            "buffer_bdp": self.buffer_packets / self.bdp_packets,
            "duration_s": self.duration_s,
            "begins": self.begins,
        }


def drawn(draw: int = PUBLIC_DRAW, paths: int = PATHS) -> list[Path]:
    """Draw the paths of a score; the same draw always gives the same paths.

    Raises:
        ScenarioError: the number of the draw, or that of the paths, is out of range.
    """
    if not 0 <= draw <= LARGEST_DRAW:
        raise ScenarioError(f"draw {draw}: wanted a whole number from 0 to 2^63 - 1")
    if not LEAST_PATHS <= paths <= MOST_PATHS:
        raise ScenarioError(f"paths {paths}: wanted from {LEAST_PATHS} to {MOST_PATHS} paths")
    settings = {
        "duration": "1 s",
        "packet": f"{PACKET_BYTES} B",
        "bottleneck": {
            "rate": RATES[0],
            "delay": "0 s",
            "queue": {"kind": "droptail", "capacity": BUFFERS[0]},
        },
        "flow": [{"name": "flow", "rtt": RTTS[0], "controller": "reno"}],
        "sweep": {
            "points": paths,
            "design_seed": draw,
            "bottleneck.rate": _range(RATES),
            "flow.flow.rtt": _range(RTTS),
            "bottleneck.queue.capacity": _range(BUFFERS),
            "bottleneck.loss": {"any": list(LOSSES)},
        },
    }
    return [_path(index + 1, scenario) for index, scenario in enumerate(read(settings))]


def read_queue(given: str) -> dict[str, Any]:
    """Read the queue of all paths, `KIND` or `KIND:key=value,key=value`; give its keys.

    Raises:
        ScenarioError: it is no queue, or has a capacity, which belongs to the paths.
    """
    queue, wrong = keyed(given)
    if "capacity" in queue:
        wrong.append("the paths give the capacity")
    try:
        if wrong:
            raise ScenarioError(*wrong)
        sized = toml({**queue, "capacity": f"{LEAST_BUFFER_PACKETS} packets"})
        with_key("bottleneck.queue", sized, link={"rate": "10 Mbit/s"})
    except ScenarioError as error:
        mistakes = (f"queue {given}: {mistake}" for mistake in error.args)
        raise ScenarioError(*mistakes) from None
    return dict(queue)


def _range(ends: tuple[str, str]) -> dict[str, str]:
    return {"from": ends[0], "to": ends[1], "scale": "log"}


def _path(number: int, scenario: Scenario) -> Path:
    described = scenario.described
    link = described["links"][0]
    capacity_packets = link["capacity_packets"]
    assert capacity_packets is not None, "its queue has a capacity"
    return Path(
        number=number,
        rate_bps=link["rate_bps"],
        rtt_s=described["flows"][0]["rtt_s"],
        buffer_packets=max(LEAST_BUFFER_PACKETS, capacity_packets),
        loss=float(variant(scenario)["bottleneck.loss"]),
    )
