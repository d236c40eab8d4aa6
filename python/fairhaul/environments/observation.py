"""What an agent observes of its sender: ratios, so that a policy can be used on every path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The ratios of an observation, in order; `docs/environments.md` defines them.
NAMES = (
    "rtt",
    "rtt_change",
    "delivered",
    "lost",
    "rate",
    "window",
    "filled",
)
# Each ratio is limited to this range.
LOW, HIGH = -10.0, 10.0


@dataclass(frozen=True, kw_only=True)
class Step:
    """What a sender observed from one decision to the next; rewards are computed from it.

    Times are in seconds, amounts in packets. `link` is the rate of the slowest link of the path,
    packets per second, which a reward may use and an observation does not.
    """

    duration_s: float
    delivered: float
    lost: float
    sent: float
    rtt_s: float
    rtt_before_s: float
    min_rtt_s: float
    in_flight: float
    window: float
    most: float
    link: float
    open: bool

    @property
    def rate(self) -> float:
        """Packets delivered per second."""
        return self.delivered / self.duration_s

    @property
    def loss(self) -> float:
        """The part of the packets whose fate became known that was lost."""
        known = self.delivered + self.lost
        return self.lost / known if known else 0.0

    @property
    def rtt_ratio(self) -> float:
        """The mean round-trip time over the smallest one."""
        return self.rtt_s / self.min_rtt_s if self.rtt_s and self.min_rtt_s else 1.0

    @property
    def rtt_change(self) -> float:
        """How much the mean round-trip time grew, over the smallest one."""
        return (self.rtt_s - self.rtt_before_s) / self.min_rtt_s if self.min_rtt_s else 0.0

    def ratios(self) -> tuple[float, ...]:
        """Give the ratios in the order of `NAMES`."""
        room = self.most * self.min_rtt_s
        return (
            self.rtt_ratio,
            self.rtt_change,
            self.delivered / self.sent if self.sent > 0 else 0.0,
            self.loss,
            self.rate / self.most if self.most else 0.0,
            self.window / room if room else 0.0,
            self.in_flight / self.window if self.window else 0.0,
        )


class History:
    """The last observations, oldest first, as the array that an agent is given."""

    def __init__(self, length: int) -> None:
        """Begin without observations, which count as zeros."""
        self._rows = np.zeros((length, len(NAMES)), dtype=np.float32)

    def add(self, step: Step) -> NDArray[np.float32]:
        """Add an observation, and give all."""
        self._rows[:-1] = self._rows[1:]
        self._rows[-1] = np.clip(step.ratios(), LOW, HIGH)
        return self._rows.reshape(-1).copy()


class Before:
    """What observations of one sender refer to: the last round-trip time, and the highest rate."""

    def __init__(self, link: float) -> None:
        """Begin before the first observation; `link` is in packets per second."""
        self._link = link
        self._rtt_s = self._most = self._in_flight = 0.0

    def step(self, observed: Sequence[float], duration_s: float) -> Step:
        """Make a step of what the engine gives; see `step_agents`."""
        delivered, lost, rtt_sum_s, samples, _, connections, window, in_flight, srtt_s, least_s = (
            observed
        )
        rtt_s = rtt_sum_s / samples if samples else srtt_s
        before_s = self._rtt_s or rtt_s
        self._most = max(self._most, delivered / duration_s)
        sent = max(delivered + lost + in_flight - self._in_flight, 0.0)
        self._rtt_s, self._in_flight = rtt_s, in_flight
        return Step(
            duration_s=duration_s,
            delivered=delivered,
            lost=lost,
            sent=sent,
            rtt_s=rtt_s,
            rtt_before_s=before_s,
            min_rtt_s=least_s,
            in_flight=in_flight,
            window=window,
            most=self._most,
            link=self._link,
            open=connections > 0,
        )


def information(step: Step) -> dict[str, Any]:
    """Give what a step may be looked at by, beside the observation."""
    return {
        "rate": step.rate,
        "rtt_s": step.rtt_s,
        "loss": step.loss,
        "window": step.window,
        "used": step.rate / step.link if step.link else 0.0,
    }
