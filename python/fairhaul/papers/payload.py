"""The payload of packets: smaller on real hosts, whose time stamps take a part of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairhaul.record import Record

# Of each packet, bytes; the kernel's time stamps take the difference.
HEADERS = {"sim": 40, "lab": 52}


def goodput_factor(record: Record) -> float:
    """Give what a goodput is multiplied by so that packets of both engines carry as much."""
    packet = record.meta["scenario"]["flows"][0]["packet_bytes"]
    return float((packet - HEADERS["sim"]) / (packet - HEADERS[record.meta["engine"]]))
