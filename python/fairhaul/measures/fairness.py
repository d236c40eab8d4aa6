"""Fairness indices, and the shares that max-min fairness would give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from heapq import heapify, heappop, heappush


def jain(shares: Sequence[float]) -> float | None:
    """Jain's index [FHSTCP, §3]: 1 if all shares are equal, 1/n if one has everything.

    It is None if all shares are 0.
    """
    squares = sum(share * share for share in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares > 0 else None


def max_min_ratio(shares: Sequence[float]) -> float | None:
    """The largest share over the smallest; None if the smallest is 0."""
    return max(shares) / min(shares) if shares and min(shares) > 0 else None


def max_min(
    capacities: Sequence[float],
    routes: Sequence[Sequence[int]],
    caps: Sequence[float],
    weights: Sequence[float],
) -> list[float]:
    """Give each flow its max-min fair rate, by filling all of them at the same pace.

    A flow stops at its cap, or when a link of its route (indices into `capacities`) is full; with
    one link this is water-filling. `weights` set the pace. `capacities` (one value per link),
    `caps` and the result (one value per flow) are in one unit, such as bit/s.

    Raises:
        ValueError: a flow that crosses no link has no cap.
    """
    rates = [0.0] * len(routes)
    # Of each link: the flows on it that grow, the sum of their weights, and what the others leave.
    growing: list[set[int]] = [set() for _ in capacities]
    pace, spare = [0.0] * len(capacities), list(capacities)
    for flow, route in enumerate(routes):
        for link in route:
            growing[link].add(flow)
            pace[link] += weights[flow]
    # When the flows of a link stop, or one flow alone: by the rate of a flow of weight 1.
    stops = [(room / pace[link], link, -1) for link, room in enumerate(spare) if growing[link]]
    stops += [(cap / weights[flow], -1, flow) for flow, cap in enumerate(caps)]
    heapify(stops)
    stopped = [False] * len(routes)
    while stops:
        level, link, alone = heappop(stops)
        full = spare[link] / pace[link] if link >= 0 and growing[link] else level
        if full > level:  # flows have stopped since this time was computed
            heappush(stops, (full, link, -1))
            continue
        for flow in list(growing[link]) if link >= 0 else [alone]:
            if stopped[flow]:
                continue
            if math.isinf(level):
                raise ValueError("a flow without a link needs a cap")
            stopped[flow] = True
            rates[flow] = max(0.0, level * weights[flow])
            for crossed in routes[flow]:
                growing[crossed].discard(flow)
                pace[crossed] -= weights[flow]
                spare[crossed] -= rates[flow]
    return rates


def entitlement(goodputs: Sequence[float], entitled: Sequence[float]) -> float | None:
    """Jain's index of the goodputs over the rates that max-min fairness would give."""
    if not entitled or min(entitled) <= 0:
        return None
    return jain([got / due for got, due in zip(goodputs, entitled, strict=True)])
