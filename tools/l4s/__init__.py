"""The public L4S tests of 2021 beside our runs: two flows through several queues."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, TypeVar

from fairhaul.measures.measures import measure
from fairhaul.runs.runs import for_each
from fairhaul.scenario.read import Source, read_one
from fairhaul.statistics.estimate import AT_LEAST_0, estimate
from fairhaul.statistics.estimate import text as estimate_text
from fairhaul.text.digits import Significant

if TYPE_CHECKING:
    from fairhaul.record.record import Record
    from fairhaul.scenario.engines import Engine

T = TypeVar("T")

ROOT = Path(__file__).parent.parent.parent
SCENARIOS = ROOT / "scenarios" / "l4s"
PUBLISHED = Path(__file__).with_name("published.toml")
CONTROLLERS: Mapping[str, Any] = {
    "prague": {"kind": "prague", "rtt_independent": False},
    "cubic": "cubic",
    "reno": "reno",
}
_TODAY: Mapping[str, Any] = {"kind": "dualpi2", "capacity": "10000 packets", "variant": "linux"}
# In the DualPI2 of 2020 the step applied only to a packet that found more than one packet in the
# L4S queue [L4STEAM]; in today's it applies to every packet.
_DUAL: Mapping[str, Any] = {**_TODAY, "min_qlen_step": 2}
# Of each column of the matrix of pairs: its key in the published table, the rate and the queue. At
# 10 Mbit/s a packet takes longer than the step.
COLUMNS: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "dualpi2": ("dualpi2", "50 Mbit/s", _DUAL),
    "fifo": ("fifo", "50 Mbit/s", {"kind": "droptail", "capacity": "1000 packets"}),
    "fq_codel": (
        "fq_codel",
        "50 Mbit/s",
        {"kind": "fq_codel", "variant": "linux", "capacity": "10240 packets"},
    ),
    "slow dualpi2": ("slow", "10 Mbit/s", _DUAL),
    "slow dualpi2, today's": ("slow", "10 Mbit/s", _TODAY),
}
# The other flows of one queue: controller, and whether it has ECN.
OTHERS = (("cubic", True), ("cubic", False), ("reno", True), ("reno", False))
# The kernel's queues of two columns.
_KERNEL = {"fifo": "pfifo limit 1000", "fq_codel": "fq_codel"}
# Changes to the set-up of a run. In the tests [L4S-TESTS] the link was the token bucket of HTB, of
# 1600 B; HTB lets a packet leave until the bucket is in debt, so that ours holds a packet more.
CHANGES = ("htb", "prompt hosts", "kernel queue")
_BURST = "3100 B"
# A ratio within this factor of the published one counts as the same.
SPREAD = 1.5


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A number of a run, one for each seed, beside the published one, if there is one."""

    what: str
    published: float | None
    values: Sequence[float]

    @property
    def mean(self) -> float:
        """The mean over the seeds."""
        return fmean(self.values)

    @property
    def is_within(self) -> bool:
        """Whether the mean is within the spread of the published one, if there is one."""
        return self.published is None or 1 / SPREAD <= self.mean / self.published <= SPREAD

    def text(self) -> str:
        """Write it in a line, with several seeds the interval of the mean."""
        theirs = "-" if self.published is None else f"{self.published:.4g}"
        ours = estimate_text(estimate(self.values, AT_LEAST_0), Significant(digits=3))
        return f"{self.what:66} {theirs:>8} {ours:>20}{'' if self.is_within else '  beyond'}"


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


def changed(run: Run, changes: Sequence[str]) -> Run:
    """Give the run with changes of `CHANGES`; each leaves everything else as it is.

    Raises:
        ValueError: the kernel's queue is wanted where this table knows none.
    """
    overrides = dict(run.overrides)
    rate = str(overrides.get("bottleneck.rate", "50 Mbit/s"))
    if "htb" in changes:
        overrides["bottleneck.rate"] = "1 Gbit/s"
        overrides["bottleneck.shaper"] = {"rate": rate, "burst": _BURST}
    if "htb" in changes or "prompt hosts" in changes:
        # Without a value the time would be that of a packet on the link.
        packet_us = 12_000 / float(rate.removesuffix(" Mbit/s"))
        most = 20 if "prompt hosts" in changes else packet_us
        for name in ("first", "second"):
            overrides[f"flow.{name}.overhead"] = f"uniform 0 s..{most:g} us"
    if "kernel queue" in changes:
        column = run.what.partition(":")[0]
        if column not in _KERNEL:
            raise ValueError(f"{run.what}: known are the kernel's queues of {', '.join(_KERNEL)}")
        overrides["bottleneck.queue"] = {"kind": "kernel", "qdisc": _KERNEL[column]}
    return replace(run, overrides=overrides)


def _flows(pair: Mapping[str, Any]) -> dict[str, object]:
    overrides: dict[str, object] = {}
    for name in ("first", "second"):
        controller, rtt = pair[name].split()
        overrides[f"flow.{name}.controller"] = CONTROLLERS[controller]
        overrides[f"flow.{name}.ecn"] = True
        overrides[f"flow.{name}.rtt"] = f"{rtt} ms"
    return overrides


def cells(
    runs: Sequence[Run],
    short: Mapping[str, object] | None = None,
    seeds: int = 1,
    engine: Engine = "sim",
) -> list[Figure]:
    """Run scenarios of the tables; `short`: further overrides, such as a shorter duration."""

    def ratio(record: Record) -> float:
        first, second = (flow["goodput_bps"] for flow in measure(record)["flows"])
        return float(first / max(second, 1.0))

    cases = [(SCENARIOS / run.file, {**run.overrides, **(short or {})}) for run in runs]
    found = by_seed(cases, seeds, ratio, engine)
    return [
        Figure(what=run.what, published=run.published, values=ratios)
        for run, ratios in zip(runs, found, strict=True)
    ]


def by_seed(
    cases: Sequence[tuple[Source, Mapping[str, object]]],
    seeds: int,
    read: Callable[[Record], T],
    engine: Engine = "sim",
) -> list[list[T]]:
    """Run each scenario with its overrides, and give what is read of its records, one a seed."""
    scenarios = [
        read_one(source, {**overrides, "seed": seed})
        for source, overrides in cases
        for seed in range(1, seeds + 1)
    ]
    found = iter(for_each(scenarios, lambda _, record: read(record), engine=engine))
    return [[next(found) for _ in range(seeds)] for _ in cases]
