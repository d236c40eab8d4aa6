"""The question of a comparison, read from the words that a person types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fairhaul.scenario.packets import PACKET_BYTES as ETHERNET_BYTES
from fairhaul.scenario.profiles import TUNED
from fairhaul.scenario.read import ScenarioError
from fairhaul.scenario.transport import (
    MOST_CONTROLLERS,
    STANDARD,
    Others,
    Reading,
    Stack,
    Transport,
)

# Of processor time, in which a machine with two cores needs a minute at most.
BUDGET = "2 min"

PACKET_BYTES = 1000


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question that was read: `rate` and `buffer` are written as in a scenario.

    `pacing` is that of the hosts of all controllers, and not of the competing flows or of `stacks`.
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
    stacks: dict[str, Stack] = field(default_factory=dict)

    @property
    def compared(self) -> dict[str, Transport | Stack]:
        """The controllers, and then the transport stacks."""
        return {**self.controllers, **self.stacks}

    def to_dict(self) -> dict[str, Any]:
        """Give the question as it is printed in JSON."""
        others = self.others
        return {
            "controllers": list(self.compared),
            "stacks": list(self.stacks),
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
    mtu: int | None = None,
    budget: str = BUDGET,
    duration: str | None = None,
    stacks: Sequence[str] = (),
) -> Question:
    """Read a question; report all mistakes at once, each with its option.

    Without `mtu` packets have 1000 bytes, or with stacks 1500, because those of QUIC are larger.
    """
    reading = Reading(profile)
    paced = None if pacing is None else reading.pacing(pacing)
    kinds = {
        name: replace(transport, pacing=paced)
        for name, transport in _controllers(reading, controllers, stacks).items()
    }
    carried = reading.stacks(stacks)
    reading.mistakes += _without_effect(kinds, carried, profile, paced, against)
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
        packet_bytes=mtu or (ETHERNET_BYTES if carried else PACKET_BYTES),
        budget_s=budget_s,
        duration_s=duration_s,
        stacks=carried,
    )


def _controllers(
    reading: Reading, controllers: Sequence[str], stacks: Sequence[str]
) -> dict[str, Transport]:
    """Read the controllers; there need not be any beside stacks."""
    return reading.controllers(controllers) if controllers or not stacks else {}


def _without_effect(
    controllers: Mapping[str, Transport],
    stacks: Mapping[str, Stack],
    profile: str,
    pacing: str | None,
    against: str | None,
) -> list[str]:
    """Give the mistakes of the stacks beside the rest of a question."""
    mistakes = [
        f"--stack {name}: a controller has this name, too" for name in stacks if name in controllers
    ]
    if stacks and len(controllers) + len(stacks) > MOST_CONTROLLERS:
        mistakes.append(f"CC: give up to {MOST_CONTROLLERS} controllers and stacks together")
    if not stacks or controllers:
        return mistakes
    if pacing is not None:
        mistakes.append(
            f"--pacing {pacing}: it is of the hosts of controllers, and only transport stacks are "
            "compared, which pace by themselves: omit --pacing, or give a controller as well"
        )
    if profile != TUNED and against is None:
        mistakes.append(
            f"--profile {profile}: it is of the hosts of controllers, and only transport stacks "
            "run, which have senders and receivers of their own: omit --profile, or give a "
            "controller as well"
        )
    return mistakes
