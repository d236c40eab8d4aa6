"""The cases: scenarios in which a rule of Linux decides, and the time in which each is measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

PACKET = 1500


@dataclass(frozen=True, kw_only=True)
class Case:
    """Flows over one bottleneck, of which the first is measured."""

    name: str
    controllers: Sequence[Any]
    rate_mbps: float
    rtt_ms: float
    buffer_bdp: float
    measured_s: tuple[float, float]
    link: Mapping[str, Any] = field(default_factory=dict)
    """More keys of the bottleneck."""
    flow: Mapping[str, Any] = field(default_factory=dict)
    """More keys of the first flow."""
    measured_mbps: float | None = None
    """The rate of the link in the time that is measured, if it is another one."""

    def scenario(self) -> dict[str, Any]:
        """Give the scenario, which is the same for both engines.

        Hosts have a random processing time by default, which is before the bottleneck. The link
        has a jitter of up to one packet time behind it instead: without any, exact times repeat
        the same phase in every cycle.
        """
        packets = self.buffer_bdp * self.rate_mbps * 1e6 * self.rtt_ms / 1e3 / 8 / PACKET
        flows = [
            {
                "name": f"{index + 1}",
                "controller": controller,
                "rtt": f"{self.rtt_ms:g} ms",
                "start": "uniform 0 s..0.5 s",
                "overhead": "0 s",
                **(self.flow if index == 0 else {}),
            }
            for index, controller in enumerate(self.controllers)
        ]
        from_s, until_s = self.measured_s
        return {
            "title": self.name,
            "duration": f"{until_s:g} s",
            "warmup": f"{from_s:g} s",
            "packet": f"{PACKET} B",
            "profile": "linux-tcp",
            "bottleneck": {
                "rate": f"{self.rate_mbps:g} Mbit/s",
                "delay": "2 ms",
                "queue": {"kind": "droptail", "capacity": f"{round(packets)} packets"},
                "jitter": f"uniform 0 s..{8 * PACKET / self.rate_mbps:g} us",
                **self.link,
            },
            "flow": flows,
        }


def _bbr() -> list[Case]:
    beside = [
        Case(
            name=f"beside `{other}`, {rate} Mbit/s, 40 ms, {buffer} BDP",
            controllers=("bbr", other),
            rate_mbps=rate,
            rtt_ms=40,
            buffer_bdp=buffer,
            measured_s=(30, 150) if rate == 10 else (20, 80),
        )
        for other in ("cubic", "reno")
        for rate in (10, 100)
        for buffer in (1, 2, 4, 8)
    ]
    alone = [
        _alone(f"alone, {rate} Mbit/s, {rtt} ms, {buffer} BDP", rate, rtt, buffer, (10, 50))
        for rate, rtt, buffer in ((10, 40, 2), (100, 40, 1), (20, 100, 2))
    ]
    lower = {"schedule": [{"at": "20 s", "rate": "12 Mbit/s"}]}
    longer = {"schedule": [{"at": "15 s", "delay": "42 ms"}]}
    steps = [
        replace(
            _alone(
                f"{change}, {after} to {after + 2} s later", *path, (at + after, at + after + 2)
            ),
            link=link,
            measured_mbps=measured_mbps,
        )
        for change, at, path, link, measured_mbps in (
            ("24 to 12 Mbit/s, 50 ms", 20, (24, 50, 20), lower, 12),
            ("50 Mbit/s, 20 to 100 ms", 15, (50, 20, 12), longer, 50),
        )
        for after in (1, 3, 5, 7)
    ]
    aggregating = [
        _alone(
            f"50 Mbit/s, 12 ms, a link that releases every {every} ms",
            *(50, 12, 8, (10, 40)),
            {"aggregate": {"every": f"{every} ms"}},
        )
        for every in (5, 20, 40)
    ]
    lossy = [
        _alone(f"40 Mbit/s, 30 ms, {share} % lost", 40, 30, 10, (10, 60), {"loss": share / 100})
        for share in (1, 5, 10, 15)
    ]
    policed = [
        _alone(
            "100 Mbit/s, 30 ms, policed to 15 Mbit/s",
            *(100, 30, 1, (10, 60)),
            {"policer": {"rate": "15 Mbit/s", "burst": "100 kB"}},
        )
    ]
    return [*beside, *alone, *steps, *aggregating, *lossy, *policed]


def _alone(
    name: str,
    rate_mbps: float,
    rtt_ms: float,
    buffer_bdp: float,
    measured_s: tuple[float, float],
    link: Mapping[str, Any] | None = None,
) -> Case:
    return Case(
        name=name,
        controllers=("bbr",),
        rate_mbps=rate_mbps,
        rtt_ms=rtt_ms,
        buffer_bdp=buffer_bdp,
        measured_s=measured_s,
        link=link or {},
    )


CASES: Mapping[str, Sequence[Case]] = {"bbr": _bbr()}
