"""The packets of studies that choose their own paths, and the headers of packets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairhaul.scenario.engines import FACTS, Engine

PACKET_BYTES = 1500

# A smaller buffer would not hold the packets that leave a sender at once.
LEAST_BUFFER_PACKETS = 10

HEADER_BYTES = 40
"""IP and TCP without options, as the simulator counts them; a congestion header adds to it."""
STAMPED_BYTES = 52
"""With the kernel's time stamps."""
DATAGRAM_BYTES = 28
"""IP and UDP in a kernel."""


def is_datagrams(flow: Mapping[str, Any]) -> bool:
    """Whether a described flow sends datagrams instead of segments of TCP."""
    return flow["traffic"]["kind"] == "cbr" or "stack" in flow


def header_bytes(flow: Mapping[str, Any], engine: Engine) -> int:
    """Give the bytes of headers of a full data packet of a described flow on an engine."""
    if FACTS[engine].kernel:
        return DATAGRAM_BYTES if is_datagrams(flow) else STAMPED_BYTES
    return int(flow.get("header_bytes", HEADER_BYTES))


def payload_part(flow: Mapping[str, Any], engine: Engine) -> float:
    """Give the part of a full data packet of a described flow on an engine that is payload."""
    return float(1 - header_bytes(flow, engine) / flow["packet_bytes"])
