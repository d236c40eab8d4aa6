"""The unusual cells: what a flow meets off the clean path, and whether the engines agree on it.

Each is one flow, or two of different controllers, over a bottleneck of 20 Mbit/s and 40 ms. After
10 s something happens, or the path is unusual all the time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairhaul.studies.cells.table import PACKET, over_bottleneck

RATE_MBPS = 20
RTT_MS = 40
# When the path changes, and for how long after it each half second is compared.
CHANGES_AT_S = 15
FOLLOWED_S = 5
MEASURED_S = 30.0
# Two flows of which one is BBR share a link by its probes of the round trip, one every 10 s.
PAIRED_WITH_BBR_S = 130.0
# Packets of one product of rate and round trip.
BDP = round(RATE_MBPS * 1e6 * RTT_MS / 1000 / 8 / PACKET)

CONTROLLERS = ("reno", "cubic", "bbr", "bbr3", "fhstcp")
# Those that a mark, echoed as by RFC 3168, is a signal to.
HEED_MARKS = ("reno", "cubic", "fhstcp")


@dataclass(frozen=True, kw_only=True)
class UnusualCell:
    """A cell that is unusual."""

    kind: str
    controllers: tuple[str, ...]
    bottleneck: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Keys of the bottleneck that differ from the usual ones."""
    flow: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Keys of the first flow."""
    measured_s: float = MEASURED_S
    rate_mbps: int = RATE_MBPS
    by_half_second: bool = False
    """Whether each half second is compared after the path has changed, and not only means."""

    @property
    def name(self) -> str:
        """Give a name such as `pause-3s-cubic`."""
        return f"{self.kind}-{'+'.join(self.controllers)}"

    def scenario(self) -> dict[str, Any]:
        """Give the scenario, which is the same for all engines."""
        flows: list[dict[str, Any]] = [
            {"name": f"{index + 1}", "controller": controller, "rtt": f"{RTT_MS} ms"}
            for index, controller in enumerate(self.controllers)
        ]
        flows[0].update(self.flow)
        bottleneck = {
            "rate": f"{self.rate_mbps} Mbit/s",
            "delay": f"{RTT_MS / 4} ms",
            **_queue(BDP),
            **self.bottleneck,
        }
        return over_bottleneck(self.name, self.measured_s, bottleneck, flows)


def _queue(packets: int, **more: Any) -> dict[str, Any]:
    return {"queue": {"kind": "droptail", "capacity": f"{packets} packets", **more}}


def _silent(seconds: float) -> dict[str, Any]:
    """Nothing is written for some time after 15 s; before and after it without end."""
    until = f"{15 + seconds} s"
    return {"traffic": {"kind": "limited", "rate": "0 bit/s", "from": "15 s", "until": until}}


def _changes(*changes: Mapping[str, str], **more: Any) -> dict[str, Any]:
    return {"schedule": list(changes), **more}


# What is unusual, what the path has for it, what the flow, and how it is measured.
_SINGLE: Sequence[tuple[str, Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]]] = (
    ("pause-0.5s", {}, _silent(0.5), {}),
    ("pause-1s", {}, _silent(1), {}),
    ("pause-3s", {}, _silent(3), {}),
    ("pause-20s", {}, _silent(20), {"measured_s": 50.0}),
    (
        "on-and-off",
        {},
        {"traffic": {"kind": "onoff", "rate": "40 Mbit/s", "on": "1 s", "off": "3 s"}},
        {},
    ),
    (
        "little-to-send",
        {},
        {"traffic": {"kind": "limited", "rate": "5 Mbit/s", "from": "15 s", "until": "25 s"}},
        {},
    ),
    ("reorder-0.1%", {"reorder": {"probability": 0.001, "delay": "20 ms"}}, {}, {}),
    ("reorder-1%", {"reorder": {"probability": 0.01, "delay": "20 ms"}}, {}, {}),
    ("reorder-5%", {"reorder": {"probability": 0.05, "delay": "20 ms"}}, {}, {}),
    ("ack-bursts-10ms", {"aggregate": {"every": "10 ms"}}, {}, {}),
    ("ack-bursts-25ms", {"aggregate": {"every": "25 ms"}}, {}, {}),
    (
        "undone-timeout",
        _changes({"at": "15 s", "rate": "0 bit/s"}, {"at": "15.8 s", "rate": "20 Mbit/s"}),
        {},
        {},
    ),
    ("longer-route", _changes({"at": "15 s", "delay": "50 ms"}), {}, {}),
    (
        "shorter-route",
        {**_changes({"at": "15 s", "delay": "10 ms"}), "delay": "50 ms"},
        {"rtt": "120 ms"},
        {},
    ),
    (
        "rate-down",
        _changes({"at": "15 s", "rate": "10 Mbit/s"}, **_queue(400)),
        {},
        {"by_half_second": True},
    ),
    (
        "rate-up",
        _changes({"at": "15 s", "rate": "20 Mbit/s"}, rate="10 Mbit/s"),
        {},
        {"by_half_second": True},
    ),
    ("policer-0.3BDP", {"policer": {"rate": "10 Mbit/s", "burst": "30 kB"}}, {}, {}),
    ("policer-1BDP", {"policer": {"rate": "10 Mbit/s", "burst": "100 kB"}}, {}, {}),
    ("shallow", _queue(4), {}, {}),
    ("burst-loss", {"loss": {"good_to_bad": 0.0005, "bad_to_good": 0.2}}, {}, {}),
    ("fades", {"loss": {"good": "2 s", "bad": "20 ms"}}, {}, {}),
    ("ack-loss-10%", {"reverse_loss": 0.1}, {}, {}),
    ("ack-jitter-5ms", {"reverse_jitter": "uniform 0 s..5 ms"}, {}, {}),
    ("shaper", {"shaper": {"rate": "10 Mbit/s", "burst": "100 kB"}}, {}, {}),
    ("loss-3%", {"loss": 0.03}, {}, {}),
    ("loss-10%", {"loss": 0.1}, {}, {}),
    ("jitter-5ms", {"jitter": "uniform 0 s..5 ms"}, {}, {}),
    ("sized", {}, {"traffic": {"kind": "short", "rate": "3 /s", "size": "500 kB"}}, {}),
)

_PAIRS = (
    ("cubic", "reno"),
    ("bbr", "reno"),
    ("bbr", "cubic"),
    ("bbr3", "cubic"),
    ("bbr3", "bbr"),
    ("fhstcp", "reno"),
    ("fhstcp", "cubic"),
)


def _cells() -> list[UnusualCell]:
    single = [
        UnusualCell(kind=kind, controllers=(controller,), bottleneck=path, flow=flow, **more)
        for kind, path, flow, more in _SINGLE
        for controller in CONTROLLERS
    ]
    marked = [
        UnusualCell(
            kind="marks",
            controllers=(controller,),
            bottleneck=_queue(200, mark="20 packets"),
            flow={"ecn": True},
        )
        for controller in HEED_MARKS
    ]
    pairs = [
        UnusualCell(
            kind="beside",
            controllers=pair,
            measured_s=PAIRED_WITH_BBR_S if "bbr" in pair[0] else MEASURED_S,
        )
        for pair in _PAIRS
    ]
    return [*single, *marked, *pairs]


UNUSUAL: Mapping[str, UnusualCell] = {cell.name: cell for cell in _cells()}
