"""What a qlog shows of the connection of its sender, as a capture would.

The log is a JSON text, or a sequence of JSON texts [RFC 7464]. Of the packets of a connection in
their 1-RTT space it has when each was sent and how long it was, which were lost, and which were
acknowledged: by ACK frames, or, where the log has no frames, by the bytes in flight, of which the
oldest are taken to be acknowledged first. A log that names no lost packets, such as that of quiche,
shows them by the packet threshold [RFC 9002, 6.1.1]. Round-trip times are those of packets: quinn
logs its own in seconds, where qlog has milliseconds. A receive window is not in it.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from fairhaul.scenario.read import ScenarioError
from fairhaul.studies.explanation.trace import Acknowledged, Sent, Trace, samples, usual_mss

if TYPE_CHECKING:
    from pathlib import Path

RECORD_SEPARATOR = "\x1e"
# Where the first bytes of a log have one of these, it is one.
KEYS = ('"qlog_version"', '"qlog_format"', '"file_schema"')
FIRST = 4096
# A smaller packet carries acknowledgements alone, where the log does not list its frames.
LEAST_DATA = 100
# A packet is lost when one that was sent this many packets later is acknowledged [RFC 9002, 6.1.1].
PACKET_THRESHOLD = 3
# IPv4, UDP, and a frame of Ethernet with its check sequence.
ON_WIRE = 20 + 8 + 18


def is_qlog(text: str) -> bool:
    """Whether a text is a qlog."""
    return any(key in text[:FIRST] for key in KEYS)


def trace_of(text: str, file: Path) -> Trace | None:
    """Read the first connection of a log; None if its end has sent no data.

    Raises:
        ScenarioError: it is no JSON, or has no events as qlog 0.3 and its drafts have them.
    """
    try:
        header, events = _read(text)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise ScenarioError(f"{file}: the qlog cannot be read: {error}") from None
    has_frames = any("frames" in data for _, _, data in events)
    packets = _Packets(
        has_frames=has_frames,
        ends_after=_ends_after(events),
        names_lost=any(name == "packet_lost" for _, name, _ in events),
    )
    for time_s, name, data in events:
        packets.take(time_s, name, data)
    if not packets.rows:
        return None
    begin_s = events[0][0]
    return packets.trace(str(header.get("title") or file.stem), begin_s, events[-1][0])


Event = tuple[float, str, Mapping[str, Any]]


def _read(text: str) -> tuple[Mapping[str, Any], list[Event]]:
    """Give the header of the first trace of a log, and its events in the order of time."""
    # Texts of a sequence are on lines of their own, whatever is before them.
    lines = [line for line in text.replace(RECORD_SEPARATOR, "\n").split("\n") if line.strip()]
    header = _json(lines[0]) or json.loads(text)
    if "traces" in header:
        trace = header["traces"][0]
        given = trace["events"]
    else:
        trace = header.get("trace") or {}
        given = list(_whole(lines[1:]))
    common = trace.get("common_fields") or {}
    relative = str(common.get("time_format", "")) in {"delta", "relative_to_previous_event"}
    events: list[Event] = []
    time_ms = 0.0
    for event in given:
        if not isinstance(event, dict):
            raise ValueError("its events are no objects, as they are since qlog 0.3")
        time_ms = event["time"] + (time_ms if relative else 0.0)
        # Its name is that of its category and its own, or of a namespace and its own.
        name = str(event["name"]).rpartition(":")[2]
        events.append((time_ms / 1000, name, event.get("data") or {}))
    if not events:
        raise ValueError("it has no events")
    return header, sorted(events, key=lambda event: event[0])


def _json(text: str) -> Any:
    """Give the value of a JSON text; None if it is none, or not whole."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def _whole(lines: Sequence[str]) -> Iterator[Any]:
    """Give the values of JSON texts; the last one of a log that is still written may be cut."""
    yield from map(json.loads, lines[:-1])
    if lines and (last := _json(lines[-1])) is not None:
        yield last


def _ends_after(events: Sequence[Event]) -> bool:
    """Whether packets are acknowledged before they are sent, unless ranges exclude their ends.

    Those of noq 1.4.0 do, other than qlog says.
    """
    # Each type of packets has numbers of its own; the handshake shows it.
    largest: dict[str, int] = {}
    for _, name, data in events:
        header = data.get("header") or {}
        kind = str(header.get("packet_type"))
        if name == "packet_sent":
            largest[kind] = max(largest.get(kind, -1), header.get("packet_number", -1))
        elif name == "packet_received" and kind in largest:
            ends = [given[-1] for of in data.get("frames") or () for given in _ranges(of)]
            if max(ends, default=-1) > largest[kind]:
                return True
    return False


def _ranges(frame: Mapping[str, Any]) -> Sequence[Sequence[int]]:
    return (frame.get("acked_ranges") or ()) if frame.get("frame_type") == "ack" else ()


def _length(frame: Mapping[str, Any]) -> int:
    """Give the bytes of a frame of a stream, where qlog 0.3 and its drafts have them."""
    raw = frame.get("raw") or {}
    return int(frame.get("length") or raw.get("payload_length") or raw.get("length") or 0)


@dataclass(kw_only=True)
class _Packet:
    time_s: float
    size: int
    payload: int
    offset: int
    acked_s: float = float("nan")
    lost: bool = False
    again: bool = False


@dataclass(kw_only=True)
class _Packets:
    """The packets with data of a log while its events are read, by their numbers."""

    has_frames: bool
    ends_after: bool
    """Whether a range of acknowledged packets names the packet after its last one."""
    names_lost: bool
    rows: list[_Packet] = field(default_factory=list)
    outstanding: dict[int, _Packet] = field(default_factory=dict)
    overtaken: list[tuple[int, _Packet]] = field(default_factory=list)
    """Packets beyond the packet threshold, by their numbers; one that is acknowledged after all was
    not lost."""
    sent_bytes: int = 0
    flight: int = 0
    acks: list[tuple[float, int, int, int]] = field(default_factory=list)
    ends: dict[int, int] = field(default_factory=dict)
    """How far each stream has been sent: what begins before it is a retransmission."""

    def take(self, time_s: float, name: str, data: Mapping[str, Any]) -> None:
        header = data.get("header") or {}
        match name:
            case "packet_sent" if header.get("packet_type") == "1RTT":
                self._sent(time_s, header, data)
            case "packet_received" if header.get("packet_type") == "1RTT":
                for frame in data.get("frames") or ():
                    if ranges := _ranges(frame):
                        self._acked(time_s, ranges)
            case "packet_lost" if header.get("packet_type") == "1RTT":
                packet = self._gone(header["packet_number"])
                if packet is not None:
                    packet.lost = True
            case "metrics_updated" | "recovery_metrics_updated":
                self._measured(time_s, data)

    def _sent(self, time_s: float, header: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        size = (data.get("raw") or {}).get("length") or header.get("length") or 0
        again, payload = False, size
        if self.has_frames:
            streams = [of for of in data.get("frames") or () if of.get("frame_type") == "stream"]
            if not streams:
                return
            for of in streams:
                stream, offset = of.get("stream_id", 0), of.get("offset", 0)
                again |= offset < self.ends.get(stream, 0)
                self.ends[stream] = max(self.ends.get(stream, 0), offset + max(1, _length(of)))
            payload = sum(map(_length, streams)) or size
        elif size < LEAST_DATA:
            return
        packet = _Packet(
            time_s=time_s, size=size, payload=payload, offset=self.sent_bytes, again=again
        )
        self._gone(header["packet_number"])
        self.sent_bytes += size
        self.flight += size
        self.rows.append(packet)
        # A log of TCP gives a retransmission the number of its first transmission.
        self.outstanding[header["packet_number"]] = packet

    def _gone(self, number: int) -> _Packet | None:
        """Give a packet that was outstanding until now."""
        packet = self.outstanding.pop(number, None)
        if packet is not None:
            self.flight -= packet.size
        return packet

    def _acked(self, time_s: float, ranges: Sequence[Sequence[int]]) -> None:
        for given in ranges:
            first, last = given[0], given[-1] - self.ends_after
            if last - first < len(self.outstanding):
                numbers = [of for of in range(first, last + 1) if of in self.outstanding]
            else:
                numbers = [number for number in self.outstanding if first <= number <= last]
            for number in numbers:
                if (packet := self._gone(number)) is not None:
                    packet.acked_s = time_s
            late = self._among_overtaken(first, last)
            for _, packet in self.overtaken[late]:
                packet.acked_s, packet.lost = time_s, False
            del self.overtaken[late]
        if not self.names_lost:
            self._overtake(max(given[-1] for given in ranges) - self.ends_after)
        self._acknowledged(time_s)

    def _overtake(self, largest: int) -> None:
        """Find packets that are lost by the packet threshold."""
        beyond = takewhile(lambda of: of <= largest - PACKET_THRESHOLD, self.outstanding)
        for number in list(beyond):
            packet = self.outstanding[number]
            packet.lost = True
            self.overtaken[self._among_overtaken(number, number)] = [(number, packet)]
            self._gone(number)

    def _among_overtaken(self, first: int, last: int) -> slice:
        """Give the places of the overtaken packets from number `first` to `last`.

        An acknowledgement reports nearly all packets of a connection, and few of these are there.
        """
        number = itemgetter(0)
        low = bisect_left(self.overtaken, first, key=number)
        return slice(low, bisect_right(self.overtaken, last, key=number))

    def _measured(self, time_s: float, data: Mapping[str, Any]) -> None:
        flight = data.get("bytes_in_flight")
        if self.has_frames or flight is None:
            return
        before = self.flight
        while self.outstanding:
            number, packet = next(iter(self.outstanding.items()))
            # Half a packet is tolerated, because others than those with data are in flight, too.
            if self.flight - flight < packet.size / 2:
                break
            packet.acked_s = time_s
            self._gone(number)
        if self.flight < before:
            self._acknowledged(time_s)

    def _acknowledged(self, time_s: float) -> None:
        first = next(iter(self.outstanding.values()), None)
        offset = self.sent_bytes if first is None else first.offset
        self.acks.append((time_s, offset, self.sent_bytes - offset, self.flight))

    def trace(self, name: str, begin_s: float, end_s: float) -> Trace:
        rows = self.rows
        columns = {
            "time_s": _column([row.time_s - begin_s for row in rows]),
            "acked_s": _column([row.acked_s - begin_s for row in rows]),
            "offset": _column([row.offset for row in rows]),
            "payload": _column([row.payload for row in rows]),
            "wire": _column([row.size + ON_WIRE for row in rows]),
            "packets": np.ones(len(rows)),
        }
        lost = np.array([row.lost for row in rows], bool)
        again = np.array([row.again for row in rows], bool)
        times, offsets, ahead, flight = np.array(self.acks, float).reshape(-1, 4).T
        acknowledged = Acknowledged(
            time_s=times - begin_s,
            offset=offsets,
            window=np.full(len(times), np.inf),
            ahead=ahead,
            flight=flight,
        )
        rtts = samples(columns["time_s"], columns["acked_s"], lost | again)
        sent = Sent(**columns, lost=lost, again=again, rtt_s=rtts)
        least_s = float(np.nanmin(rtts)) if (~np.isnan(rtts)).any() else None
        return Trace(
            sender=name,
            receiver="receiver",
            ports=(0, 0),
            first_s=0.0,
            last_s=end_s - begin_s,
            side="sender",
            rtt_s=least_s,
            mss=usual_mss(sent),
            scale=0,
            has_start=True,
            has_sack=None,
            marks=(0, 0, False),
            uncaptured=0.0,
            sent=sent,
            acknowledged=acknowledged,
            shows_again=self.has_frames,
        )


def _column(values: Sequence[float]) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array(values, dtype=np.float64)
