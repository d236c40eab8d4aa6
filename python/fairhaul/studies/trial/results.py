"""The state of a trial: what each controller has done, and how it compares with the first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from fairhaul.studies.trial.judge import (
    ALPHA,
    LEAST_PAIRS,
    Comparison,
    Measured,
    Spread,
    measured,
    together,
    transfers_needed,
)

Design = Literal["transfer", "time"]
# A transfer that begins in a block may end in the next one.
OPEN_BLOCKS = 2


@dataclass(kw_only=True)
class Arm:
    """What the connections of a controller have done; transfers below the least size excluded."""

    transfers: int = 0
    connections: int = 0
    acked_bytes: int = 0
    sent: int = 0
    retransmitted: int = 0
    busy_s: float = 0.0
    receive_window_s: float = 0.0
    send_buffer_s: float = 0.0
    _logs: float = 0.0
    _rtts_ms: float = 0.0
    _with_rtt: int = 0

    def add(self, of: Measured, connections: Sequence[Mapping[str, Any]]) -> None:
        """Take a transfer with the connections that carried enough."""
        self.transfers += 1
        self.connections += len(connections)
        self._logs += of.log_goodput
        for flow in connections:
            self.acked_bytes += flow["acked_bytes"]
            self.sent += flow["sent"]
            self.retransmitted += flow["retransmitted"]
            self.busy_s += flow["busy_s"]
            self.receive_window_s += flow["receive_window_s"]
            self.send_buffer_s += flow["send_buffer_s"]
            if flow["rtt_ms"] is not None:
                self._rtts_ms += flow["rtt_ms"]
                self._with_rtt += 1

    def values(self) -> dict[str, Any]:
        """Give the object of JSON."""
        busy = self.busy_s or math.inf
        return {
            "transfers": self.transfers,
            "connections": self.connections,
            "acked_bytes": self.acked_bytes,
            "goodput_bps": math.exp(self._logs / self.transfers) if self.transfers else None,
            "retransmitted": self.retransmitted / self.sent if self.sent else None,
            "rtt_ms": self._rtts_ms / self._with_rtt if self._with_rtt else None,
            "limited_by_hosts": (self.receive_window_s + self.send_buffer_s) / busy,
        }


@dataclass(kw_only=True)
class State:
    """A trial so far: the controllers, and its design; `ended` says why it is over."""

    controllers: Sequence[str]
    design: Design
    least_bytes: int
    recorded_deviation: float | None = None
    ended: str = ""
    small: int = 0
    counts: Mapping[str, Any] = field(default_factory=dict)
    arms: list[Arm] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)
    _spread: Spread = field(default_factory=Spread)
    _needed: int | None = None
    _blocks: dict[int, tuple[int, list[Measured]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make the arms, and the comparisons, which share the probability of an error."""
        others = len(self.controllers) - 1
        self.arms = [Arm() for _ in self.controllers]
        self.comparisons = [Comparison(alpha=ALPHA / others) for _ in range(others)]
        if self.recorded_deviation is not None:
            self._needed = transfers_needed(self.recorded_deviation, ALPHA / others)

    def add(self, transfer: Mapping[str, Any]) -> None:
        """Take a transfer as `fairhaul-host` reports it."""
        of = measured(transfer["connections"], self.least_bytes)
        if of is None:
            self.small += 1
            return
        large = [one for one in transfer["connections"] if one["acked_bytes"] >= self.least_bytes]
        number = transfer["controller"]
        self.arms[number].add(of, large)
        if self.design == "transfer":
            self._judge(number, of)
            return
        block = transfer["block"]
        self._blocks.setdefault(block, (number, []))[1].append(of)
        for done in sorted(self._blocks):
            if done + OPEN_BLOCKS <= block:
                self._end_block(done)

    def close(self) -> None:
        """Judge the blocks of which transfers may be missing, at the end of the trial."""
        for block in sorted(self._blocks):
            self._end_block(block)

    @property
    def is_decided(self) -> bool:
        """Whether every comparison has a verdict, or one controller does harm."""
        verdicts = [of.verdict for of in self.comparisons]
        return "harm" in verdicts or "undecided" not in verdicts

    @property
    def needed(self) -> int | None:
        """How many units of each controller a difference of 5 % needs; None if not yet known."""
        deviation = self._spread.deviation()
        if self._needed is None and deviation is not None:
            self._needed = transfers_needed(deviation, self.comparisons[0].alpha)
        return self._needed

    def _end_block(self, block: int) -> None:
        number, parts = self._blocks.pop(block)
        self._judge(number, together(parts))

    def _judge(self, number: int, of: Measured) -> None:
        self._spread.add(self.controllers[number], of.log_goodput)
        for other, comparison in enumerate(self.comparisons, start=1):
            if number in (0, other):
                comparison.add(of, is_first=number == 0)

    def values(self) -> dict[str, Any]:
        """Give the object of JSON."""
        counts = self.counts
        opened = counts.get("opened", [0] * len(self.controllers))
        named = zip(self.controllers, opened, self.arms, strict=True)
        return {
            "design": self.design,
            "ended": self.ended,
            "needed": self.needed,
            "controllers": [
                {"name": name, "assigned": assigned, **arm.values()}
                for name, assigned, arm in named
            ],
            "comparisons": [
                _compared(name, self.controllers[0], of)
                for name, of in zip(self.controllers[1:], self.comparisons, strict=True)
            ],
            "not_counted": {
                "small": self.small,
                "open": counts.get("open", 0),
                "settling": counts.get("settling", 0),
                "not_assigned": counts.get("failed", 0) + counts.get("lost", 0),
            },
        }


def _compared(name: str, first: str, of: Comparison) -> dict[str, Any]:
    ends = of.interval()
    ratio = None
    if ends is not None:
        low, high = ends
        ratio = {"mean": math.exp(of.goodput.mean), "low": math.exp(low), "high": math.exp(high)}
    return {
        "controller": name,
        "with": first,
        "pairs": of.pairs,
        "least_pairs": LEAST_PAIRS,
        "goodput_ratio": ratio,
        "retransmitted_difference": of.retransmitted.mean if of.pairs else None,
        "verdict": of.verdict,
        "harms": of.harms() if of.verdict == "harm" else [],
    }
