"""What single changes would bring: the path is simulated as it is, and with each of them.

The path is corrected until its simulation gives what was measured. If it does not, nothing is said
about changes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fairhaul.jobs.values import Running
from fairhaul.runs.cost import counted_s
from fairhaul.scenario.packets import STAMPED_BYTES
from fairhaul.scenario.read import ScenarioError
from fairhaul.statistics.estimate import AT_LEAST_0, Estimate, estimate
from fairhaul.studies.explanation.measured import Measured
from fairhaul.studies.explanation.model import GRANTED, HEADROOM, Model, model_of
from fairhaul.studies.explanation.refit import Refit, refit
from fairhaul.studies.explanation.results import BELOW, Explained
from fairhaul.studies.explanation.simulated import (
    WARMUP,
    Simulated,
    Times,
    is_simulated,
    mean_of,
    simulated,
    times_of,
)
from fairhaul.studies.explanation.trace import HEADERS
from fairhaul.text.phrases import quantity

# Controllers that every Linux has, if its modules are loaded.
STOCK = ("cubic", "bbr", "reno")
# The number of connections instead of one.
PARALLEL = 4
# A buffer that does not limit, in bandwidth-delay products: a second window waits behind a loss.
WINDOWS = 2
# The goodput of a simulation may differ from the measured one by this part.
MOST_ERROR = 0.1
# Runs of each change, and the processor time of all of them, in seconds of the budget's packets.
SEEDS, BUDGET_S = 5, 10.0
# How long a path is simulated of which only figures are known, in round trips, and at least (s).
ROUND_TRIPS, LEAST_S = 200, 10.0


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change, the goodput with it in bit/s, how many times as much that is, and what is lost."""

    what: str
    goodput_bps: Estimate
    times: Estimate
    loss_rate: float

    def values(self) -> dict[str, Any]:
        """Give the object of JSON."""
        goodput, times = self.goodput_bps.to_dict(), self.times.to_dict()
        lost = {"loss_rate": self.loss_rate}
        return {"change": self.what, "goodput_bps": goodput, "times": times, **lost}


@dataclass(frozen=True, kw_only=True)
class WhatIf:
    """What the simulation says: the path as it is, and each change, the best first.

    `declined` is the reason why nothing was simulated, or why its result is not used. `refit` is
    the correction of the path by a capture; without one the path is as it was found. If only a
    lower bound of the rate is known, `assumed_bps` is the rate that was taken instead, in bits of
    frames per second.
    """

    now: Change | None = None
    changes: Sequence[Change] = ()
    refit: Refit | None = None
    declined: str | None = None
    assumed_bps: float | None = None

    @property
    def model(self) -> Model | None:
        """The corrected model; None if it was not corrected, or does not give what was measured."""
        return None if self.refit is None or self.declined else self.refit.model

    def values(self) -> dict[str, Any]:
        """Give the object of JSON."""
        return {
            "now": None if self.now is None else self.now.values(),
            "changes": [change.values() for change in self.changes],
            "refit": None if self.refit is None else self.refit.values(),
            "declined": self.declined,
            "assumed_rate_bps": self.assumed_bps,
        }


def what_if(connections: Sequence[Explained], running: Running) -> WhatIf:
    """Simulate the path of the largest connection, and those beside it, with single changes."""
    try:
        model = model_of(connections)
    except ScenarioError as error:
        return WhatIf(declined=str(error.args[0]))
    largest = connections[0]
    if not is_simulated(largest.main, largest.measured):
        return WhatIf(declined="the application limits, and what it writes is not simulated")
    done, measured = None, largest.measured
    if measured is not None:
        done = refit(model, largest.path, measured, running)
        model = done.model
        if abs(done.goodput_error(measured)) > MOST_ERROR:
            return WhatIf(refit=done, declined=unlike(done, measured))
    if model.is_bound and model.hosts:
        model = replace(model, rate_bps=HEADROOM * model.rate_bps)
    each = [("as it is", model), *_changes(model)]
    runs = simulated([of for _, of in each], _times(measured, model, len(each)), SEEDS, running)
    now, *changes = [_changed(what, of, runs[0]) for (what, _), of in zip(each, runs, strict=True)]
    return WhatIf(
        now=now,
        changes=sorted(changes, key=lambda of: -of.goodput_bps.mean),
        refit=done,
        assumed_bps=model.rate_bps if model.is_bound else None,
    )


def unlike(done: Refit, measured: Measured) -> str:
    """Say that a simulation does not give what was measured."""
    simulated_bps = quantity(done.simulated.goodput_bps, "bit/s")
    measured_bps = quantity(measured.goodput_bps, "bit/s")
    return f"the simulation of the path has {simulated_bps}, and the capture {measured_bps}"


def _changes(model: Model) -> Iterator[tuple[str, Model]]:
    """Give single changes of the hosts, each in words and as a model."""

    def without(key: str, **more: str) -> Model:
        kept = {name: value for name, value in model.hosts.items() if name != key}
        return replace(model, hosts=kept | more)

    needed = math.ceil(WINDOWS * model.rate_bps / 8 * model.rtt_s / 1e6) * 1_000_000
    if "receive_buffer" in model.hosts:
        larger = without("receive_buffer", receive_buffer=f"{needed} B")
        yield f"a window of the receiver of {quantity(needed, 'B')}", larger
    if "send_buffer" in model.hosts:
        larger = without("send_buffer", send_buffer=f"{needed} B")
        yield f"a send buffer of {quantity(GRANTED * needed, 'B')}", larger
    if "max_window" in model.hosts:
        yield "a larger send buffer, if that limits", without("max_window")
    if "max_pacing_rate" in model.hosts:
        yield "no pacing cap", without("max_pacing_rate")
    elif model.kind == "policer":
        goodput_bps = BELOW * model.rate_bps / model.count
        cap = f"{goodput_bps * (model.mss + STAMPED_BYTES) / (model.mss + HEADERS):.0f} bit/s"
        what = f"a pacing cap of {quantity(goodput_bps, 'bit/s')}"
        yield what, without("max_pacing_rate", max_pacing_rate=cap)
    for name in STOCK:
        if name != model.controller:
            yield name, replace(model, controller=name)
    if model.count == 1:
        yield f"{PARALLEL} connections", replace(model, count=PARALLEL)


def _times(measured: Measured | None, model: Model, count: int) -> Times:
    """Give what is simulated, within the budget."""
    most_s = BUDGET_S / (count * SEEDS)
    if measured is not None:
        return times_of(measured, model, most_s)
    end_s = max(LEAST_S, ROUND_TRIPS * model.rtt_s)
    whole = Times(begin_s=WARMUP * end_s, end_s=end_s)
    part = min(1.0, most_s / counted_s(whole.scenario(model, 1)))
    return Times(begin_s=part * whole.begin_s, end_s=part * end_s)


def _changed(what: str, runs: Sequence[Simulated], now: Sequence[Simulated]) -> Change:
    """Compare a change with what is now, seed by seed."""
    times = [a.goodput_bps / max(b.goodput_bps, 1.0) for a, b in zip(runs, now, strict=True)]
    return Change(
        what=what,
        goodput_bps=estimate([run.goodput_bps for run in runs], AT_LEAST_0),
        times=estimate(times, AT_LEAST_0),
        loss_rate=mean_of(runs).loss_rate,
    )
