"""What connections have shown of their path, as `ss -ti` prints it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from fairhaul.scenario.read import ScenarioError
from fairhaul.studies.explanation.results import LEAST_PART
from fairhaul.text.phrases import listed, quantity

Limit = Literal["receive window", "send buffer", "application"]

# The words of `ss -ti`, and the number behind each; `looks` reads those without an underscore, too.
_RTT = re.compile(r"\brtt:([0-9.]+)/")
_LEAST_RTT = re.compile(r"\bminrtt:([0-9.]+)")
_RATE = re.compile(r"\bdelivery_rate ([0-9.]+)([KMG]?)bps")
_SEGMENTS = re.compile(r"\bdata_segs_out:([0-9]+)")
_AGAIN = re.compile(r"\bretrans:[0-9]+/([0-9]+)")
ACKED = re.compile(r"\bbytes_acked:([0-9]+)")
BUSY = re.compile(r"\bbusy:([0-9]+)ms")
_SENT = re.compile(r"\bbytes_sent:([0-9]+)")
_DELIVERED = re.compile(r"\bdelivered:([0-9]+)")
MSS = re.compile(r"\bmss:([0-9]+)")
_BBR = re.compile(r"\bbbr:\(bw:([0-9.]+)([KMG]?)bps")
CONTROLLER = re.compile(r"\b([a-z][a-z0-9_]+) wscale:")
CLOCKS: dict[Limit, re.Pattern[str]] = {
    "receive window": re.compile(r"\brwnd_limited:([0-9]+)ms"),
    "send buffer": re.compile(r"\bsndbuf_limited:([0-9]+)ms"),
}
APPLICATION = re.compile(r"\bapp_limited\b")
_ADDRESS = re.compile(r"(\S+):(?:[0-9]+|\*|[a-z][a-z0-9-]*)(?=\s|$)")
PREFIXES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9}

_LIMITED: dict[Limit, re.Pattern[str]] = {
    "receive window": re.compile(r"\brwnd_limited:[0-9]+ms\(([0-9.]+)%\)"),
    "send buffer": re.compile(r"\bsndbuf_limited:[0-9]+ms\(([0-9.]+)%\)"),
}
# From this part of its busy time on, a connection is taken to be limited by a window or a buffer.
LIMITED_FROM = 0.1
REMEDIES: dict[Limit, str] = {
    "receive window": "raise net.ipv4.tcp_rmem on the receiver, or the buffer that it asks for",
    "send buffer": "raise net.ipv4.tcp_wmem on the sender, or the buffer that it asks for",
    "application": "the sending program does not write fast enough",
}


@dataclass(frozen=True, kw_only=True)
class Connection:
    """What a connection has shown; `limit` is what has limited it, for the part `limited`.

    `rate_bps` is its last delivery rate, and `mean_bps` its mean while it had data to send.
    `local` and `remote` are addresses with ports, `model_bps` the rate that BBR believes in,
    `busy_s` the time in which data was outstanding, `shares` which part of it each limit of the
    hosts took, and `delivered_bytes` what arrived in that time.
    """

    peer: str
    rtt_ms: float
    rate_bps: float | None
    mean_bps: float | None
    segments: int
    again: int
    limit: Limit | None = None
    limited: float = 0.0
    local: str = ""
    remote: str = ""
    controller: str | None = None
    mss: int | None = None
    sent_bytes: int = 0
    delivered_bytes: int = 0
    model_bps: float | None = None
    busy_s: float = 0.0
    shares: Mapping[Limit, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Observed:
    """The connections to one peer, and the peers whose connections are not counted."""

    connections: Sequence[Connection]
    others: Sequence[str]

    @property
    def rtt_ms(self) -> float:
        """The smallest round-trip time."""
        return min(of.rtt_ms for of in self.connections)

    @property
    def together_bps(self) -> float | None:
        """The sum of the delivery rates."""
        return _sum(of.rate_bps for of in self.connections)

    @property
    def mean_bps(self) -> float | None:
        """The sum of the means, where it is above that of the delivery rates of this moment."""
        mean = _sum(of.mean_bps for of in self.connections)
        return mean if mean is not None and mean > (self.together_bps or 0) else None

    @property
    def limit(self) -> Limit | None:
        """What limits the connection that sent most, if it is not the path."""
        return max(self.connections, key=lambda of: of.segments).limit

    @property
    def rate_bps(self) -> float | None:
        """The rate of the path, as far as they show it: at least that of all connections together.

        None if they are limited by something else.
        """
        return None if self.limit else self.mean_bps or self.together_bps

    @property
    def now_bps(self) -> float | None:
        """What the connections have now, where the path limits them."""
        return self.rate_bps

    @property
    def window_bytes(self) -> float | None:
        """The receiver's window, which few versions of `ss` print."""
        return None

    def first(self) -> str:
        """Say what limits the connections instead of the path, if anything does."""
        return self.limited_text() if self.limit else ""

    def rates_text(self) -> str:
        """Say how much all connections have together; empty if they do not show it."""
        together, mean = self.together_bps, self.mean_bps
        now = f"{quantity(together, 'bit/s')} together" if together else ""
        if mean is None:
            return now
        usual = f"{quantity(mean, 'bit/s')} on average while they had data to send"
        return f"{now} now, {usual}" if now else usual

    def text(self) -> str:
        """Say what was read, and how it is used."""
        count, peer, rates = len(self.connections), self.connections[0].peer, self.rates_text()
        whom = f"{_named(count)} to {peer}" if peer else _named(count)
        rate = f"{rates}, " if rates else ""
        parts = [f"Read from {whom}: {rate}a round-trip time of {self.rtt_ms:g} ms."]
        if self.others:
            parts.append(f"Not counted: connections to {listed(self.others)}.")
        segments = sum(of.segments for of in self.connections)
        again = sum(of.again for of in self.connections)
        if again and segments:
            parts.append(
                f"{100 * again / segments:.2g} % of the segments were retransmitted; that is not "
                "used as random loss, because the connections may have filled the buffer."
            )
        return " ".join(parts)

    def limited_text(self) -> str:
        """Say what limits the connections instead of the path, and what helps."""
        assert self.limit is not None
        parts = [of.limited for of in self.connections if of.limit == self.limit]
        least, most = (f"{100 * part:.3g}" for part in (min(parts), max(parts)))
        time = f" for {most if least == most else f'{least} to {most}'} % of the time"
        time = time if max(parts) else ""
        of_all = "" if len(parts) == len(self.connections) else f"{len(parts)} of "
        return (
            f"Not the controller: the {self.limit} limits {of_all}{_named(len(self.connections))}"
            f"{time}; "
            f"{REMEDIES[self.limit]}."
        )


def observed(text: str) -> Observed:
    """Read what `ss -ti` printed of connections; those to the peer that got most are counted.

    Raises:
        ScenarioError: no connection has a round-trip time.
    """
    found = list(_connections(text))
    if not found:
        raise ScenarioError(
            "--from: no round-trip time; wanted the output of `ss -ti dst ADDRESS` while a "
            "transfer runs"
        )
    sent = {of.peer: 0 for of in found}
    for of in found:
        sent[of.peer] += of.segments
    peer = max(sent, key=lambda name: sent[name])
    # A connection that sends next to nothing beside another one controls it.
    least = max(of.segments for of in found if of.peer == peer) * LEAST_PART
    return Observed(
        connections=[of for of in found if of.peer == peer and of.segments >= least],
        others=[name for name in sent if name != peer],
    )


def _named(count: int) -> str:
    return "one connection" if count == 1 else f"{count} connections"


def _sum(rates: Iterable[float | None]) -> float | None:
    known = [rate for rate in rates if rate is not None]
    return sum(known) if known else None


def sockets(text: str) -> Iterator[tuple[tuple[str, str], str]]:
    """Give the ends of each socket that `ss -ti` printed, and what it said of it.

    The first line of a socket has its ends, and the lines behind it are indented.
    """
    ends, words = ("", ""), ""
    for line in [*text.splitlines(), "end"]:
        if not line[:1].isspace():
            yield ends, words
            found = [match[0] for match in _ADDRESS.finditer(line)]
            ends, words = (found[0], found[1]) if len(found) > 1 else ("", ""), ""
        elif _RTT.search(line) and _RTT.search(words):
            yield ends, words
            words = ""
        words += f" {line}"


def _connections(text: str) -> Iterator[Connection]:
    """Give each connection with a round-trip time."""
    for ends, words in sockets(text):
        if of := _connection(ends, words):
            yield of


def connections(text: str) -> list[Connection]:
    """Read all connections that `ss -ti` printed; of a series the last look at each.

    Raises:
        ScenarioError: no connection has a round-trip time.
    """
    found = {of.local + of.remote or str(at): of for at, of in enumerate(_connections(text))}
    if not found:
        raise ScenarioError("no round-trip time; wanted the output of `ss -tin dst ADDRESS`")
    return list(found.values())


def _connection(ends: tuple[str, str], words: str) -> Connection | None:
    peer = ends[1].rpartition(":")[0].strip("[]")
    if (rtt := _LEAST_RTT.search(words) or _RTT.search(words)) is None:
        return None
    rate, segments, again = (of.search(words) for of in (_RATE, _SEGMENTS, _AGAIN))
    acked, busy = (of.search(words) for of in (ACKED, BUSY))
    found = {limit: pattern.search(words) for limit, pattern in _LIMITED.items()}
    parts = {limit: float(match[1]) / 100 for limit, match in found.items() if match is not None}
    limit: Limit | None = "application" if APPLICATION.search(words) else None
    if max(parts.values(), default=0.0) >= LIMITED_FROM:
        limit, _ = max(parts.items(), key=lambda pair: pair[1])
    sent, delivered, mss, model = (of.search(words) for of in (_SENT, _DELIVERED, MSS, _BBR))
    controller = CONTROLLER.search(words)
    busy_s = int(busy[1]) / 1000 if busy else 0.0
    clocks = {limit: of.search(words) for limit, of in CLOCKS.items()}
    return Connection(
        local=ends[0],
        remote=ends[1],
        controller=controller[1] if controller else None,
        mss=int(mss[1]) if mss else None,
        sent_bytes=int(sent[1]) if sent else 0,
        delivered_bytes=int(delivered[1]) * int(mss[1]) if delivered and mss else 0,
        model_bps=float(model[1]) * PREFIXES[model[2]] if model else None,
        busy_s=busy_s,
        shares={
            limit: min(1.0, int(clock[1]) / 1000 / busy_s)
            for limit, clock in clocks.items()
            if clock is not None and busy_s > 0
        },
        peer=peer,
        rtt_ms=float(rtt[1]),
        rate_bps=float(rate[1]) * PREFIXES[rate[2]] if rate else None,
        mean_bps=8000 * int(acked[1]) / int(busy[1]) if acked and busy and int(busy[1]) else None,
        segments=int(segments[1]) if segments else 0,
        again=int(again[1]) if again else 0,
        limit=limit,
        limited=parts.get(limit, 0.0) if limit else 0.0,
    )
