"""What is known of flows and watched eBPF ports at a time, as samples of the metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from fairhaul._core import __version__
from fairhaul.host.export.metrics import METRICS, UNITS, label
from fairhaul.host.kernel import unit_parts

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric as Family
    from prometheus_client.registry import Collector

    from fairhaul.host.results import KernelFlow, Look

# The number of flows with metrics of their own.
MOST_FLOWS = 50

# The name of a metric in `METRICS`, the values of its attributes, and its value.
Sample = tuple[str, tuple[str, ...], float]

# What may keep a sender from sending more, as `fairhaul-host` names it.
LIMIT_NAMES = ("congestion window", "pacing cap", "receive window", "send buffer", "application")

BITS = 8.0
MS = 1000.0


@dataclass(frozen=True, kw_only=True)
class WatchedPort:
    """What the watch last reported of an eBPF port."""

    line: Mapping[str, Any]
    installed: bool = True
    removed: bool = False


@dataclass(kw_only=True)
class Exported:
    """The last events of `fairhaul-host`; a thread may read it while another updates it."""

    most_flows: int = MOST_FLOWS
    look: Look | None = None
    limits: Mapping[str, float] | None = None
    ports: Mapping[str, WatchedPort] = field(default_factory=dict)
    # The eBPF ports that were reported since the last look.
    _reported: frozenset[str] = frozenset()

    def update(self, line: Mapping[str, Any]) -> None:
        """Take an event."""
        if "look" in line:
            name = line["look"]
            # One that was installed again is no longer removed.
            self.ports = {**self.ports, name: WatchedPort(line=line)}
            self._reported |= {name}
        elif "removed" in line:
            name = line["removed"]
            port = replace(self.ports[name], installed=False, removed=True)
            self.ports = {**self.ports, name: port}
        elif "limits" in line:
            self.limits = line["limits"]
        elif "flows" in line:
            self.look = line["flows"]
            self.ports = {
                name: port if name in self._reported else replace(port, installed=False)
                for name, port in self.ports.items()
            }
            self._reported = frozenset()

    def samples(self) -> Iterator[Sample]:
        """Give all samples; nothing before the first look."""
        yield "build.info", (__version__,), 1.0
        if self.look is not None:
            yield from _of_look(self.look)
            yield from _of_flows(self.look, self.most_flows)
        for name, port in self.ports.items():
            yield from _of_port(name, port)
        if self.limits is not None:
            for metric, key in LIMITS:
                yield metric, (), float(self.limits[key])


LIMITS = (
    ("watch.limit.share", "share"),
    ("watch.limit.times", "times"),
    ("watch.limit.duration", "seconds"),
    ("watch.limit.packets", "packets"),
)


def _scaled(key: str, unit: float = 1.0) -> Callable[[Mapping[str, Any]], float | None]:
    def value(part: Mapping[str, Any]) -> float | None:
        return None if part[key] is None else part[key] / unit

    return value


def _bound(key: str, unit: float = 1.0) -> Callable[[Mapping[str, Any]], float | None]:
    scaled = _scaled(key, unit)
    return lambda flow: None if flow["bounds"] is None else scaled(flow["bounds"])


def _share(counts: Mapping[str, int] | None) -> float | None:
    if counts is None or not counts["sent"]:
        return None
    return counts["retransmitted"] / counts["sent"]


PER_FLOW: tuple[tuple[str, Callable[[Mapping[str, Any]], float | None]], ...] = (
    ("flow.throughput", _scaled("rate_bps", BITS)),
    ("flow.cwnd", _scaled("cwnd")),
    ("flow.cwnd.min", _bound("cwnd_min")),
    ("flow.cwnd.max", _bound("cwnd_max")),
    ("flow.ssthresh", _scaled("ssthresh")),
    ("flow.srtt", _scaled("rtt_ms", MS)),
    ("flow.min_rtt", _scaled("min_rtt_ms", MS)),
    ("flow.rtt.min", _bound("rtt_min_ms", MS)),
    ("flow.rtt.max", _bound("rtt_max_ms", MS)),
    ("flow.pacing_rate", _scaled("pacing_rate_bps", BITS)),
    ("flow.retransmitted", lambda flow: _share(flow["recent"])),
)


def _of_look(look: Look) -> Iterator[Sample]:
    yield "look.timestamp", (), look["unix_s"]
    yield "look.duration", (), look["took_s"]
    yield "look.traced", (), float(look["traced"])
    yield "look.lost_ends", (), float(look["lost_ends"])
    for controller, totals in look["controllers"].items():
        own = [flow for flow in look["flows"] if flow["controller"] == controller]
        yield "controller.flows", (controller,), float(len(own))
        yield "controller.throughput", (controller,), _throughput(own)
        yield "controller.acknowledged", (controller,), float(totals["acked_bytes"])
        yield "controller.packets.sent", (controller,), float(totals["sent"])
        yield "controller.packets.retransmitted", (controller,), float(totals["retransmitted"])


def _of_flows(look: Look, most: int) -> Iterator[Sample]:
    """Give the samples of the fastest flows, and the sums of the others."""
    flows = fastest(look)
    # Two network namespaces of one process may have equal names, addresses and ports.
    listed = {_attributes(flow): flow for flow in reversed(flows[:most])}
    for attributes, flow in listed.items():
        for metric, value_of in PER_FLOW:
            if (value := value_of(flow)) is not None:
                yield metric, attributes, value
        if flow["limits"]:
            for limit in LIMIT_NAMES:
                yield "flow.limited", (*attributes, limit), flow["limits"].get(limit, 0.0)
    yield "unlisted.flows", (), float(len(flows[most:]))
    yield "unlisted.throughput", (), _throughput(flows[most:])


def fastest(look: Look) -> list[KernelFlow]:
    """Give the flows of a look, those with the highest throughput first."""
    return sorted(
        look["flows"],
        key=lambda flow: (-(flow["rate_bps"] or 0.0), -flow["acked_bytes"], flow["cookie"]),
    )


def _throughput(flows: list[KernelFlow]) -> float:
    return sum(flow["rate_bps"] or 0.0 for flow in flows) / BITS


def _attributes(flow: KernelFlow) -> tuple[str, ...]:
    local, peer = (_address(flow["local"]), _address(flow["remote"]))
    family = "ipv6" if ":" in local[0] else "ipv4"
    return ("tcp", family, *local, *peer, flow["controller"], flow["namespace"])


def _address(text: str) -> tuple[str, str]:
    host, _, port = text.rpartition(":")
    return host.strip("[]"), port


def _of_port(name: str, port: WatchedPort) -> Iterator[Sample]:
    about, finding = port.line["port"], port.line["finding"]
    yield "port.info", (name, about["port"] or "", about["version"] or ""), 1.0
    yield "port.installed", (name,), float(port.installed)
    yield "port.removed", (name,), float(port.removed)
    yield "port.over_limit", (name,), float(finding["over_limit"])
    for whose in ("own", "others"):
        yield "port.packets", (name, whose), float(finding[whose]["sent"])
        if (share := _share(finding[whose])) is not None:
            yield "port.retransmitted", (name, whose), share
    for key, value in (about["parameters"] or {}).items():
        factor, unit = unit_parts((about["units"] or {}).get(key, ""))
        yield "port.parameter", (name, key, unit), value * factor


def collector(state: Exported) -> Collector:
    """Give what the library of Prometheus asks for the metrics at each scrape."""
    from prometheus_client.metrics_core import (
        CounterMetricFamily,
        GaugeMetricFamily,
        InfoMetricFamily,
    )
    from prometheus_client.registry import Collector

    class Source(Collector):
        """The samples of a state."""

        def collect(self) -> Iterator[Family]:
            """Give the families that have samples."""
            samples: dict[str, list[tuple[tuple[str, ...], float]]] = {}
            for name, attributes, value in state.samples():
                samples.setdefault(name, []).append((attributes, value))
            for name, values in samples.items():
                metric = METRICS[name]
                labels = [label(attribute) for attribute in metric.attributes]
                if metric.kind == "info":
                    info = InfoMetricFamily(metric.family, metric.help)
                    for attributes, _ in values:
                        info.add_metric([], dict(zip(labels, attributes, strict=True)))
                    yield info
                    continue
                kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
                unit = UNITS.get(metric.unit, "")
                family = kind(metric.family, metric.help, labels=labels, unit=unit)
                for attributes, value in values:
                    family.add_metric(list(attributes), value)
                yield family

    return Source()
