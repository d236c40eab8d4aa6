"""Runs of the simulator with the model of a path, and their figures as a capture has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from fairhaul.jobs.store import build_of, jobs_of
from fairhaul.jobs.values import Running, values
from fairhaul.measures.measures import figures
from fairhaul.measures.types import RunFigures
from fairhaul.runs.cost import counted_s
from fairhaul.scenario.read import Scenario, read_one
from fairhaul.studies.explanation.measured import Measured
from fairhaul.studies.explanation.model import Model

# Connections that pause this often are simulated as a transfer between two pauses.
PAUSES = 2
# A transfer has this many times as long as it took.
PATIENCE = 4.0
# The part of a run that is not measured where it does not begin with the connections.
WARMUP = 0.25
# The least time that is simulated, in seconds.
LEAST_S = 2.0
LINK = "bottleneck"


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """Figures of a run: goodput in bit/s, quantiles of the wait in seconds, share of losses."""

    goodput_bps: float
    waits_s: tuple[float, ...]
    loss_rate: float


@dataclass(frozen=True, kw_only=True)
class Times:
    """What of a run is measured, in seconds; with `size_bytes` each flow is one transfer."""

    begin_s: float
    end_s: float
    size_bytes: int | None = None

    def scenario(self, model: Model, seed: int) -> Scenario:
        """Give the scenario of a run."""
        sections = model.sections()
        if self.size_bytes is not None:
            transfer, *others = sections["flow"]
            sections["flow"] = [transfer | {"traffic": f"{self.size_bytes} B"}, *others]
        text: dict[str, Any] = {
            "title": "what was measured",
            "seed": seed,
            "duration": f"{self.end_s:.6g} s",
            "warmup": f"{self.begin_s:.6g} s",
            **sections,
        }
        return read_one(text)


def is_simulated(limit: str, measured: Measured | None) -> bool:
    """Whether what the application does is simulated: nothing, or pauses between transfers."""
    return limit != "application" or (measured is not None and measured.pauses >= PAUSES)


def times_of(measured: Measured, model: Model, most_s: float) -> Times:
    """Give what of a run compares with what was measured.

    Connections that began within the capture are simulated from their beginning; of others, and of
    runs that would cost more than `most_s` seconds of processor time, the first quarter is not
    measured.
    """
    if measured.pauses >= PAUSES:
        size = measured.goodput_bps * measured.busy_s / 8 / (measured.pauses + 1) / model.count
        longest_s = PATIENCE * measured.busy_s / (measured.pauses + 1) + LEAST_S
        return Times(begin_s=0.0, end_s=longest_s, size_bytes=max(1, round(size)))
    took_s = max(LEAST_S, measured.end_s - measured.begin_s)
    whole = Times(begin_s=measured.begin_s, end_s=measured.begin_s + took_s)
    part = most_s / counted_s(whole.scenario(model, 1))
    if measured.has_start and part >= 1:
        return whole
    end_s = max(LEAST_S, min(1.0, part) * whole.end_s)
    return Times(begin_s=WARMUP * end_s, end_s=end_s)


def simulated(
    models: Sequence[Model], times: Times, seeds: int, running: Running
) -> list[list[Simulated]]:
    """Simulate models with the same seeds; gives the runs of each."""
    by = build_of(figures)
    scenarios = [times.scenario(model, 1) for model in models]
    plan = [job for of in scenarios for job in jobs_of(of, seeds, "sim", "figures", by)]
    done = [_simulated(run) for run in values(plan, figures, running)]
    return [done[at : at + seeds] for at in range(0, len(done), seeds)]


def mean_of(runs: Sequence[Simulated]) -> Simulated:
    """Give the means over runs."""
    return Simulated(
        goodput_bps=fmean(run.goodput_bps for run in runs),
        waits_s=tuple(map(fmean, zip(*(run.waits_s for run in runs), strict=True))),
        loss_rate=fmean(run.loss_rate for run in runs),
    )


def _simulated(run: RunFigures) -> Simulated:
    own = [flow for flow in run["flows"] if flow["role"] == "measured"]
    link = next(of for of in run["links"] if of["name"] == LINK)
    return Simulated(
        goodput_bps=sum(flow["transfer_bps"] or flow["goodput_bps"] for flow in own),
        waits_s=(link["queue_p50_s"] or 0.0, link["queue_p95_s"] or 0.0),
        loss_rate=fmean(flow["loss_rate"] or 0.0 for flow in own),
    )
