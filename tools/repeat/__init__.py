"""Whether runs in Linux repeat: drawn scenarios, each run twice, whose records are compared whole.

The scenarios have one to four flows of the kernel's controllers over a bottleneck, with queues,
losses, jitter, noise of hosts and segmentation offload. All runs are in one order that is drawn, so
that the two runs of a scenario have other neighbours and another load.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

from fairhaul import RunError
from fairhaul.record.record import NOT_WRITTEN
from fairhaul.runs.runs import for_each
from fairhaul.scenario.read import Scenario, read_one

if TYPE_CHECKING:
    from fairhaul.record.record import Record
    from fairhaul.runs.runs import OnProgress

CONTROLLERS = (
    *("bbr", "bic", "cdg", "cubic", "highspeed", "htcp", "hybla", "illinois", "lp", "nv", "reno"),
    *("scalable", "vegas", "veno", "westwood", "yeah"),
)
QUEUES = ("droptail", "droptail", "droptail", "red", "pie", "codel", "fq_codel")


@dataclass(frozen=True, kw_only=True)
class Repeated:
    """A scenario that was run twice: the digests of its records, or why a run failed."""

    scenario: Mapping[str, Any]
    found: Sequence[str]

    @property
    def is_same(self) -> bool:
        """Whether both runs gave the same record."""
        return len(set(self.found)) == 1


def drawn(number: int, seed: int) -> dict[str, Any]:
    """Draw a scenario; the same number and seed give the same one."""
    random = Random(f"{seed} {number}")
    rate = round(2 * 100 ** random.random(), 1)
    packet_us = 12_000 / rate
    link: dict[str, Any] = {
        "rate": f"{rate} Mbit/s",
        "delay": f"{random.randint(1, 5)} ms",
        "queue": {"kind": random.choice(QUEUES), "capacity": f"{random.uniform(0.3, 2):.2f} bdp"},
    }
    if random.random() < 0.3:
        link["loss"] = round(10 ** random.uniform(-4, -2), 6)
    if random.random() < 0.3:
        link["jitter"] = f"uniform 0 s..{random.uniform(0.1, 5):.2f} ms"
    if random.random() < 0.15:
        link["duplicate"] = 0.001
    return {
        "title": f"drawn {number}",
        "seed": random.randint(1, 1000),
        "duration": f"{random.randint(2, 5)} s",
        "warmup": "1 s",
        "packet": "1500 B",
        "profile": "linux-tcp",
        "bottleneck": link,
        "flow": [_flow(random, index, packet_us) for index in range(random.randint(1, 4))],
    }


def _flow(random: Random, index: int, packet_us: float) -> dict[str, Any]:
    flow: dict[str, Any] = {
        "name": f"F{index}",
        "controller": random.choice(CONTROLLERS),
        "rtt": f"{random.randint(12, 120)} ms",
        "start": "uniform 0 s..1 s",
    }
    if random.random() < 0.3:
        flow["host"] = {"noise": f"uniform 0 s..{packet_us:.1f} us"}
    if random.random() < 0.3:
        flow["offload"] = "auto"
    return flow


def repeated(
    count: int, seed: int, *, jobs: int | None = None, on_progress: OnProgress | None = None
) -> list[Repeated]:
    """Run drawn scenarios twice each."""
    given = [drawn(number, seed) for number in range(count)]
    order = [*range(count), *range(count)]
    Random(seed).shuffle(order)
    plan: list[Scenario] = [read_one(given[number]) for number in order]

    def failed(_: int, error: RunError) -> str:
        return f"failed: {error}"

    digests = for_each(
        plan,
        lambda _, record: digest_of(record),
        jobs=jobs,
        on_progress=on_progress,
        engine="linux",
        failed=failed,
    )
    found: dict[int, list[str]] = {number: [] for number in range(count)}
    for number, digest in zip(order, digests, strict=True):
        found[number].append(digest)
    return [Repeated(scenario=given[number], found=found[number]) for number in range(count)]


def digest_of(record: Record) -> str:
    """Give the digest of all that the files of a record have."""
    meta = {name: value for name, value in record.meta.items() if name not in NOT_WRITTEN}
    sums = hashlib.sha256(json.dumps(meta, sort_keys=True).encode())
    for name, table in record.tables().items():
        sums.update(name.encode() + table.write_csv().encode())
    return sums.hexdigest()[:16]
