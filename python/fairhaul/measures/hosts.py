"""Fairness between hosts: the shares of the hosts that send, and of the hosts that receive."""

# No postponed annotations: the required keys of a TypedDict are worked out from real ones.

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from fairhaul.measures.fairness import jain

# The keys of a flow that name its hosts.
SIDES = {"source": "source_host", "destination": "destination_host"}


class HostShares(TypedDict):
    """The hosts of one side, of the measured flows; a flow without one is a host of its own."""

    jain: float | None
    """Jain's index of the goodput of the hosts."""
    goodput_bps: dict[str, float]
    """The goodput of all flows of each host, by its name or else that of its flow."""
    shares: dict[str, float | None]
    """Its part of the goodput of all hosts."""


def host_shares(
    flows: Sequence[Mapping[str, Any]], goodputs_bps: Sequence[float]
) -> dict[str, HostShares]:
    """Give the shares of the hosts of each side of which a flow of the scenario names one.

    Source: Jain's index [JAIN].
    """
    return {
        side: _shares(key, flows, goodputs_bps)
        for side, key in SIDES.items()
        if any(key in flow for flow in flows)
    }


def _shares(
    key: str, flows: Sequence[Mapping[str, Any]], goodputs_bps: Sequence[float]
) -> HostShares:
    hosts: dict[str, float] = {}
    for flow, goodput_bps in zip(flows, goodputs_bps, strict=True):
        if flow["role"] == "measured":
            host = str(flow.get(key, flow["name"]))
            hosts[host] = hosts.get(host, 0.0) + float(goodput_bps)
    total = sum(hosts.values())
    return {
        "jain": jain(list(hosts.values())),
        "goodput_bps": hosts,
        "shares": {host: of / total if total else None for host, of in hosts.items()},
    }
