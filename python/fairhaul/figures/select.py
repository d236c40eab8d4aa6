"""What is drawn where there is no room for all: the ends, and what lies evenly between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from fairhaul.measures.groups import class_of

T = TypeVar("T")


def evenly(items: Sequence[T], most: int) -> list[T]:
    """Give at most `most` of `items`, the first and the last among them."""
    if len(items) <= most:
        return list(items)
    if most < 2:
        return list(items[:most])
    last = len(items) - 1
    return [items[round(k * last / (most - 1))] for k in range(most)]


def flows_between(
    flows: Sequence[Mapping[str, Any]], goodputs: Sequence[float], most: int
) -> list[int]:
    """Choose flows: of each class that with the least, the most, and quantiles of the goodput.

    Measured flows come first. They are given in the order of the file.
    """
    found: list[int] = []
    for measured in (True, False):
        groups: dict[str, list[int]] = {}
        for i, flow in enumerate(flows):
            if (flow["role"] == "measured") is measured:
                groups.setdefault(class_of(flow), []).append(i)
        # Small groups need less than their part of the room.
        waiting = sorted(groups.values(), key=len)
        if len(waiting) > most - len(found):
            waiting = [[i for group in waiting for i in group]]
        for place, group in enumerate(waiting):
            room = (most - len(found)) // (len(waiting) - place)
            found += evenly(sorted(group, key=lambda i: goodputs[i]), room)
    return [
        *sorted(i for i in found if flows[i]["role"] == "measured"),
        *sorted(i for i in found if flows[i]["role"] != "measured"),
    ]


def part(shown: int, total: int, what: str) -> str:
    """Say in a title how many of all are drawn; nothing where all are."""
    return f": {shown} of {total} {what}" if shown < total else ""
