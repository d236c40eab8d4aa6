"""The grain of a run: of which flows bursts were simulated packet by packet, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

# Names in one line; of more flows the number is given.
MOST_NAMED = 3


def of_scenario(scenario: Mapping[str, Any]) -> dict[str, str]:
    """Give the reasons by the names of such flows, from the scenario of a record."""
    return {
        flow["name"]: flow["single_packets"]
        for flow in scenario["flows"]
        if "single_packets" in flow
    }


def line(single: Mapping[str, str]) -> str:
    """Give the sentence of a table."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in single.items():
        by_reason.setdefault(reason, []).append(name)
    each = (f"{_named(names)} ({reason})" for reason, names in by_reason.items())
    return f"Bursts are simulated packet by packet, which takes longer: {'; '.join(each)}."


def _named(names: list[str]) -> str:
    if len(names) <= MOST_NAMED:
        return ", ".join(names)
    return f"{len(names)} flows"
