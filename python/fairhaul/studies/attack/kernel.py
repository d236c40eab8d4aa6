"""A weakness on a kernel: the same scenario in the lab or in Linux, beside the simulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from fairhaul.jobs.store import build_of, jobs_of
from fairhaul.jobs.values import Invalid, values
from fairhaul.runs.runs import for_each
from fairhaul.scenario.engines import Engine
from fairhaul.scenario.read import ScenarioError
from fairhaul.statistics.estimate import Estimate, estimate
from fairhaul.studies.attack.box import Box
from fairhaul.studies.attack.figures import figures_of
from fairhaul.studies.attack.place import Place
from fairhaul.studies.attack.trials import OF, Trials

# What the lab carries exactly, packet by packet, with some room; and how long a run may take there.
MOST_MBPS, LONGEST_S = 200.0, 60.0
RUNS = 3
# Whether the kernel has all controllers is tried for this long.
TRIED_S = 1.0


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """The values of the kernel's valid runs, beside the estimate of the simulator."""

    release: str
    values: Sequence[float]
    sim: Estimate
    weak: float

    @property
    def estimate(self) -> Estimate:
        """The mean over the kernel's runs."""
        return estimate(self.values)

    @property
    def confirmed(self) -> bool:
        """Whether each run of the kernel has the weakness."""
        return bool(self.values) and min(self.values) >= self.weak

    def to_dict(self) -> dict[str, Any]:
        """Give both values as they are printed in JSON."""
        return {
            "kernel": self.release,
            "values": list(self.values),
            "simulator": self.sim.to_dict(),
            "confirmed": self.confirmed,
        }


def for_lab(box: Box) -> Box:
    """Give the part of a box that the lab carries.

    Raises:
        ScenarioError: it carries nothing of it.
    """
    longest_ms = 1000 * LONGEST_S / box.round_trips / max(box.rivals_rtt.high, 1.0)
    limits = {"rate": (MOST_MBPS, "Mbit/s"), "rtt": (float(f"{longest_ms:.3g}"), "ms")}
    cut = {}
    for name, (most, unit) in limits.items():
        given = getattr(box, name)
        if given.low > most:
            raise ScenarioError(
                f"--confirm lab: the lab carries a {name} of at most {most:g} {unit} here, and the "
                f"box begins at {given.low:g} {unit}"
            )
        cut[name] = replace(given, high=min(given.high, most))
    return replace(box, **cut)


def check(trials: Trials, box: Box, engine: Engine) -> None:
    """Refuse before the search what the engine would refuse after it.

    Raises:
        Refused: the engine cannot be used here, or the kernel lacks a controller.
    """
    some = replace(box.place([0.5] * len(box.names)), round_trips=0.0, least_s=TRIED_S)
    kinds = box.rival if box.rivals.high else box.rival[:1]
    places = [replace(some, rival=kind, rivals=max(some.rivals, 1)) for kind in kinds]
    plan = [trials.attacked.scenario(place, "", 1) for place in places]
    for_each(plan, lambda *_: None, engine=engine)


def confirm(trials: Trials, place: Place, sim: Estimate, seed: int, engine: Engine) -> Kernel:
    """Run a place on the kernel; runs in which the machine could not keep up do not count."""
    by, cases = build_of(figures_of), trials.objective.cases
    plans = [
        jobs_of(trials.attacked.scenario(place, case, seed), RUNS, engine, OF, by) for case in cases
    ]
    done = [values(plan, figures_of, trials.running, engine=engine) for plan in plans]
    valid = [
        dict(zip(cases, runs, strict=True))
        for runs in zip(*done, strict=True)
        if not any(isinstance(figures, Invalid) for figures in runs)
    ]
    known = [of for runs in done for of in runs if not isinstance(of, Invalid)]
    return Kernel(
        release=str(known[0]["kernel"]) if known else "",
        values=[trials.objective.value(place, runs) for runs in valid],
        sim=sim,
        weak=trials.objective.weak,
    )
