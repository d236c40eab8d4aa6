"""Connections over paths that are drawn by a seed, and their captures in Linux's own code."""

from __future__ import annotations

import gzip
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from fairhaul.files import files
from fairhaul.record.record import Record
from fairhaul.record.trace import write
from fairhaul.runs.runs import for_each
from fairhaul.scenario.read import read_one

FLOW = "F"
# What is drawn: the rate in Mbit/s, the round-trip time in ms, the buffer in products of both, and
# the probability of loss, evenly by their logarithms; half of the paths lose nothing by chance. The
# duration in s is drawn evenly.
RATE, RTT, BUFFER, LOSS, DURATION = (5, 100), (10, 150), (0.25, 3), (1e-4, 1e-2), (15, 40)
# A shorter run where a capture would have more packets of data: a trace has a million rows.
MOST_PACKETS, PACKET_BITS = 200_000, 12_000
# The controllers that are most used, and others of Linux.
USUAL = ("reno", "cubic", "bbr", "bbr3")
RARE = ("highspeed", "scalable", "htcp", "bic", "vegas", "illinois", "westwood")


def scenario(seed: int, number: int, controller: str) -> Mapping[str, Any]:
    """Draw a path with one connection of a controller: the same for the same numbers."""
    chance = np.random.default_rng((seed, number))

    def between(ends: tuple[float, float]) -> float:
        low, high = map(math.log, ends)
        return math.exp(chance.uniform(low, high))

    rate, rtt, buffer, loss = (between(of) for of in (RATE, RTT, BUFFER, LOSS))
    lossy = chance.random() < 0.5
    duration = min(chance.uniform(*DURATION), MOST_PACKETS * PACKET_BITS / (rate * 1e6))
    bottleneck: dict[str, Any] = {
        "rate": f"{rate:.4g} Mbit/s",
        "delay": f"{rtt / 4:.4g} ms",
        "queue": {"kind": "droptail", "capacity": f"{buffer:.3g} bdp"},
    }
    if lossy:
        bottleneck["loss"] = float(f"{loss:.3g}")
    return {
        "title": f"{controller}, number {number} of the seed {seed}",
        "seed": seed + number,
        "duration": f"{duration:.1f} s",
        "packet": "1500 B",
        "profile": "linux",
        "bottleneck": bottleneck,
        "flow": [{"name": FLOW, "controller": controller, "rtt": f"{rtt:.4g} ms"}],
    }


def captures(folder: Path, seed: int, controllers: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """Give a controller and the capture of a connection of it for each of `controllers`.

    A capture that the folder has is not made again, so an interrupted run continues.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for number, controller in enumerate(controllers):
        file = folder / f"{controller}-{number}.pcapng.gz"
        if not file.exists():
            click.echo(f"{number + 1} of {len(controllers)}: {controller}", err=True)
            _capture(scenario(seed, number, controller), file)
        yield controller, file


def _capture(of: Mapping[str, Any], file: Path) -> None:
    """Run a scenario in Linux, and write the capture at its sender, compressed by gzip."""

    def written(_: int, record: Record) -> None:
        whole = file.with_suffix(".part")
        write(record, FLOW, "pcapng", whole)
        files.replace(file, gzip.compress(whole.read_bytes(), 1))
        whole.unlink()

    for_each([read_one(of)], written, trace=FLOW, engine="linux", jobs=1)
