"""The rules that are compared: the keys that each one sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairhaul.scenario.quantities import rate_bps, time_s

Keys = Mapping[str, Any]
# What others are compared with: Linux without an exit, and with the one of its CUBIC.
STANDARD, HYSTART = "standard", "hystart"
RESUME = "careful resume"
PACKET_BITS = 12_000

_FULL = {"flow.F.slow_start": "full"}
RULES: dict[str, Keys] = {
    STANDARD: _FULL,
    HYSTART: {"flow.F.slow_start": "hystart"},
    "hystart++": {"flow.F.slow_start": "hystart++"},
    "search": {"flow.F.slow_start": "search"},
    "search 3.1": {"flow.F.slow_start": {"kind": "search", "variant": "linux"}},
    "rapid start": _FULL | {"flow.F.startup": "rapid start"},
    RESUME: _FULL,
    "jumpstart": _FULL | {"flow.F.startup": "jumpstart"},
}
# Rules for a window that is not used; those of the first round trips have nothing to send there.
LIMITED = {
    name: RULES[name] for name in (STANDARD, HYSTART, "hystart++", "search", "search 3.1")
} | {"rate-limited increase": _FULL | {"flow.F.rate_limited_increase": True}}


def keys_of(rule: str, rate: str, rtt: str) -> Keys:
    """Give the keys of a rule; a saved window is what fits the path, of full packets."""
    keys = LIMITED.get(rule) or RULES[rule]
    if rule != RESUME:
        return keys
    window = max(4, round(rate_bps("rate", rate) * time_s("rtt", rtt) / PACKET_BITS))
    saved = {"kind": RESUME, "saved_window": window, "saved_rtt": rtt}
    return {**keys, "flow.F.startup": saved}
