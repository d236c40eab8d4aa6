"""Warnings about a scenario and about a run of it.

They name flows that cannot deliver a packet within it, too small queues, dual queues without a flow
of L4S, and connections that a transport stack has closed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

# A packet of the handshake, bytes.
OPENING = 40
# More warnings than this are only counted.
MOST_TOLD = 3
# With a processing time of up to a packet time, packets that were evenly spaced arrive at a link in
# groups of up to three: the one being sent, and two that come while it is.
ENOUGH = 3
# What middleboxes do after which a connection sends no ECT(1).
WITHOUT_ECT1 = ("clears request", "clears ae", "sets ect")
# Controllers that may send ECT(1), and the keys of their flows with which they do.
OF_L4S = {
    "dctcp": "ect1 = true",
    "bbr3": 'controller = { kind = "bbr3", proportional = true }',
}


def warnings(scenario: Mapping[str, Any]) -> list[str]:
    """What is doubtful about a scenario itself."""
    return [*_late_flows(scenario), *_small_queues(scenario), *_dual_queues(scenario)]


def closures(meta: Mapping[str, Any]) -> list[str]:
    """Say of which flows a transport stack has closed a connection in a run, and why."""
    texts = {}
    for closure in meta.get("closures", ()):
        why = f": {closure['reason']}" if closure["reason"] else ""
        texts[closure["flow"]] = f"a connection of {closure['flow']!r} was closed{why}"
    return list(texts.values())


def _late_flows(scenario: Mapping[str, Any]) -> list[str]:
    """Explain, for each flow that cannot deliver a packet within the run, what takes so long."""
    texts = [text for flow in scenario["flows"] if (text := _too_late(flow, scenario)) is not None]
    more = len(texts) - MOST_TOLD
    return [*texts[:MOST_TOLD], f"the same holds for {more} more flows"] if more > 0 else texts


def _too_late(flow: Mapping[str, Any], scenario: Mapping[str, Any]) -> str | None:
    """Explain why `flow` cannot deliver a packet; None if it can."""
    links, end_s = scenario["links"], scenario["duration_s"]
    forward, reverse = flow["forward"], flow.get("reverse", [])
    size = flow["packet_bytes"]
    start_s = _earliest_s(flow.get("start", {}))
    travel_s, packet_s = _delay_s(forward, links), _sending_s(size, forward, links)
    opening_s = 0.0
    if flow["traffic"]["kind"] != "cbr":
        # The connection is opened first, by one round trip.
        travel_s += _delay_s(forward, links) + _delay_s(reverse, links)
        opening_s = _sending_s(OPENING, forward, links) + _sending_s(OPENING, reverse, links)
    arrives_s = start_s + travel_s + opening_s + packet_s
    if arrives_s <= end_s:
        return None
    reasons = {
        f"it starts at {start_s:g} s": start_s,
        f"its path has a round-trip time of {flow['rtt_s']:g} s": travel_s,
        f"a packet of {size} B takes {packet_s:g} s at the rates of its path": packet_s,
    }
    why = max(reasons, key=lambda reason: reasons[reason])
    return (
        f"flow {flow['name']!r} cannot deliver any data: {why}, so its first packet arrives at "
        f"{arrives_s:g} s at the earliest, but the run ends at {end_s:g} s"
    )


def _earliest_s(start: Mapping[str, Any]) -> float:
    """The earliest start of a flow; one that is drawn from an exponential law may be at once."""
    return float(start.get("at_s", start.get("from_s", 0.0)))


def _delay_s(hops: Sequence[Mapping[str, Any]], links: Sequence[Mapping[str, Any]]) -> float:
    """The least time on wires; a link whose delay changes may have none."""
    return sum(float(part.get("delay_s", 0.0)) for part in _constant(hops, links))


def _sending_s(
    size: int, hops: Sequence[Mapping[str, Any]], links: Sequence[Mapping[str, Any]]
) -> float:
    """The least time that sending takes; a link whose rate changes may be as fast as can be."""
    return sum(size * 8 / float(part["rate_bps"]) for part in _constant(hops, links))


def _constant(
    hops: Sequence[Mapping[str, Any]], links: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """The links and access links of a path whose rate and delay stay what they are."""
    parts = (links[hop["link"]] if "link" in hop else hop for hop in hops)
    return [part for part in parts if not part.get("schedule")]


def _small_queues(scenario: Mapping[str, Any]) -> list[str]:
    """Name each link whose queue holds too few packets for the `overhead` of a flow over it."""
    texts = []
    for index, link in enumerate(scenario["links"]):
        packets = link["capacity_packets"]
        if packets is None or packets >= ENOUGH:
            continue
        for flow in scenario["flows"]:
            packet_s = flow["packet_bytes"] * 8 / link["rate_bps"]
            # The default of `overhead` is that of the slowest link, rounded up to a picosecond.
            if _crosses(flow, index) and flow["overhead_s"] >= packet_s:
                texts.append(_small_queue(link["name"], packets, flow))
                break
    return texts


def _small_queue(link: str, packets: int, flow: Mapping[str, Any]) -> str:
    held = "1 packet" if packets == 1 else f"{packets} packets"
    overhead_us = flow["overhead_s"] * 1e6
    return (
        f"the queue of {link!r} holds {held}, and the processing time of flow {flow['name']!r} "
        f"(`overhead`, up to {overhead_us:.4g} us) makes up to {ENOUGH} of its packets meet there, "
        f'which drops packets that evenly spaced senders would not lose; set overhead = "0 s", '
        f"or a capacity of at least {ENOUGH} packets"
    )


def _dual_queues(scenario: Mapping[str, Any]) -> list[str]:
    """Name each dual queue that no packet of L4S crosses."""
    texts = []
    for index, link in enumerate(scenario["links"]):
        queue = link.get("queue", {})
        words = queue.get("qdisc", queue.get("kind", "")).split()
        if words[:1] != ["dualpi2"]:
            continue
        any_ect = queue.get("any_ect") or "any_ect" in words
        flows = [flow for flow in scenario["flows"] if _crosses(flow, index)]
        if flows and not any(_sends_ect1(flow) or (any_ect and flow.get("ecn")) for flow in flows):
            texts.append(_without_l4s(link["name"], flows))
    return texts


def _sends_ect1(flow: Mapping[str, Any]) -> bool:
    return bool(flow.get("ect1")) and flow.get("middlebox") not in WITHOUT_ECT1


def _crosses(flow: Mapping[str, Any], link: int) -> bool:
    return any(hop.get("link") == link for hop in flow["forward"])


def _without_l4s(link: str, flows: Sequence[Mapping[str, Any]]) -> str:
    plain = {flow["controller"] for flow in flows if not flow.get("ect1")}
    ways = " and ".join(f"`{way}` for {name}" for name, way in OF_L4S.items() if name in plain)
    return (
        f"no flow sends ECT(1), so all packets are in the classic queue of {link!r}, and its "
        f"dualpi2 is PI2{f'; for the L4S queue set {ways}' if ways else ''}"
    )
