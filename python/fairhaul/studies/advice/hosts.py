"""How the hosts of a transfer are set, and what an operator can change about them.

A candidate is the hosts as they are with no change, one change, or several that touch different
settings. What is simulated and the commands that are printed are both taken from `Hosts`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fairhaul.host.buffers import DEFAULT_RECEIVE_BYTES, DEFAULT_SEND_BYTES
from fairhaul.host.deployable import Way, as_port, way_of
from fairhaul.scenario.transport import Controller, Transport
from fairhaul.studies.explanation.results import BELOW
from fairhaul.text.phrases import quantity

# The kernel's default, and what competing flows use unless something else is given.
USUAL = "cubic"
# The sizes of packets of Ethernet, without and with jumbo frames.
PACKET_BYTES, JUMBO_BYTES = 1500, 9000
STREAMS = (1, 2, 4, 8, 16)
# Parts of the path's rate to which pacing limits all streams together; behind a policer the first
# is what an explanation proposes.
CAPS, POLICED_CAPS = (0.9, 0.5), (BELOW, 0.5)
# The queue discipline with which a host paces.
PACING = "fq"
# The part of a receive buffer that holds payload of packets of 1500 B (docs/hosts.md).
PAYLOAD = 171 / 256
NOW = "no change"

# What `--only` accepts beside controllers, with the settings that it changes.
BUFFERS, PACED, CAPPED, STREAMED, PACKETS = KNOBS = (
    *("buffers", "fq", "maxrate", "streams", "packets"),
)


@dataclass(frozen=True, kw_only=True)
class Hosts:
    """How the hosts of a transfer are set.

    `send_buffer` and `receive_buffer` are written as in a scenario: `auto` has the limits that
    Linux has as it is installed. `pacing` is that of the sender's queue discipline, and `cap` the
    part of the path's rate to which it limits all streams together.
    """

    controller: Controller
    streams: int = 1
    send_buffer: str = "unlimited"
    receive_buffer: str = "unlimited"
    pacing: str | None = None
    cap: float | None = None
    packet_bytes: int = PACKET_BYTES

    def keys(self, rate_bps: float) -> dict[str, object]:
        """Give the keys of a flow with these hosts over a path of that rate."""
        transport = Transport(
            controller=self.controller, connections=self.streams, pacing=self.pacing
        )
        cap_bps = self.cap_bps(rate_bps)
        return {
            **transport.keys(),
            "send_buffer": self.send_buffer,
            "receive_buffer": self.receive_buffer,
            **({} if cap_bps is None else {"max_pacing_rate": f"{cap_bps} bit/s"}),
            "packet": f"{self.packet_bytes} B",
        }

    def cap_bps(self, rate_bps: float) -> int | None:
        """Give the rate to which each stream is limited, bit/s; None without a limit."""
        return None if self.cap is None else int(self.cap * rate_bps / self.streams)

    @property
    def window_bytes(self) -> float:
        """The largest window that the buffers allow, half of a send buffer being records."""
        send = {"auto": DEFAULT_SEND_BYTES / 2, "unlimited": math.inf}
        receive = {"auto": PAYLOAD * DEFAULT_RECEIVE_BYTES, "unlimited": math.inf}
        return min(
            fixed_bytes(self.send_buffer) or send[self.send_buffer],
            fixed_bytes(self.receive_buffer) or receive[self.receive_buffer],
        )

    def text(self) -> str:
        """Describe them: `cubic over 4 connections, Linux's default buffers`."""
        over = "one connection" if self.streams == 1 else f"{self.streams} connections"
        parts = [f"{kind_text(self.controller)} over {over}", self._buffers_text()]
        parts += [self.pacing] if self.pacing else []
        parts += [f"packets of {self.packet_bytes} B"] if self.packet_bytes != PACKET_BYTES else []
        return ", ".join(parts)

    def _buffers_text(self) -> str:
        if self.send_buffer == self.receive_buffer and self.send_buffer in NAMED_BUFFERS:
            return NAMED_BUFFERS[self.send_buffer]
        return (
            f"{_size(self.send_buffer, GRANTED)} of send buffer and "
            f"{_size(self.receive_buffer)} of receive window"
        )


# Buffers of both hosts that are alike.
NAMED_BUFFERS = {"auto": "Linux's default buffers", "unlimited": "large enough buffers"}
# The kernel grants so many times what a program asks for, for its own records (docs/profile.md).
GRANTED = 2


def fixed_bytes(buffer: str) -> float | None:
    """Give the size of a buffer as a scenario has it; None for one without a fixed size."""
    return float(buffer.removesuffix(" B")) if buffer.endswith(" B") else None


def _size(buffer: str, times: int = 1) -> str:
    size = fixed_bytes(buffer)
    if size is None:
        return {"auto": "Linux's default", "unlimited": "enough"}[buffer]
    return quantity(times * size, "B")


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change of the hosts: the settings that it touches, and their new values."""

    name: str
    to: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """The hosts as they are, with changes."""

    hosts: Hosts
    changes: tuple[Change, ...] = ()

    @property
    def name(self) -> str:
        """The names of its changes."""
        return " + ".join(change.name for change in self.changes) or NOW

    def touches(self, change: Change) -> bool:
        """Whether a change would undo one of these, or is one of them."""
        return any(change.to.keys() & own.to.keys() for own in self.changes)

    def changed(self, *changes: Change) -> Candidate:
        """Add changes."""
        hosts = self.hosts
        for change in changes:
            hosts = replace(hosts, **change.to)
        return Candidate(hosts=hosts, changes=(*self.changes, *changes))


@dataclass(frozen=True, kw_only=True)
class Choices:
    """The hosts as they are set now, and the changes that are tried.

    `stock` are changes that need nothing but Linux, and `ports` are controllers that would have to
    be installed.
    """

    now: Hosts
    stock: Sequence[Change] = ()
    ports: Sequence[Change] = ()


def choices_of(
    now: Hosts,
    controllers: Mapping[str, Transport],
    ways: Mapping[str, Way],
    only: Collection[str] = (),
    caps: Sequence[float] = CAPS,
) -> Choices:
    """Give the changes to try.

    Args:
        now: how the hosts are set.
        controllers: the controllers to try, by their names, with their numbers of connections.
        ways: how this host has each controller. One that it would get as an eBPF port has the rule
            of the port.
        only: what is tried: of `KNOBS`, the names in it are turned.
        caps: the parts of the path's rate for the knob `maxrate`.
    """
    stock: list[Change] = []
    ports: list[Change] = []
    for name, transport in controllers.items():
        way = way_of(transport.controller, ways)
        controller = transport.controller
        if way is Way.PORT:
            controller = as_port(controller)
        to: dict[str, Any] = {"controller": controller}
        if transport.connections > 1:
            to["streams"] = transport.connections
        change = Change(name=name, to=to)
        is_stock = way is Way.KERNEL or (way is Way.NONE and name_of(controller) in ALWAYS)
        (stock if is_stock else ports).append(change)
    knobs = [change for knob in KNOBS if knob in only for change in _turned(knob, caps)]
    return Choices(
        now=now,
        stock=[change for change in (*knobs, *stock) if _changes(change, now)],
        ports=[change for change in ports if _changes(change, now)],
    )


# Linux has these always.
ALWAYS = (USUAL, "reno")


def _changes(change: Change, now: Hosts) -> bool:
    return replace(now, **change.to) != now


def _turned(knob: str, caps: Sequence[float]) -> list[Change]:
    """Give the changes that turn one of `KNOBS`."""
    if knob == BUFFERS:
        unlimited = {"send_buffer": "unlimited", "receive_buffer": "unlimited"}
        return [Change(name="larger buffers", to=unlimited)]
    if knob == PACED:
        return [Change(name="fq", to={"pacing": PACING, "cap": None})]
    if knob == CAPPED:
        return [
            Change(name=f"fq maxrate {part:.0%}", to={"pacing": PACING, "cap": part})
            for part in caps
        ]
    if knob == STREAMED:
        return [
            Change(name="one stream" if count == 1 else f"{count} streams", to={"streams": count})
            for count in STREAMS
        ]
    return [Change(name=f"packets of {JUMBO_BYTES} B", to={"packet_bytes": JUMBO_BYTES})]


def hosts_now(
    transport: Transport,
    *,
    send_bytes: int | None,
    receive_window_bytes: float | None,
    buffers_bytes: int | None = None,
    packet_bytes: int = PACKET_BYTES,
) -> Hosts:
    """Give the hosts as they are set now.

    Args:
        transport: the controller in use, and the number of connections.
        send_bytes: how large a send buffer may become, `net.ipv4.tcp_wmem`; None if unknown.
        receive_window_bytes: the receiver's window; None if unknown.
        buffers_bytes: the largest buffers of both hosts, if they are given.
        packet_bytes: the size of packets.
    """
    if buffers_bytes is not None:
        send_bytes, receive_window_bytes = buffers_bytes, PAYLOAD * buffers_bytes
    has_default = send_bytes is None or send_bytes == DEFAULT_SEND_BYTES
    send = "auto" if has_default or send_bytes is None else f"{send_bytes // GRANTED} B"
    return Hosts(
        controller=transport.controller,
        streams=transport.connections,
        send_buffer=send,
        receive_buffer="auto" if receive_window_bytes is None else f"{receive_window_bytes:.0f} B",
        packet_bytes=packet_bytes,
    )


def name_of(controller: Controller) -> str:
    """Give the name of a controller."""
    return str(controller["kind"])


def kind_text(controller: Controller) -> str:
    """Write a controller with its parameters: `fhstcp:c=20`."""
    rest = ",".join(f"{key}={_word(of)}" for key, of in controller.items() if key != "kind")
    return f"{name_of(controller)}:{rest}" if rest else name_of(controller)


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
