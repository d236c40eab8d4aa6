"""What is explained of each connection, whatever file it was read from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairhaul.studies.explanation.estimate import Estimate
from fairhaul.studies.explanation.limits import LIMITS, Limit, Shares

if TYPE_CHECKING:
    from fairhaul.studies.explanation.causes import Cause
    from fairhaul.studies.explanation.measured import Measured
    from fairhaul.studies.explanation.moments import Moments

# A connection with less data than this part of the largest one controls a transfer.
LEAST_PART = 0.01
# A frame of a full packet: a buffer or a bucket has room for one at least.
FRAME_BYTES = 1514
# The limits over time are shown in this many periods.
PERIODS = 10
# The burst of a policer where it is not known, in bytes.
USUAL_BURST = 100_000
# A pacing cap that keeps a policer from dropping leaves this part of its rate.
BELOW = 0.95


@dataclass(frozen=True, kw_only=True)
class TokenBucket:
    """A policer or a shaper: its rate in bits of Ethernet frames per second, its burst in bytes."""

    rate_bps: Estimate
    burst_bytes: Estimate | None

    def values(self) -> dict[str, Any]:
        """Give the object of JSON."""
        burst = None if self.burst_bytes is None else self.burst_bytes.values()
        return {"rate_bps": self.rate_bps.values(), "burst_bytes": burst}


@dataclass(frozen=True, kw_only=True)
class Path:
    """The path of a connection; None is what is not known, with the reason in `unknown`.

    `rate_bps` is in bits of Ethernet frames with their check sequence per second, `rtt_s` the
    smallest round-trip time in seconds, `buffer_bytes` the size of the bottleneck's queue in bytes
    of frames, `loss` the probability that a packet is lost without a reason. `cross_bps` is what
    other traffic takes of the rate while a queue stands.
    """

    rate_bps: Estimate | None = None
    rtt_s: Estimate | None = None
    buffer_bytes: Estimate | None = None
    loss: Estimate | None = None
    policer: TokenBucket | None = None
    shaper: TokenBucket | None = None
    cross_bps: Estimate | None = None

    def values(self) -> dict[str, Any]:
        """Give the object of JSON."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {name: None if of is None else of.values() for name, of in fields.items()}


@dataclass(frozen=True, kw_only=True)
class Recognised:
    """A controller that a connection may have had, and the probability of it from 0 to 1."""

    controller: str
    confidence: float

    def values(self) -> dict[str, Any]:
        """Give the object of JSON."""
        return {"controller": self.controller, "confidence": self.confidence}


@dataclass(frozen=True, kw_only=True)
class Period:
    """A part of the time: when it began in seconds, how much of it was judged, and the limits."""

    start_s: float
    duration_s: float
    limits: Shares

    def values(self) -> dict[str, Any]:
        """Give the object of JSON."""
        limits = {limit: self.limits[limit] for limit in LIMITS}
        return {"start_s": self.start_s, "duration_s": self.duration_s, "limits": limits}


@dataclass(frozen=True, kw_only=True)
class Explained:
    """A connection: how much it carried, what limited it, and its path.

    `sender` and `receiver` are addresses, with ports if they are known. `data_bytes` counts each
    byte once, in `duration_s` seconds. `limits` are shares of time, and `carried` those of the data
    that was sent while each held. `causes` divide the share of the congestion window by what had
    made it small. `unknown` has a reason for each key that could not be estimated. `pauses` are
    times of the application without data: when each began, and how long it was, in seconds.
    `window_bytes` is the receiver's window, `controller` what the sender reported, and
    `retransmitted` the share of packets that were retransmissions. `recognised` are the controllers
    that a capture shows, the likeliest first, and `mss` is the data of a full packet in bytes.
    `not_separated` is the share of time in which headers do not say whether the application or the
    send buffer limits; None where that is known. `joint` is the number of connections that were
    fitted together. `periods` are the limits over time, of a capture or a recording. Of a capture
    alone, `measured` are the figures of all connections between the same hosts, and `moments` have
    more over time of the largest of these. What the file does not show is None.
    """

    sender: str
    receiver: str
    ports: tuple[int, int] | None
    data_bytes: int
    duration_s: float
    limits: Shares
    path: Path
    unknown: Mapping[str, str]
    pauses: Sequence[tuple[float, float]] = ()
    carried: Shares | None = None
    causes: Mapping[Cause, float] | None = None
    window_bytes: float | None = None
    controller: str | None = None
    recognised: Sequence[Recognised] = ()
    retransmitted: float | None = None
    not_separated: float | None = None
    mss: int | None = None
    joint: int = 1
    source: str = "capture"
    periods: Sequence[Period] = ()
    moments: Moments | None = None
    measured: Measured | None = None

    @property
    def goodput_bps(self) -> float | None:
        """Bits of data per second; None without a duration."""
        return 8 * self.data_bytes / self.duration_s if self.duration_s > 0 else None

    @property
    def main(self) -> Limit:
        """What limited it for most of the time."""
        return max(LIMITS, key=lambda limit: self.limits[limit])

    def values(self) -> dict[str, Any]:
        """Give the object of JSON."""
        here, far = (None, None) if self.ports is None else self.ports
        return {
            "sender": {"address": self.sender, "port": here},
            "receiver": {"address": self.receiver, "port": far},
            "source": self.source,
            "bytes": self.data_bytes,
            "duration_s": self.duration_s,
            "goodput_bps": self.goodput_bps,
            "limits": {limit: self.limits[limit] for limit in LIMITS},
            "not_separated": self.not_separated,
            "limits_by_data": self.carried,
            "congestion_window_after": self.causes,
            "path": self.path.values(),
            "unknown": [{"key": key, "reason": why} for key, why in self.unknown.items()],
            "pauses": [{"start_s": start, "duration_s": took} for start, took in self.pauses],
            "periods": [period.values() for period in self.periods],
            "retransmitted": self.retransmitted,
            "controller": self.controller,
            "recognised": [of.values() for of in self.recognised],
            "fitted_together": self.joint,
        }


def with_largest(connections: Sequence[Explained]) -> list[Explained]:
    """Give the first connection, which is the largest, and those between the same hosts.

    Connections that only control a transfer are excluded.
    """
    largest = connections[0]
    ends = (largest.sender, largest.receiver)
    return [
        of
        for of in connections
        if (of.sender, of.receiver) == ends and of.data_bytes >= LEAST_PART * largest.data_bytes
    ]


def size_text(size_bytes: float) -> str:
    """Write the size of a buffer or of a bucket as a scenario has it."""
    return f"{max(FRAME_BYTES, round(size_bytes))} B"


def recognised_text(of: Sequence[Recognised]) -> str:
    """Write the controllers that a connection may have had: "cubic, 0.93; or reno"."""
    first, *others = of
    # A probability of 1 is never known.
    confidence = f"{min(first.confidence, 0.99):.2f}"
    return "; or ".join([f"{first.controller}, {confidence}", *(one.controller for one in others)])
