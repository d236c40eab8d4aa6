"""What a packet capture shows of a connection: columns of what was sent and acknowledged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from fairhaul import _core

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Column = NDArray[np.float64]
    Mask = NDArray[np.bool_]
    Index = NDArray[np.intp]

Side = Literal["sender", "receiver", "between", "unknown"]

# What became of a transmission, as the reader numbers it (crates/capture/src/rows.rs).
LOST, MISSING, UNCAPTURED = 2, 4, 5

# A frame of Ethernet with its check sequence has this many bytes more than the data of a packet
# of TCP over IPv4 with time stamps: 14 + 20 + 32 + 4.
HEADERS = 70
# What most packets carry where nothing else is known.
USUAL_MSS = 1448


@dataclass(frozen=True, kw_only=True)
class Sent:
    """The transmissions of a connection in the order of time, one array each.

    `time_s` and `acked_s` are in seconds since the first packet of the capture, `acked_s` is NaN
    where nothing was acknowledged. `offset` numbers the bytes; `payload` is in bytes, `wire` in
    bytes of frames of Ethernet with their check sequences, `packets` a number. `lost` says whether
    the network lost it, `again` whether its data had been sent before.
    """

    time_s: Column
    acked_s: Column
    offset: Column
    payload: Column
    wire: Column
    packets: Column
    lost: Mask
    again: Mask
    rtt_s: Column

    def __len__(self) -> int:
        return len(self.time_s)

    def part(self, chosen: Mask | Index | slice) -> Sent:
        """Give some of the transmissions."""
        return Sent(**{name: getattr(self, name)[chosen] for name in self.__dataclass_fields__})


@dataclass(frozen=True, kw_only=True)
class Acknowledged:
    """The acknowledgements of a connection in the order of time, one array each.

    `offset` is the first byte that is not acknowledged, `window` the window of the header in bytes
    before its scale, `ahead` how many bytes the sender had sent beyond `offset`, and `flight` how
    many bytes were outstanding afterwards.
    """

    time_s: Column
    offset: Column
    window: Column
    ahead: Column
    flight: Column

    def __len__(self) -> int:
        return len(self.time_s)

    def part(self, chosen: Mask) -> Acknowledged:
        """Give some of the acknowledgements."""
        names = self.__dataclass_fields__
        return Acknowledged(**{name: getattr(self, name)[chosen] for name in names})


@dataclass(frozen=True, kw_only=True)
class Trace:
    """A connection of a capture, from the end that sent more data to the other one.

    `rtt_s` is the smallest round-trip time in seconds, None if the capture does not show it.
    `scale` is the shift of the receiver's window; without the handshake it is the least one with
    which what was sent fits. `shows_again`: it shows what is retransmitted. Ports are 0 in a
    log, and windows infinite.
    """

    sender: str
    receiver: str
    ports: tuple[int, int]
    first_s: float
    last_s: float
    side: Side
    rtt_s: float | None
    mss: int
    scale: int
    has_start: bool
    has_sack: bool | None
    marks: tuple[int, int, bool]
    uncaptured: float
    sent: Sent
    acknowledged: Acknowledged
    shows_again: bool = True

    @property
    def data_bytes(self) -> float:
        """How many bytes of data were sent, each counted once, in bytes."""
        return float(self.sent.payload[~self.sent.again].sum())


@dataclass(frozen=True, kw_only=True)
class Capture:
    """The connections of a capture that carry data, largest first, and what was not used of it."""

    traces: Sequence[Trace]
    packets: int
    others: int
    notes: Sequence[str]


def read_capture(path: Path) -> Capture:
    """Read a packet capture.

    Raises:
        ScenarioError: the file cannot be read, or is no capture.
    """
    read = _core.read_capture(path)
    traces = [_trace(of) for of in read.connections if of.payload[0] > 0]
    traces.sort(key=lambda of: -of.data_bytes)
    return Capture(
        traces=traces, packets=read.packets, others=read.others, notes=list(_notes(read))
    )


def _notes(read: _core.Capture) -> Sequence[str]:
    notes = []
    if read.ending != "whole":
        how = "within a packet" if read.ending == "cut" else "at bytes that are not a packet"
        notes.append(f"The file ends {how}; what is before it was used.")
    if read.timeless:
        notes.append(f"{read.timeless} packets have no time and were not used.")
    if read.beyond:
        notes.append(f"{read.beyond} packets of later connections were not used.")
    if read.steps:
        notes.append(f"The clock of the capture went back {read.steps} times.")
    if read.gap_s:
        notes.append(
            f"The capture is large: what follows within {1000 * read.gap_s:g} ms is one row."
        )
    return notes


def _trace(of: _core.CapturedConnection) -> Trace:
    (sender, here), (receiver, far) = of.ends
    side: Side = of.side  # type: ignore[assignment]
    fate = _column(of.sent("fate"))
    columns = {
        name: _column(of.sent(name))
        for name in ("time_s", "acked_s", "offset", "payload", "wire", "packets")
    }
    again = _column(of.sent("again")) > 0
    lost = fate == LOST
    if side == "receiver":
        # What was missing and came later had been lost before the place of the capture.
        lost = fate == MISSING
    uncaptured = float(columns["payload"][fate == UNCAPTURED].sum())
    if side != "receiver":
        uncaptured += float(columns["payload"][fate == MISSING].sum())
    seen = (fate != UNCAPTURED) & ((fate != MISSING) | lost)
    times, took = map(_column, of.echoes())
    if side == "receiver":
        rtts = _echoed(columns["time_s"], times, took)
    else:
        rtts = samples(columns["time_s"], columns["acked_s"], lost | again)
    sent = Sent(**columns, lost=lost, again=again, rtt_s=rtts).part(seen)
    acks = {
        name: _column(of.acknowledged(name))
        for name in ("time_s", "offset", "window", "ahead", "flight")
    }
    return Trace(
        sender=sender,
        receiver=receiver,
        ports=(here, far),
        first_s=of.first_s,
        last_s=of.last_s,
        side=side,
        rtt_s=_round_trip(side, of.halves_s),
        mss=of.mss or usual_mss(sent),
        scale=of.least_scale if of.window_scale is None else of.window_scale,
        has_start=of.mss is not None,
        has_sack=of.sack,
        marks=of.marks,
        uncaptured=uncaptured,
        sent=sent,
        acknowledged=Acknowledged(**acks),
    )


def _column(values: bytes) -> Column:
    return np.frombuffer(values, dtype=np.float64)


def samples(times: Column, acked: Column, repeated: Mask) -> Column:
    """Give the round-trip time of the last transmission that each acknowledgement covers.

    Those before it waited for the acknowledgement, and data that was sent twice is ambiguous.
    """
    last = np.ones(len(times), bool)
    last[:-1] = acked[:-1] != acked[1:]
    return np.where(last & ~repeated, acked - times, np.nan)


def _echoed(times: Column, echoed: Column, took: Column) -> Column:
    """Give the round-trip time of each transmission that echoes a time stamp of the receiver."""
    rtts = np.full(len(times), np.nan)
    if len(echoed):
        at = np.minimum(np.searchsorted(echoed, times), len(echoed) - 1)
        rtts = np.where(echoed[at] == times, took[at], np.nan)
    return rtts


def _round_trip(side: Side, halves: Sequence[float | None]) -> float | None:
    """Give the round-trip time of both halves of the path, as far as they are known."""
    far, near = halves
    if side == "receiver":
        return near
    if side == "between" and near is not None and far is not None:
        return near + far
    return far if far is not None and far > 0 else None


def usual_mss(sent: Sent) -> int:
    """Give the data of a full packet, bytes, by the sizes of the packets that were sent."""
    sizes = sent.payload / np.maximum(sent.packets, 1)
    return round(float(np.quantile(sizes, 0.9))) if len(sizes) else USUAL_MSS
