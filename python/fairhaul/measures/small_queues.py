"""Warnings about queues that are too small for the random processing time of a sender."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# With a processing time of up to a packet time, packets that were evenly spaced arrive at a link in
# groups of up to three: the one being sent, and two that come while it is.
ENOUGH = 3


def warnings(scenario: Mapping[str, Any]) -> list[str]:
    """Name each link whose queue holds too few packets for the `overhead` of a flow over it."""
    texts = []
    for index, link in enumerate(scenario["links"]):
        packets = link["capacity_packets"]
        if packets is None or packets >= ENOUGH:
            continue
        for flow in scenario["flows"]:
            packet_s = flow["packet_bytes"] * 8 / link["rate_bps"]
            crosses = any(hop.get("link") == index for hop in flow["forward"])
            # The default of `overhead` is that of the slowest link, rounded up to a picosecond.
            if crosses and flow["overhead_s"] >= packet_s:
                texts.append(_text(link["name"], packets, flow))
                break
    return texts


def _text(link: str, packets: int, flow: Mapping[str, Any]) -> str:
    held = "1 packet" if packets == 1 else f"{packets} packets"
    overhead_us = flow["overhead_s"] * 1e6
    return (
        f"the queue of {link!r} holds {held}, and the processing time of flow {flow['name']!r} "
        f"(`overhead`, up to {overhead_us:.4g} us) makes up to {ENOUGH} of its packets meet there, "
        f'which drops packets that evenly spaced senders would not lose; set overhead = "0 s", '
        f"or a capacity of at least {ENOUGH} packets"
    )
