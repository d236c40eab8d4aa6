"""The looks at sockets that `ss` has printed, as they are used beside a capture."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairhaul.host import recording
from fairhaul.studies.explanation.clocks import Look
from fairhaul.studies.explanation.observed import (
    ACKED,
    APPLICATION,
    BUSY,
    CLOCKS,
    CONTROLLER,
    MSS,
    sockets,
)
from fairhaul.studies.explanation.recorded import rows

if TYPE_CHECKING:
    from fairhaul.studies.explanation.trace import Trace

# A connection: the address and the port of both ends.
Ends = tuple[str, int, str, int]
Looks = Mapping[Ends, Sequence[Look]]

_NUMBERS = {
    "acked": ACKED,
    "window_ms": CLOCKS["receive window"],
    "buffer_ms": CLOCKS["send buffer"],
    "unsent": re.compile(r"\bnotsent:([0-9]+)"),
    "outstanding": re.compile(r"\bunacked:([0-9]+)"),
    "cwnd": re.compile(r"\bcwnd:([0-9]+)"),
    "mss": MSS,
    "may": re.compile(r"\bskmem:\([^)]*\btb([0-9]+)"),
    "takes": re.compile(r"\bskmem:\([^)]*\bw([0-9]+)"),
}
_PACING = re.compile(r"\bpacing_rate ([0-9.]+[KMG]?)bps/([0-9.]+[KMG]?)bps")
# Linux lets an application write again when a third of the buffer is free.
FULL = 2 / 3


def looks_of(text: str) -> Looks:
    """Read the looks at each socket of a text of `ss -tin` or `ss -tinm`, in their order."""
    found: dict[Ends, list[Look]] = {}
    for (local, remote), words in sockets(text):
        ends = (*_end(local), *_end(remote))
        if BUSY.search(words) and ends[1] and ends[3]:
            found.setdefault(ends, []).append(_look(words))
    return found


def recorded_looks(place: Path) -> Looks:
    """Read the looks at each socket of a recording of `fairhaul flows`, in their order."""
    found: dict[Ends, list[Look]] = {}
    for file in recording.files_of(place):
        for row in rows(file):
            local, remote = (plain(row[f"{end}_address"]) for end in ("local", "peer"))
            look = Look(
                acked_bytes=row["acked_bytes"],
                window_s=row["receive_window_s"],
                buffer_s=row["send_buffer_s"],
                app_limited=bool(row["app_limited"]),
                is_full=False,
                is_empty=False,
                at_pacing_cap=bool(row["limit_pacing_cap"]),
                controller=row["controller"],
            )
            found.setdefault((local, row["local_port"], remote, row["peer_port"]), []).append(look)
    return found


def ends_of(trace: Trace) -> Ends:
    """Give the ends of a connection of a capture, the sender first."""
    here, far = trace.ports
    return trace.sender, here, trace.receiver, far


def plain(address: str) -> str:
    """Give an address without its zone; a socket of IPv6 may have a connection of IPv4."""
    return address.strip("[]").removeprefix("::ffff:").partition("%")[0]


def _end(end: str) -> tuple[str, int]:
    address, _, port = end.rpartition(":")
    return plain(address), int(port) if port.isdigit() else 0


def _look(words: str) -> Look:
    matches = {name: pattern.search(words) for name, pattern in _NUMBERS.items()}
    number = {name: float(of[1]) if of else 0.0 for name, of in matches.items()}
    all_sent = number["unsent"] < number["mss"]
    pacing, controller = _PACING.search(words), CONTROLLER.search(words)
    return Look(
        acked_bytes=number["acked"],
        window_s=number["window_ms"] / 1000,
        buffer_s=number["buffer_ms"] / 1000,
        app_limited=APPLICATION.search(words) is not None,
        is_full=all_sent and 0 < FULL * number["may"] <= number["takes"],
        is_empty=all_sent and number["outstanding"] < number["cwnd"],
        at_pacing_cap=pacing is not None and pacing[1] == pacing[2],
        controller=controller[1] if controller else None,
    )
