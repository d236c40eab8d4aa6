"""A place: the path, the flows and their starts at one point of the box, as a scenario.

The attacked flows are `own[...]`, the flows that compete with them `rival[...]`. A rival may have
the attacked controller, too: then the kind of the rivals is `SELF`.
"""

from __future__ import annotations

import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fairhaul.scenario.packets import LEAST_BUFFER_PACKETS, PACKET_BYTES
from fairhaul.scenario.profiles import BY_PACKET
from fairhaul.scenario.transport import Stack, Transport
from fairhaul.studies.attack.impairments import NONE, Impairment
from fairhaul.text.phrases import quantity

OWN, RIVAL, SELF = "own", "rival", "self"

DECLARED = tomllib.loads(Path(__file__).with_name("attack.toml").read_text(encoding="utf-8"))
"""The ranges of a box, its impairments, the default box, and the objectives."""
IMPAIRMENTS = {
    name: Impairment(least=keys.pop("from"), most=keys.pop("to"), **keys)
    for name, keys in DECLARED["impairment"].items()
}

# All figures but stalls are of the second half of the run, when all flows have started.
WARMUP = 0.5
# Buffers that the kernel sizes on hosts that are set up for fast, long paths: a gigabyte at most.
AUTO = {
    "send_buffer": "auto",
    "receive_buffer": "auto",
    "host": {
        "sysctl": {
            "net.ipv4.tcp_rmem": f"4096 131072 {1 << 30}",
            "net.ipv4.tcp_wmem": f"4096 16384 {1 << 30}",
        }
    },
}
# The rate of the link is lower between these parts of the run, if the box has a `dip`.
DIP = (0.6, 0.8)


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a controller is attacked; quantities are as a person writes them, in these units.

    `rivals_start` is a part of the run: rivals start that much later than the attacked flows, or
    earlier if it is negative. `dip` is the part of the rate that is left from 60 % to 80 % of the
    run. `queue` is a queue of a scenario without its capacity, as TOML. `size_bdp` is the size of
    the attacked transfers, 0 for data without end. `offload` is `"off"` for hosts that send and
    receive packet by packet. `ecn` is `"on"` if all data are ECN-capable. `buffers` are `"auto"` if
    the kernel sizes them, up to `AUTO`, and otherwise limit nothing.
    """

    rate_mbps: float
    rtt_ms: float
    buffer_bdp: float
    loss: float
    dip: float
    queue: str
    flows: int
    rivals: int
    rival: str
    rivals_rtt: float
    rivals_start: float
    round_trips: float
    least_s: float
    size_bdp: float = 0.0
    impairment: str = NONE
    strength: float = 0.0
    offload: str = "on"
    ecn: str = "off"
    buffers: str = "large"

    @property
    def bdp_packets(self) -> float:
        """The bandwidth-delay product of the attacked flows, packets."""
        return self.rate_mbps * self.rtt_ms * 1e3 / 8 / PACKET_BYTES

    @property
    def buffer_packets(self) -> int:
        """The capacity of the queue."""
        return max(LEAST_BUFFER_PACKETS, round(self.buffer_bdp * self.bdp_packets))

    @property
    def rivals_rtt_ms(self) -> float:
        """The round-trip time of the rivals."""
        return float(f"{self.rtt_ms * self.rivals_rtt:.4g}")

    @property
    def longest_rtt_s(self) -> float:
        """The longest round-trip time of a flow."""
        return max(self.rtt_ms, self.rivals_rtt_ms if self.rivals else 0.0) / 1000

    @property
    def duration_s(self) -> float:
        """How long a run lasts."""
        return float(f"{max(self.least_s, self.round_trips * self.longest_rtt_s):.4g}")

    @property
    def size_bytes(self) -> float:
        """The size of the attacked transfers."""
        return float(max(round(self.size_bdp * self.bdp_packets), 1) * PACKET_BYTES)

    @property
    def _impairment(self) -> Impairment | None:
        return IMPAIRMENTS.get(self.impairment)

    def keys_of(self, table: str) -> dict[str, Any]:
        """Give the keys that its impairment sets in `bottleneck` or in the attacked `flow`."""
        return self._impairment.keys(self, table) if self._impairment else {}

    def text(self) -> str:
        """Describe the path in a few words."""
        kind = str(queue_of(self.queue)["kind"])
        parts = [
            quantity(self.rate_mbps * 1e6, "bit/s"),
            f"{self.rtt_ms:g} ms",
            f"{kind} queue of {self.buffer_packets} packets "
            f"({self.buffer_packets / self.bdp_packets:.2g} BDP)",
        ]
        parts += [f"random loss of {self.loss:g}"] if self.loss else []
        parts += [f"a dip to {self.dip:.0%} of the rate"] if self.dip < 1 else []
        parts += [self._impairment.described(self)] if self._impairment else []
        parts += [f"transfers of {quantity(self.size_bytes, 'B')}"] if self.size_bdp else []
        parts += ["ECN"] if self.ecn == "on" else []
        parts += ["buffers sized by the kernel"] if self.buffers == "auto" else []
        parts += ["hosts without offload"] if self.offload == "off" else []
        return ", ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Give the place as it is printed in JSON."""
        return {
            **asdict(self),
            "queue": queue_of(self.queue),
            "bdp_packets": self.bdp_packets,
            "buffer_packets": self.buffer_packets,
            "duration_s": self.duration_s,
        }


def queue_of(text: str) -> dict[str, Any]:
    """Give the keys of a queue that `Place.queue` holds."""
    found: dict[str, Any] = tomllib.loads(f"x = {text}")["x"]
    return found


def keys(
    place: Place,
    own: Transport | Stack,
    rival: Transport | Stack | None,
    title: str,
    seed: int,
) -> dict[str, Any]:
    """Give the keys of the scenario of a place; `rival` is None where the rivals are of `own`.

    Offload and `ecn` are of Fairhaul's hosts: a transport stack decides about ECN itself.
    """
    length_s = place.duration_s
    shortest_ms = min(place.rtt_ms, place.rivals_rtt_ms) if place.rivals else place.rtt_ms
    own_start_s = max(0.0, -place.rivals_start) * length_s if place.rivals else 0.0
    sized = {"traffic": f"{place.size_bytes:.0f} B"} if place.size_bdp else {}
    attacked = {**sized, **place.keys_of("flow")}
    flows = [{**_flow(OWN, place.flows, place.rtt_ms, own_start_s, own), **attacked}]
    if place.rivals:
        start_s = max(0.0, place.rivals_start) * length_s
        flows.append(_flow(RIVAL, place.rivals, place.rivals_rtt_ms, start_s, rival or own))
    if place.ecn == "on":
        flows = [flow if "stack" in flow else {**flow, "ecn": True} for flow in flows]
    if place.buffers == "auto":
        flows = [flow if "stack" in flow else {**flow, **AUTO} for flow in flows]
    if place.offload == "off":
        flows = [flow if "stack" in flow else {**flow, "profile": BY_PACKET} for flow in flows]
    return {
        "title": title,
        "seed": seed,
        "duration": f"{length_s:g} s",
        "warmup": f"{0 if place.size_bdp else WARMUP * length_s:g} s",
        "packet": f"{PACKET_BYTES} B",
        "bottleneck": {
            "rate": f"{place.rate_mbps:g} Mbit/s",
            "delay": f"{shortest_ms / 4:g} ms",
            "queue": {**queue_of(place.queue), "capacity": f"{place.buffer_packets} packets"},
            **({"loss": place.loss} if place.loss else {}),
            **_dip(place),
            **place.keys_of("bottleneck"),
        },
        "flow": flows,
    }


def _flow(
    name: str, count: int, rtt_ms: float, start_s: float, of: Transport | Stack
) -> dict[str, Any]:
    many = {"count": count} if count > 1 else {}
    start = {"start": f"{start_s:g} s"} if start_s > 0 else {}
    return {"name": name, **many, "rtt": f"{rtt_ms:g} ms", **start, **of.keys()}


def _dip(place: Place) -> dict[str, Any]:
    if place.dip >= 1:
        return {}
    begin_s, end_s = (part * place.duration_s for part in DIP)
    whole = f"{place.rate_mbps:g} Mbit/s"
    low = f"{place.rate_mbps * 1e6 * place.dip:.0f} bit/s"
    return {
        "schedule": [{"at": f"{begin_s:g} s", "rate": low}, {"at": f"{end_s:g} s", "rate": whole}]
    }
