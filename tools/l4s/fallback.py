"""Prague's fall-back on classic queues: what it changes in the public L4S tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairhaul.measures.measures import measure
from fairhaul.runs.runs import for_each
from fairhaul.scenario.read import read_one
from tools.l4s import CONTROLLERS, SCENARIOS, Run, plan

if TYPE_CHECKING:
    from fairhaul.record.record import Record

PRAGUE = CONTROLLERS["prague"]
# In the other columns of the pairs nothing is marked, or each flow has a queue of its own.
_DUAL = ("dualpi2:", "slow dualpi2")


@dataclass(frozen=True, kw_only=True)
class Effect:
    """Two flows, the ratio of the first to the second, and the score of the first Prague."""

    what: str
    published: float
    without: float
    falling_back: float
    score: float


def runs() -> list[Run]:
    """Give the runs in which Prague may meet a queue that marks."""
    return [
        run
        for run in plan()
        if run.file == "one-queue.toml" or (run.what.startswith(_DUAL) and _of_prague(run))
    ]


def _of_prague(run: Run) -> list[str]:
    """Name the flows with Prague."""
    if run.file == "one-queue.toml":
        return ["first"]
    return [
        name for name in ("first", "second") if run.overrides[f"flow.{name}.controller"] == PRAGUE
    ]


def effects(of: Sequence[Run], short: Mapping[str, object] | None = None) -> list[Effect]:
    """Run each without and with the fall-back; `short`: further overrides."""
    names = [_of_prague(run) for run in of]
    scenarios = [
        read_one(
            SCENARIOS / run.file,
            {
                **run.overrides,
                **{f"flow.{name}.controller": {**PRAGUE, **more} for name in own},
                **(short or {}),
            },
        )
        for run, own in zip(of, names, strict=True)
        for more in ({}, {"classic_ecn_fallback": "fallback"})
    ]

    def read(index: int, record: Record) -> tuple[float, float]:
        first, second = (flow["goodput_bps"] for flow in measure(record)["flows"])
        return first / max(second, 1.0), _score(record, names[index // 2][0])

    found = for_each(scenarios, read)
    return [
        Effect(
            what=run.what,
            published=run.published,
            without=found[2 * place][0],
            falling_back=found[2 * place + 1][0],
            score=found[2 * place + 1][1],
        )
        for place, run in enumerate(of)
    ]


def _score(record: Record, flow: str) -> float:
    """Give the mean score of a flow after the warm-up."""
    rows: Any = record.flow_gauge.filter(flow=flow, gauge="classic_ecn")
    warmup_s = record.meta["scenario"]["warmup_s"]
    values = [value for t, value in zip(rows["t_s"], rows["value"], strict=True) if t >= warmup_s]
    return float(sum(values) / len(values))
