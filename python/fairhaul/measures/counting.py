"""Flow counters without a scenario: how well a router can estimate the number of flows.

`count_flows` feeds packets of flows, drawn by their rates, to one of `fairhaul list counters`; the
other functions compute expected values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import index as whole

from fairhaul import _core
from fairhaul.scenario.listings import catalogue
from fairhaul.scenario.read import plain, typed
from fairhaul.text.nearest import hint

# A packet of 1000 bytes at 800 Mbit/s.
GAP_S = 1e-5


def zipf(flows: int, exponent: float = 1.0) -> list[float]:
    """Give the rates of `flows` flows by Zipf's law.

    Args:
        flows: the number of flows.
        exponent: the rate of flow k is 1 / k to this power; 0 makes all equal.

    Returns:
        A list of `flows` rates, the largest first, the first of them 1; they have no unit, because
        only their shares count.
    """
    return [rank**-exponent for rank in range(1, flows + 1)]


def count_flows(
    counter: str,
    rates: int | Sequence[float],
    *,
    packets: int = 200_000,
    gap_s: float = GAP_S,
    seeds: Sequence[int] = range(1, 21),
    settings: Mapping[str, object] | None = None,
) -> list[float]:
    """Give the number of flows that `counter` estimates after `packets` packets, for each seed.

    A packet belongs to flow k with probability (rate of flow k) / (sum of all rates).

    Args:
        counter: `exact`, `sred` [SRED] or `nred` [NRED].
        rates: the number of flows, all with the same rate; or the rate of each, in any unit.
        packets: the number of packets before the estimate is read.
        gap_s: seconds between packets; windows and intervals of counters are in seconds.
        seeds: from 0 to 2^64 - 1; the same seed gives the same number.
        settings: parameters of the counter, as `fairhaul list counters` names them.

    Returns:
        A list of numbers of flows, one for each of `seeds`, in their order.

    Raises:
        ValueError: there is no such counter or parameter, or a value is not valid.
    """
    known = [entry["name"] for entry in catalogue()["counters"]]
    if counter not in known:
        raise ValueError(f"unknown counter {counter!r}; {hint(counter, known)}")
    flows = plain(rates)
    each = [1.0] * flows if isinstance(flows, int) else [float(rate) for rate in flows]
    given = [(name, typed(value)) for name, value in (settings or {}).items()]
    return _core.count_flows(
        counter, given, each, whole(packets), float(gap_s), [whole(seed) for seed in seeds]
    )


def effective_flows(rates: Sequence[float]) -> float:
    """Give the number of equal flows with as many hits as flows of these rates [SRED].

    Args:
        rates: the rate of each flow, in any unit.

    Returns:
        The inverse of the sum of the squares of their shares: what the zombie list estimates. It is
        the number of flows if all rates are equal, otherwise less, and at least 1.
    """
    return sum(rates) ** 2 / sum(rate * rate for rate in rates)


def relative_deviation(flows: float, weight: float = 0.001) -> float:
    """Give the relative standard deviation of the zombie list's share of hits.

    Args:
        flows: the number of flows, all with the same rate.
        weight: the weight of one comparison in the average; the default is that of [SRED].

    Returns:
        A share: 0.07 is 7 %. As long as it is small, it is also that of the number of flows.
    """
    return math.sqrt(weight / (2 - weight) * (flows - 1))


def expected_count(flows: int, bins: int = 8192, levels: int = 4) -> float:
    """Give the expected number of flows that the bins count out of `flows` [NRED].

    Flow i + 1 is not counted if all its bins were set by the i flows before it, each with
    probability 1 - exp(-i / bins).

    Args:
        flows: the number of flows that send within the interval.
        bins: bins of one bit in each level.
        levels: levels, each with its own hash.

    Returns:
        The mean over hashes, a number of flows.
    """
    return math.fsum(1 - (1 - math.exp(-i / bins)) ** levels for i in range(flows))
