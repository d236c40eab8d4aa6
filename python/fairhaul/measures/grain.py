"""The grain of a run: which flows were simulated as trains of packets, in figures and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fairhaul.measures.types import Grain

# Names in one line; of more flows the number is given.
MOST_NAMED = 3


def of_scenario(scenario: Mapping[str, Any]) -> Grain | None:
    """Give the grain of a run by the scenario of its record; nothing if all packets are single."""
    if "grain" not in scenario:
        return None
    single = {flow["name"]: flow["no_trains"] for flow in scenario["flows"] if "no_trains" in flow}
    return {"longest_train": scenario["grain"]["longest_train"], "single": single}


def line(grain: Grain, flows: int) -> str:
    """Give the sentences of a table or a caption; `flows`: how many flows the run has."""
    most, single = grain["longest_train"], grain["single"]
    if len(single) == flows:
        reasons = list(dict.fromkeys(single.values()))
        return f"Grain: single packets, since no flow can send trains ({'; '.join(reasons)})."
    text = f"Grain: trains of up to {most} packets, single packets before a queue is full."
    by_reason: dict[str, list[str]] = {}
    for name, reason in single.items():
        by_reason.setdefault(reason, []).append(name)
    for reason, names in by_reason.items():
        text += f" Single packets from {_named(names)}: {reason}."
    return text


def _named(names: list[str]) -> str:
    if len(names) <= MOST_NAMED:
        return ", ".join(names)
    return f"{len(names)} flows"
