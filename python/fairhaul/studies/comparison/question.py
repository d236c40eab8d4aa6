"""The question of a comparison, read from the words that a person types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from fairhaul.scenario.profiles import TUNED
from fairhaul.scenario.read import ScenarioError
from fairhaul.scenario.transport import STANDARD, Others, Reading, Transport

# Of processor time, in which a machine with two cores needs a minute at most.
BUDGET = "2 min"

PACKET_BYTES = 1000


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question that was read: `rate` and `buffer` are written as in a scenario.

    `pacing` is that of the hosts of all controllers, and not of the competing flows.
    """

    controllers: dict[str, Transport]
    rate: str
    rate_bps: int
    rtts_s: tuple[float, ...]
    buffer: str
    size_bytes: int
    others: Others | None
    profile: str
    pacing: str | None
    packet_bytes: int
    budget_s: float
    duration_s: float | None

    def to_dict(self) -> dict[str, Any]:
        """Give the question as it is printed in JSON."""
        others = self.others
        return {
            "controllers": list(self.controllers),
            "rate_bps": self.rate_bps,
            "rtts_s": list(self.rtts_s),
            "buffer": self.buffer,
            "size_bytes": self.size_bytes,
            "against": others and {"controller": others.name, "count": others.count},
            "standard": STANDARD,
            "profile": self.profile,
            "pacing": self.pacing,
            "packet_bytes": self.packet_bytes,
            "budget_s": self.budget_s,
            "duration_s": self.duration_s,
        }


def read_question(  # noqa: PLR0913 - one argument for each word of the question
    controllers: Sequence[str],
    *,
    rate: str,
    rtt: str | Sequence[str],
    buffer: str,
    size: str,
    against: str | None,
    profile: str = TUNED,
    pacing: str | None = None,
    mtu: int = PACKET_BYTES,
    budget: str = BUDGET,
    duration: str | None = None,
) -> Question:
    """Read a question; report all mistakes at once, each with its option."""
    reading = Reading(profile)
    paced = None if pacing is None else reading.pacing(pacing)
    kinds = {
        name: replace(transport, pacing=paced)
        for name, transport in reading.controllers(controllers).items()
    }
    rate_bps = reading.rate(rate)
    rtts = reading.rtts(rtt.split(",") if isinstance(rtt, str) else rtt)
    reading.buffer(buffer, rate if rate_bps else None)
    size_bytes = reading.size("--size", size)
    others = None if against is None else reading.others(against)
    budget_s = reading.time("--budget", budget)
    duration_s = None if duration is None else reading.time("--duration", duration)
    if reading.mistakes:
        raise ScenarioError(*reading.mistakes)
    assert rate_bps is not None
    return Question(
        controllers=kinds,
        rate=rate,
        rate_bps=rate_bps,
        rtts_s=tuple(rtts),
        buffer=buffer,
        size_bytes=size_bytes,
        others=others,
        profile=profile,
        pacing=paced,
        packet_bytes=mtu,
        budget_s=budget_s,
        duration_s=duration_s,
    )
