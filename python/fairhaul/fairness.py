"""Fairness indices, and the shares that max-min fairness would give."""

from __future__ import annotations

from collections.abc import Sequence

ENOUGH = 1e-9


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
    spare = list(capacities)
    growing = set(range(len(routes)))
    while growing:
        pace = [0.0] * len(spare)
        for flow in growing:
            for link in routes[flow]:
                pace[link] += weights[flow]
        steps = [room / pace[link] for link, room in enumerate(spare) if pace[link] > 0]
        steps += [(caps[flow] - rates[flow]) / weights[flow] for flow in growing]
        step = max(0.0, min(steps))
        if step == float("inf"):
            raise ValueError("a flow without a link needs a cap")
        for flow in growing:
            rates[flow] += step * weights[flow]
        spare = [room - step * pace[link] for link, room in enumerate(spare)]
        full = {link for link, room in enumerate(spare) if room <= ENOUGH * capacities[link]}
        growing = {
            flow
            for flow in growing
            if rates[flow] < caps[flow] * (1 - ENOUGH) and full.isdisjoint(routes[flow])
        }
    return rates


def entitlement(goodputs: Sequence[float], entitled: Sequence[float]) -> float | None:
    """Jain's index of the goodputs over the rates that max-min fairness would give."""
    if not entitled or min(entitled) <= 0:
        return None
    return jain([got / due for got, due in zip(goodputs, entitled, strict=True)])
