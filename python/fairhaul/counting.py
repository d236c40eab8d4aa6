"""Flow counters on packets of their own: how well a router can tell how many flows there are.

`told` shows packets of flows, drawn by their rates, to a counter of `fairhaul list counters`; the
other functions give what theory expects of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from fairhaul import _core
from fairhaul.look import catalogue
from fairhaul.nearest import hint

# A packet of 1000 bytes at 800 Mbit/s.
GAP_S = 1e-5


def zipf(flows: int, exponent: float = 1.0) -> list[float]:
    """Give the rates of `flows` flows by Zipf's law.

    Args:
        flows: How many there are.
        exponent: The rate of flow k is 1 / k to this power; 0 makes all equal.

    Returns:
        A list of `flows` rates, the largest first, the first of them 1; they have no unit, since
        only their shares count.
    """
    return [rank**-exponent for rank in range(1, flows + 1)]


def told(
    counter: str,
    rates: int | Sequence[float],
    *,
    packets: int = 200_000,
    gap_s: float = GAP_S,
    seeds: Sequence[int] = range(1, 21),
    settings: Mapping[str, object] | None = None,
) -> list[float]:
    """Count flows: what `counter` tells after so many packets, once for each seed.

    Each packet is of flow k with the probability that its rate has in the sum of all.

    Args:
        counter: `exact`, `sred` [SRED] or `nred` [NRED].
        rates: How many flows there are, all equal; or the rate of each, in any unit.
        packets: How many packets are counted before the counter is asked.
        gap_s: Seconds between packets; windows and intervals of counters are in seconds.
        seeds: From 0 to 2^64 - 1; the same seed gives the same number.
        settings: Parameters of the counter, as `fairhaul list counters` names them.

    Returns:
        A list of numbers of flows, one for each of `seeds`, in their order.

    Raises:
        ValueError: There is no such counter or parameter, or a value does not fit; it says what
            was wanted.
    """
    known = [entry["name"] for entry in catalogue()["counters"]]
    if counter not in known:
        raise ValueError(f"counter {counter!r} is not known; {hint(counter, known)}")
    each = [1.0] * rates if isinstance(rates, int) else [float(rate) for rate in rates]
    given = [(name, _text(value)) for name, value in (settings or {}).items()]
    return _core.count_flows(counter, given, each, packets, gap_s, list(seeds))


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def seeming(rates: Sequence[float]) -> float:
    """Give the number of equal flows that hit as often as flows of these rates [SRED].

    Args:
        rates: One for each flow, in any unit.

    Returns:
        The inverse of the sum of the squares of their shares: what the zombie list tells of them.
        The number of flows where all are equal, less otherwise, and never less than 1.
    """
    return sum(rates) ** 2 / sum(rate * rate for rate in rates)


def noise(flows: float, weight: float = 0.001) -> float:
    """Give the relative standard deviation of the zombie list's share of hits.

    Args:
        flows: As many equal flows.
        weight: Of one comparison in the average; the default is that of [SRED].

    Returns:
        A share: 0.07 is 7 %. That of the number of flows is the same as long as it is small.
    """
    return math.sqrt(weight / (2 - weight) * (flows - 1))


def filtered(flows: int, bins: int = 8192, levels: int = 4) -> float:
    """Give the number of flows that bins count of so many [NRED].

    Flow i + 1 goes uncounted where all its bins were set by the i before it, each with probability
    1 - exp(-i / bins).

    Args:
        flows: How many send within the interval.
        bins: Bins of one bit in each level.
        levels: Levels, each with a hash of its own.

    Returns:
        The mean over hashes, a number of flows.
    """
    return math.fsum(1 - (1 - math.exp(-i / bins)) ** levels for i in range(flows))
