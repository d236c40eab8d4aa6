"""How controllers let the window grow without a loss, round trip by round trip, in packets."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fairhaul.studies.explanation.trace import Column
    from fairhaul.studies.explanation.windows import Growth


# Gives the window of each round trip of a growth from its first one on, in packets.
Law = Callable[["Growth"], "Column"]


# [RFC 9438]: C, the factor of a loss, and what a round trip adds at least.
CUBIC_C, CUBIC_BETA, CUBIC_RENO = 0.4, 0.7, 0.53
# [RFC 3649]: windows and decreases at both ends of the table.
HIGHSPEED = (38.0, 83_000.0, 0.5, 0.1)
# Scalable TCP adds a packet for this many acknowledged ones, in Linux (tcp_scalable.c).
SCALABLE = 100.0


def reno(growth: Growth) -> Column:
    """A packet in a round trip [RFC 5681]."""
    return np.asarray(growth.window[0] + np.arange(len(growth.window)), dtype=np.float64)


def cubic(growth: Growth) -> Column:
    """The cubic function of the time since the loss, or the line of Reno [RFC 9438]."""
    first, largest = float(growth.window[0]), 0.0
    for before in growth.befores:
        largest = before * (1 + CUBIC_BETA) / 2 if before < largest else before
    largest = max(largest, first)
    turn_s = ((largest - first) / CUBIC_C) ** (1 / 3)
    time_s = growth.since_s - growth.since_s[0]
    curve = CUBIC_C * (time_s - turn_s) ** 3 + largest
    line = first + CUBIC_RENO * np.arange(len(time_s))
    return np.asarray(np.maximum(curve, line), dtype=np.float64)


def _by_rounds(growth: Growth, adds: Callable[[float], float]) -> Column:
    window = np.empty(len(growth.window))
    window[0] = growth.window[0]
    for at in range(1, len(window)):
        window[at] = window[at - 1] + adds(float(window[at - 1]))
    return window


def scalable(growth: Growth) -> Column:
    """A hundredth of the window, at least a packet [STCP]."""
    return _by_rounds(growth, lambda window: max(1.0, window / SCALABLE))


def highspeed(growth: Growth) -> Column:
    """Half of what the response function asks for at each window [RFC 3649].

    Linux adds it for each acknowledgement, of which two packets have one (tcp_highspeed.c).
    """
    low, high, most, least = HIGHSPEED

    def adds(window: float) -> float:
        if window <= low:
            return 1.0
        part = math.log(window / low) / math.log(high / low)
        decrease = most + (least - most) * part
        asked = 0.078 * math.pow(window, 0.8) * 2 * decrease / (2 - decrease)
        return max(1.0, asked / 2)

    return _by_rounds(growth, adds)


def htcp(growth: Growth) -> Column:
    """A packet in a round trip for a second after the loss, and then more by its time [HTCP]."""
    late = np.maximum(0.0, growth.since_s - 1.0)
    adds = 1 + 10 * late + late**2 / 4
    grown = np.concatenate(([0.0], np.cumsum(adds[:-1])))
    return np.asarray(growth.window[0] + grown, dtype=np.float64)


LAWS: Mapping[str, Law] = {
    "reno": reno,
    "cubic": cubic,
    "highspeed": highspeed,
    "scalable": scalable,
    "htcp": htcp,
}
