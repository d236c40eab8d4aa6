"""The public L4S tests of 2021 beside our runs: two flows through several queues."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairhaul.measures.measures import measure
from fairhaul.runs.runs import for_each
from fairhaul.scenario.read import read_one

ROOT = Path(__file__).parent.parent.parent
SCENARIOS = ROOT / "scenarios" / "l4s"
PUBLISHED = Path(__file__).with_name("published.toml")
CONTROLLERS: Mapping[str, Any] = {
    "prague": {"kind": "prague", "rtt_independent": False},
    "cubic": "cubic",
    "reno": "reno",
}
_DUAL: Mapping[str, Any] = {"kind": "dualpi2", "capacity": "10000 packets", "variant": "linux"}
# Of each column of the matrix of pairs: its key in the published table, the rate and the queue. At
# 10 Mbit/s a packet takes longer than the step of today's default.
COLUMNS: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "dualpi2": ("dualpi2", "50 Mbit/s", _DUAL),
    "fifo": ("fifo", "50 Mbit/s", {"kind": "droptail", "capacity": "1000 packets"}),
    "fq_codel": ("fq_codel", "50 Mbit/s", {"kind": "fq_codel", "capacity": "10240 packets"}),
    "slow dualpi2": ("slow", "10 Mbit/s", _DUAL),
    "slow dualpi2, step 5 ms": ("slow", "10 Mbit/s", {**_DUAL, "step": 5}),
}
# The other flows of one queue: controller, and whether it has ECN.
OTHERS = (("cubic", True), ("cubic", False), ("reno", True), ("reno", False))
# A ratio within this factor of the published one counts as the same.
SPREAD = 1.5


@dataclass(frozen=True, kw_only=True)
class Cell:
    """Two flows through a queue: what was published of their ratio, and what we measured."""

    what: str
    published: float
    measured: float

    @property
    def is_within(self) -> bool:
        """Whether the measured ratio is within the spread of the published one."""
        return 1 / SPREAD <= self.measured / self.published <= SPREAD


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run of the tables: what it is, its scenario, and the published ratio of its flows."""

    what: str
    file: str
    overrides: Mapping[str, object]
    published: float


def published() -> dict[str, Any]:
    """Give the published tables."""
    return tomllib.loads(PUBLISHED.read_text(encoding="utf-8"))


def plan() -> Iterator[Run]:
    """Give every run of both tables."""
    tables = published()
    for pair in tables["pairs"]:
        for column, (key, rate, queue) in COLUMNS.items():
            if key in pair:
                overrides = {"bottleneck.queue": queue, "bottleneck.rate": rate, **_flows(pair)}
                what = f"{column}: {pair['first']}, {pair['second']} ms"
                one, other = pair[key]
                yield Run(what=what, file="pair.toml", overrides=overrides, published=one / other)
    for row in tables["one_queue"]:
        for (controller, ecn), ratio in zip(OTHERS, row["ratios"], strict=True):
            other = f"{controller} {'with' if ecn else 'without'} ECN"
            overrides = {
                "bottleneck.queue": row["set"],
                "flow.second.controller": controller,
                "flow.second.ecn": ecn,
            }
            what = f"{row['queue']}: prague, {other}"
            yield Run(what=what, file="one-queue.toml", overrides=overrides, published=ratio)


def _flows(pair: Mapping[str, Any]) -> dict[str, object]:
    overrides: dict[str, object] = {}
    for name in ("first", "second"):
        controller, rtt = pair[name].split()
        overrides[f"flow.{name}.controller"] = CONTROLLERS[controller]
        overrides[f"flow.{name}.rtt"] = f"{rtt} ms"
    return overrides


def cells(runs: Sequence[Run], short: Mapping[str, object] | None = None) -> list[Cell]:
    """Run scenarios of the tables; `short`: further overrides, such as a shorter duration."""
    scenarios = [read_one(SCENARIOS / run.file, {**run.overrides, **(short or {})}) for run in runs]

    def ratio(index: int, record: Any) -> Cell:
        first, second = (flow["goodput_bps"] for flow in measure(record)["flows"])
        run = runs[index]
        return Cell(what=run.what, published=run.published, measured=first / max(second, 1.0))

    return for_each(scenarios, ratio)
