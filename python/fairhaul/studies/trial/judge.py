"""What a trial has found so far: each controller beside the first, in pairs of transfers.

The n-th transfer of a controller is compared with the n-th of the first one. What changes with time
then affects both alike, and the differences of pairs are independent of each other.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from fairhaul.statistics import sequence

# The probability that a trial of equal controllers ends with a difference, at most.
ALPHA = 0.05
# Fewer pairs are not judged: the sequences are asymptotic.
LEAST_PAIRS = 50
# The difference of goodput that is asked for.
ASKED = math.log(1.05)
# Harm, which ends a trial early: so much less goodput, or such a larger share of retransmitted
# packets; with a probability of its own, and from fewer pairs on, because users pay for it.
HARM_ALPHA = 0.01
HARM_PAIRS = 20
HARM_GOODPUT = math.log(0.9)
HARM_RETRANSMITTED = 0.01
# The transfers of each controller from which the number of transfers that is needed is estimated.
FIRST = 30

Verdict = Literal["higher", "lower", "same", "harm", "undecided"]


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A transfer, or by time a block: its mean log of goodput in bit/s, and its packets."""

    log_goodput: float
    sent: int
    retransmitted: int

    @property
    def retransmitted_share(self) -> float:
        """The share of its packets that were retransmissions."""
        return self.retransmitted / self.sent if self.sent else 0.0


def measured(connections: Sequence[Mapping[str, Any]], least_bytes: int) -> Measured | None:
    """Measure the connections of a transfer that carried enough; None if none did.

    Goodput is what the other end acknowledged over the time in which data were outstanding.
    """
    large = [of for of in connections if of["acked_bytes"] >= least_bytes and of["busy_s"] > 0]
    if not large:
        return None
    logs = [math.log(8 * of["acked_bytes"] / of["busy_s"]) for of in large]
    return Measured(
        log_goodput=math.fsum(logs) / len(logs),
        sent=sum(of["sent"] for of in large),
        retransmitted=sum(of["retransmitted"] for of in large),
    )


def together(parts: Sequence[Measured]) -> Measured:
    """Measure a block by the transfers that began in it."""
    return Measured(
        log_goodput=math.fsum(of.log_goodput for of in parts) / len(parts),
        sent=sum(of.sent for of in parts),
        retransmitted=sum(of.retransmitted for of in parts),
    )


@dataclass(kw_only=True)
class Comparison:
    """A controller beside the first one; `alpha` is its part of the probability of an error."""

    alpha: float = ALPHA
    goodput: sequence.Sequence = field(default_factory=sequence.Sequence)
    retransmitted: sequence.Sequence = field(default_factory=sequence.Sequence)
    _verdict: Verdict = "undecided"
    _unpaired: tuple[deque[Measured], deque[Measured]] = field(
        default_factory=lambda: (deque(), deque())
    )

    def add(self, of: Measured, *, is_first: bool) -> None:
        """Take a transfer of one of the two controllers; the first verdict stays."""
        first, other = self._unpaired
        (first if is_first else other).append(of)
        while first and other:
            base, new = first.popleft(), other.popleft()
            self.goodput.add(new.log_goodput - base.log_goodput)
            self.retransmitted.add(new.retransmitted_share - base.retransmitted_share)
        if self._verdict == "undecided":
            self._verdict = self._judged()

    @property
    def pairs(self) -> int:
        """The number of pairs."""
        return self.goodput.count

    @property
    def verdict(self) -> Verdict:
        """What the pairs say."""
        return self._verdict

    def interval(self) -> tuple[float, float] | None:
        """Give the interval of the difference of log goodput; None if there are too few pairs."""
        return self.goodput.interval(self.alpha) if self.pairs >= LEAST_PAIRS else None

    def harms(self) -> list[Literal["goodput", "retransmitted"]]:
        """Say in what the controller does harm."""
        if self.pairs < HARM_PAIRS:
            return []
        found: list[Literal["goodput", "retransmitted"]] = []
        if self.goodput.at_most(HARM_ALPHA) < HARM_GOODPUT:
            found.append("goodput")
        if self.retransmitted.at_least(HARM_ALPHA) > HARM_RETRANSMITTED:
            found.append("retransmitted")
        return found

    def _judged(self) -> Verdict:
        if self.harms():
            return "harm"
        if (ends := self.interval()) is None:
            return "undecided"
        low, high = ends
        if low > 0:
            return "higher"
        if high < 0:
            return "lower"
        return "same" if low > -ASKED and high < ASKED else "undecided"


@dataclass(kw_only=True)
class Spread:
    """How much the log of goodput varies among the transfers of one controller, pooled."""

    _of: dict[str, sequence.Sequence] = field(default_factory=dict)

    def add(self, controller: str, log_goodput: float) -> None:
        """Take a transfer."""
        self._of.setdefault(controller, sequence.Sequence()).add(log_goodput)

    def deviation(self) -> float | None:
        """Give the standard deviation; None before each controller has `FIRST` transfers."""
        enough = [of for of in self._of.values() if of.count >= FIRST]
        if not enough or len(enough) < len(self._of):
            return None
        freedom = sum(of.count - 1 for of in enough)
        return math.sqrt(sum(of.deviation**2 * (of.count - 1) for of in enough) / freedom)


def transfers_needed(deviation: float, alpha: float = ALPHA) -> int:
    """Give how many transfers of each controller a difference of `ASKED` needs."""
    return sequence.needed(math.sqrt(2) * deviation, ASKED, alpha)
