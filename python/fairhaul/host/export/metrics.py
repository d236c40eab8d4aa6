"""The metrics that are exported: their names in OpenTelemetry, and in Prometheus.

A name of Prometheus follows from that of OpenTelemetry by the translation that OpenTelemetry
documents: dots become underscores, the unit is appended, and counters end in `_total`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# How units, which OpenTelemetry writes as UCUM does, end a name of Prometheus. A unit in braces
# only says what is counted, and is not part of a name.
UNITS = {"By": "bytes", "By/s": "bytes_per_second", "s": "seconds", "1": "ratio"}

# The attributes of a flow. The first six are in the semantic conventions of OpenTelemetry.
OF_FLOW = (
    "network.transport",
    "network.type",
    "network.local.address",
    "network.local.port",
    "network.peer.address",
    "network.peer.port",
    "fairhaul.controller",
    "fairhaul.namespace",
)
OF_CONTROLLER = ("fairhaul.controller",)
OF_PORT = ("fairhaul.port",)


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One metric: its name and unit in OpenTelemetry, its meaning, and its attributes."""

    name: str
    unit: str
    help: str
    attributes: tuple[str, ...] = ()
    kind: Literal["gauge", "counter", "info"] = "gauge"

    @property
    def prometheus(self) -> str:
        """Its name in Prometheus."""
        ending = "total" if self.kind == "counter" else None
        return "_".join(filter(None, (label(self.name), UNITS.get(self.unit), ending)))

    @property
    def family(self) -> str:
        """The name of its family in OpenMetrics, to which the library adds the ending again."""
        return self.prometheus.removesuffix("_total").removesuffix("_info")


def label(attribute: str) -> str:
    """Give the label of Prometheus for an attribute of OpenTelemetry."""
    return attribute.replace(".", "_")


def _flow(name: str, unit: str, meaning: str) -> Metric:
    return Metric(name=f"fairhaul.flow.{name}", unit=unit, help=meaning, attributes=OF_FLOW)


THROUGHPUT = _flow(
    "throughput", "By/s", "Payload that the receiver acknowledged per second, between two looks."
)
CWND = _flow("cwnd", "{packet}", "Congestion window.")
CWND_MIN = _flow("cwnd.min", "{packet}", "Smallest congestion window between two looks.")
CWND_MAX = _flow("cwnd.max", "{packet}", "Largest congestion window between two looks.")
SSTHRESH = _flow("ssthresh", "{packet}", "Slow-start threshold; absent before the first loss.")
SRTT = _flow("srtt", "s", "Smoothed round-trip time.")
MIN_RTT = _flow("min_rtt", "s", "Shortest round-trip time of the last five minutes.")
RTT_MIN = _flow("rtt.min", "s", "Shortest round-trip time of a packet between two looks.")
RTT_MAX = _flow("rtt.max", "s", "Longest round-trip time of a packet between two looks.")
PACING_RATE = _flow(
    "pacing_rate", "By/s", "Pacing rate; it has an effect only if the flow is paced."
)
RETRANSMITTED = _flow(
    "retransmitted", "1", "Share of the packets sent between two looks that were retransmissions."
)

CONTROLLER_FLOWS = Metric(
    name="fairhaul.controller.flows",
    unit="{flow}",
    help="Flows that have sent data.",
    attributes=OF_CONTROLLER,
)
CONTROLLER_THROUGHPUT = Metric(
    name="fairhaul.controller.throughput",
    unit="By/s",
    help="Sum of the throughput of the flows of a controller.",
    attributes=OF_CONTROLLER,
)
ACKNOWLEDGED = Metric(
    name="fairhaul.controller.acknowledged",
    unit="By",
    help="Payload that receivers acknowledged, of all flows of a controller, ended ones included.",
    attributes=OF_CONTROLLER,
    kind="counter",
)
SENT = Metric(
    name="fairhaul.controller.packets.sent",
    unit="{packet}",
    help="Packets with data that the flows of a controller sent, retransmissions included.",
    attributes=OF_CONTROLLER,
    kind="counter",
)
RESENT = Metric(
    name="fairhaul.controller.packets.retransmitted",
    unit="{packet}",
    help="Packets that the flows of a controller retransmitted.",
    attributes=OF_CONTROLLER,
    kind="counter",
)
UNLISTED_FLOWS = Metric(
    name="fairhaul.unlisted.flows",
    unit="{flow}",
    help="Flows that have sent data and are not among the flows listed.",
)
UNLISTED_THROUGHPUT = Metric(
    name="fairhaul.unlisted.throughput",
    unit="By/s",
    help="Sum of the throughput of the flows that are not listed.",
)

PORT = Metric(
    name="fairhaul.port.info",
    unit="",
    help="An eBPF port that is watched: the controller that it ports, and its version.",
    attributes=(*OF_PORT, "fairhaul.port.controller", "fairhaul.port.version"),
    kind="info",
)
PARAMETER = Metric(
    name="fairhaul.port.parameter",
    unit="",
    help="Parameter of an eBPF port, as a multiple of its unit.",
    attributes=(*OF_PORT, "fairhaul.parameter", "fairhaul.parameter.unit"),
)
INSTALLED = Metric(
    name="fairhaul.port.installed",
    unit="",
    help="1 if the eBPF port is installed, and 0 after it was removed.",
    attributes=OF_PORT,
)
REMOVED = Metric(
    name="fairhaul.port.removed",
    unit="",
    help="1 if the watch has removed the eBPF port for its loss, otherwise 0.",
    attributes=OF_PORT,
)
OVER_LIMIT = Metric(
    name="fairhaul.port.over_limit",
    unit="",
    help="1 if the eBPF port exceeded the limits for the whole duration, otherwise 0.",
    attributes=OF_PORT,
)
PORT_SENT = Metric(
    name="fairhaul.port.packets",
    unit="{packet}",
    help="Packets sent within the watch's duration, by the flows of the eBPF port and by others.",
    attributes=(*OF_PORT, "fairhaul.flows"),
)
PORT_RETRANSMITTED = Metric(
    name="fairhaul.port.retransmitted",
    unit="1",
    help="Share of them that were retransmissions; absent if none was sent.",
    attributes=(*OF_PORT, "fairhaul.flows"),
)
LIMIT_SHARE = Metric(
    name="fairhaul.watch.limit.share",
    unit="1",
    help="Share of retransmissions above which an eBPF port is removed.",
)
LIMIT_TIMES = Metric(
    name="fairhaul.watch.limit.times",
    unit="1",
    help="Multiple of the share of all other flows that an eBPF port must also exceed.",
)
LIMIT_DURATION = Metric(
    name="fairhaul.watch.limit.duration",
    unit="s",
    help="Time for which an eBPF port must exceed the limits.",
)
LIMIT_PACKETS = Metric(
    name="fairhaul.watch.limit.packets",
    unit="{packet}",
    help="Packets that an eBPF port must have sent in that time.",
)

TIME = Metric(
    name="fairhaul.look.timestamp", unit="s", help="Time of the last look, since 1970 (UTC)."
)
DURATION = Metric(name="fairhaul.look.duration", unit="s", help="Time that the last look took.")
TRACED = Metric(
    name="fairhaul.look.traced",
    unit="",
    help="1 if the kernel's tracepoints report what happens between two looks, otherwise 0.",
)
LOST_ENDS = Metric(
    name="fairhaul.look.lost_ends",
    unit="{flow}",
    help="Flows that ended and were not counted, because too many ended between two looks.",
    kind="counter",
)
BUILD = Metric(
    name="fairhaul.build.info",
    unit="",
    help="The version of Fairhaul.",
    attributes=("service.version",),
    kind="info",
)

METRICS = tuple(value for value in list(globals().values()) if isinstance(value, Metric))
