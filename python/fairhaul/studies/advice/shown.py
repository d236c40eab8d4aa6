"""What an explanation shows of the path of a transfer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairhaul.scenario.read import ScenarioError
from fairhaul.studies.explanation import Explained
from fairhaul.studies.explanation.results import USUAL_BURST, size_text, with_largest
from fairhaul.studies.explanation.words import answer
from fairhaul.text.phrases import count_of, listed, quantity

# What limits a connection so that it does not show the rate of the path.
HIDING = ("application", "receive_window", "send_buffer", "pacing", "unknown")


@dataclass(frozen=True, kw_only=True)
class Shown:
    """The connections between two hosts, the largest first, and the peers of others."""

    connections: Sequence[Explained]
    others: Sequence[str]

    @property
    def _largest(self) -> Explained:
        return self.connections[0]

    @property
    def rtt_ms(self) -> float:
        """The smallest round-trip time."""
        known = [of.path.rtt_s.value for of in self.connections if of.path.rtt_s is not None]
        if not known:
            raise ScenarioError("--from: no round-trip time is shown: give --rtt")
        return 1000 * min(known)

    @property
    def limit(self) -> bool:
        """Whether something else than the path limits, so that its rate is not shown."""
        rate = self._largest.path.rate_bps
        is_shown = self._largest.path.policer is not None or (rate is not None and rate.high)
        return not is_shown and (rate is None or self._largest.main in HIDING)

    @property
    def rate_bps(self) -> float | None:
        """The rate of the path in bits of frames, or the least that it can be."""
        path = self._largest.path
        if path.policer is not None:
            return path.policer.rate_bps.value
        return None if self.limit or path.rate_bps is None else path.rate_bps.value

    @property
    def buffer(self) -> str | None:
        """The buffer of the path as a scenario has it; None if it is not known."""
        found = self._largest.path.buffer_bytes
        return None if found is None or found.high is None else size_text(found.value)

    @property
    def policer(self) -> str | None:
        """The burst of a policer as a scenario has it; None without a policer."""
        policer = self._largest.path.policer
        if policer is None:
            return None
        return size_text(USUAL_BURST if policer.burst_bytes is None else policer.burst_bytes.value)

    @property
    def has_all(self) -> bool:
        """Whether these connections are all that a policer lets pass: its bucket fits exactly."""
        policer = self._largest.path.policer
        return policer is not None and policer.burst_bytes is not None

    @property
    def loss(self) -> float | None:
        """The probability of random loss; None if none is known to be there."""
        found = self._largest.path.loss
        return None if found is None or found.low <= 0 else found.value

    @property
    def window_bytes(self) -> float | None:
        """The largest window of the receiver."""
        return self._largest.window_bytes

    @property
    def together_bps(self) -> float:
        """What the connections carried together; 0 if they do not show it."""
        return sum(of.goodput_bps or 0.0 for of in self.connections)

    @property
    def now_bps(self) -> float | None:
        """The same where the path limited them."""
        return None if self.limit else self.together_bps or None

    def rates_text(self) -> str:
        """Say how much all connections have together; empty if they do not show it."""
        total = self.together_bps
        return f"{quantity(total, 'bit/s')} together" if total else ""

    def first(self) -> str:
        """Say what limits the connections now."""
        return answer(self.connections)

    def text(self) -> str:
        """Say what was read, and how it is used."""
        count = count_of(len(self.connections), "connection")
        path = [f"a round-trip time of {self.rtt_ms:.4g} ms"]
        if self.rate_bps is not None:
            kind = "a policer" if self.policer else "a rate"
            path.insert(0, f"{kind} of {quantity(self.rate_bps, 'bit/s')} (Ethernet frames)")
        path += [f"a burst of {self.policer}"] if self.policer else []
        path += [f"a buffer of {self.buffer}"] if self.buffer else []
        path += ["no other flows behind it"] if self.has_all else []
        path += [f"random loss of {100 * self.loss:.2g} %"] if self.loss is not None else []
        parts = [f"Read from {count} to {self._largest.receiver or 'a host'}: {listed(path)}."]
        if self.others:
            parts.append(f"Not counted: connections to {listed(self.others)}.")
        return " ".join(parts)


def shown(found: Sequence[Explained]) -> Shown:
    """Give the connections between the two hosts of the first one, which is the largest.

    Raises:
        ScenarioError: there is none.
    """
    if not found:
        raise ScenarioError("--from: no connection carries data")
    connections = with_largest(found)
    ends = (found[0].sender, found[0].receiver)
    others = dict.fromkeys(of.receiver for of in found if (of.sender, of.receiver) != ends)
    return Shown(connections=connections, others=list(others))
