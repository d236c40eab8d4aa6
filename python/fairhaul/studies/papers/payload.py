"""The payload of packets: smaller on real hosts, whose time stamps take a part of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairhaul.scenario.engines import FACTS

if TYPE_CHECKING:
    from fairhaul.record.record import Record


def goodput_factor(record: Record) -> float:
    """Give what a goodput is multiplied by so that packets of all engines carry as much."""
    packet = record.meta["scenario"]["flows"][0]["packet_bytes"]
    headers = FACTS[record.meta["engine"]].header_bytes
    return float((packet - FACTS["sim"].header_bytes) / (packet - headers))
