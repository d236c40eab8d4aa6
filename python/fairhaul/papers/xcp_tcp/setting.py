"""The link of [XCP-TCP, 5], the flows that share it, and the routers before it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from fairhaul.papers.experiment import case

if TYPE_CHECKING:
    from fairhaul.papers.experiment import Case, Settings

RATE = "100 Mbit/s"
NEAR, FAR = "20 ms", "100 ms"
# The round-trip times, and the delay of the link, of which they are four times as long.
RTTS: Mapping[str, str] = {NEAR: "5 ms", FAR: "25 ms"}

TWO_TCP, TEN_TCP, TEN_XCP = "1 XCP, 2 TCP", "10 TCP, 3 XCP", "10 XCP, 3 TCP"
MIXES: Mapping[str, str] = {
    TWO_TCP: "two-tcp.toml",
    TEN_TCP: "ten-tcp.toml",
    TEN_XCP: "ten-xcp.toml",
}

LITERAL, ADAPTIVE = "literal", "adaptive"


def router(kind: str = "xcp_tcp", *, capacity: str = "1 bdp", **more: object) -> Settings:
    """Give the settings of a router: the paper's, or that of plain XCP, with parameters."""
    return {"bottleneck.queue": {"kind": kind, "capacity": capacity, **more}}


def mixed(mix: str, rtt: str, key: tuple[str, ...], *settings: Settings, rate: str = RATE) -> Case:
    """Give a case of the flows of `mix` with a round-trip time."""
    path = {"bottleneck.rate": rate, "bottleneck.delay": RTTS[rtt], "flow.*.rtt": rtt}
    return case("xcp-tcp", MIXES[mix], key, path, *settings)
