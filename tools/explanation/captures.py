"""The captures with known truth, which is in their names."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from fairhaul.scenario.read import ScenarioError
from fairhaul.studies.explanation.limits import pauses_of
from fairhaul.studies.explanation.path import groups_of
from fairhaul.studies.explanation.token_bucket import Bucket, bucket_of
from fairhaul.studies.explanation.trace import Trace, read_capture
from tools.explanation.halves import Halves, halves

# A chunk counts with at least this many packets of data and a loss.
LEAST_PACKETS = 50
# A pause between chunks is at least this long, in seconds: the shortest one that was requested is
# half a second.
LEAST_PAUSE_S = 0.25
CHUNKS = 5
# A connection of the measurement has at least this many bytes: the third one beside two shows
# other traffic, and is fitted as well.
LEAST_BYTES = 100_000
THIRD_PORT = 5001


@dataclass(frozen=True, kw_only=True)
class Truth:
    """What the name of a capture says; rates in bit/s, bytes, seconds."""

    name: str
    policed_bps: float
    burst_bytes: float
    shaped_bps: float
    loss: float
    rtt_s: float
    connections: int
    controller: str | None
    pauses_s: dict[int, float]

    @property
    def reaches(self) -> bool:
        """Whether goodput reaches the rate of the policer."""
        small = self.burst_bytes == 8000 and self.policed_bps >= 1.5e6
        fast = self.burst_bytes == 100_000 and self.policed_bps >= 10e6
        return not (small or fast)


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A capture: its truth, what was found, and the chunks that were judged alone.

    `chunks` says of each chunk whether it was policed. `pauses` are pairs of the requested and the
    found pauses of each connection with a requested one, and `halves` the prediction of the second
    half of a capture with one connection.
    """

    truth: Truth
    bucket: Bucket | None
    is_shaped: bool
    rtt_s: float | None
    chunks: list[bool]
    pauses: list[tuple[float, list[float]]]
    halves: Halves | None

    @property
    def is_policed(self) -> bool:
        """Whether the largest connection has a policer."""
        return self.bucket is not None and self.bucket.is_policer


def truth_of(file: Path) -> Truth:
    """Read the name of a capture."""
    words = dict(part.split("=", 1) for part in file.name.split("-") if "=" in part)

    def number(key: str) -> float:
        return float(words.get(key, "0").rstrip("%").split(".pcap")[0] or 0)

    pauses = {
        int(words[f"CP{of}"].split(".")[0]): number(f"CD{of}") / 1000
        for of in ("", "1", "2")
        if f"CP{of}" in words
    }
    two = "CD1" in words
    return Truth(
        name=file.name,
        policed_bps=number("PCIR"),
        burst_bytes=number("PBC"),
        shaped_bps=number("SCIR"),
        loss=number("LOSS") / 100,
        rtt_s=number("RTT") / 1000,
        connections=(2 if two else 1) + (words.get("XT") == "1"),
        controller=words.get("TCP"),
        pauses_s=pauses,
    )


def captures(folder: Path) -> list[Path]:
    """Give the captures of a folder.

    Raises:
        ScenarioError: there is none.
    """
    files = sorted(file for file in folder.glob("C=*") if ".pcap" in file.name)
    if not files:
        raise ScenarioError(f"{folder}: no capture whose name begins with C=")
    return files


def judged(file: Path) -> Judged:
    """Explain a capture, all connections together and each chunk alone."""
    truth = truth_of(file)
    traces = [of for of in read_capture(file).traces if of.data_bytes >= LEAST_BYTES]
    groups = groups_of(traces)
    largest = max(groups, key=lambda group: group.traces[0].data_bytes)
    bucket = largest.bucket
    own = [of for of in traces if of.ports[1] in truth.pauses_s]
    return Judged(
        truth=truth,
        bucket=bucket,
        is_shaped=bucket is not None and not bucket.is_policer,
        rtt_s=largest.traces[0].rtt_s,
        chunks=[of for trace in own for of in chunks(trace)],
        pauses=[
            (truth.pauses_s[of.ports[1]], [p for _, p in pauses_of(of) if p >= LEAST_PAUSE_S])
            for of in own
        ],
        halves=halves(largest.traces, truth.controller) if truth.connections == 1 else None,
    )


def chunks(trace: Trace, most_bytes: float = math.inf) -> Iterator[bool]:
    """Judge each chunk of a connection alone, without what is beside it.

    A chunk is what was sent between two pauses, or `most_bytes` of it.
    """
    ends = [start for start, took in pauses_of(trace) if took >= LEAST_PAUSE_S]
    edges = [-1.0, *ends, float("inf")]
    times = trace.sent.time_s
    for begin, end in pairwise(edges):
        whole = trace.sent.part((times > begin) & (times <= end))
        number = np.cumsum(whole.payload * ~whole.again) // most_bytes
        for at in np.unique(number):
            sent = whole.part(number == at)
            if sent.packets.sum() >= LEAST_PACKETS and sent.lost.any():
                bucket = bucket_of(sent, trace.rtt_s or 0.0)
                yield bucket is not None and bucket.is_policer
