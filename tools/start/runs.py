"""The runs: every case of a scenario with every rule, and every seed; what is computed is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fairhaul.jobs.store import build_of, jobs_of
from fairhaul.jobs.values import Running, values
from fairhaul.scenario.quantities import rate_bps, size_bytes
from fairhaul.scenario.read import Scenario, read, variant
from tools import ROOT
from tools.start.result import Started, started
from tools.start.rules import Keys, keys_of

SCENARIOS = ROOT / "scenarios" / "start"
# A transfer that would take longer at the rate of its link is left out.
LONGEST_S = 60.0

# The values of the swept keys, in the order of the file.
Case = tuple[str, ...]
# The runs of each rule, by seed.
Runs = Mapping[Case, Mapping[str, Sequence[Started]]]


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """A scenario of `scenarios/start`, the rules that it is run with, and the path of its rules."""

    name: str
    rules: Sequence[str]
    rate: str = ""
    rtt: str = ""
    more: Mapping[str, Keys] | None = None
    """Further rows, each with keys that differ from the scenario; each is run with all rules."""
    own: Mapping[str, Keys] | None = None
    """The keys of rules that are not among those of the start."""


def runs_of(sweep: Sweep, seeds: int, running: Running, part: Callable[[Case], bool]) -> Runs:
    """Run the cases of which `part` is true; give the values of their runs."""
    build = build_of(started)
    keys, jobs = [], []
    for more, extra in (sweep.more or {"": {}}).items():
        for case, of in _cases(sweep, extra).items():
            if not part(case):
                continue
            for rule in sweep.rules:
                jobs += jobs_of(_with(of, sweep, rule, extra), seeds, "sim", "started", build)
                keys.append(((more, *case) if more else case, rule))
    found = iter(values(jobs, started, running))
    runs: dict[Case, dict[str, Sequence[Started]]] = {}
    for case, rule in keys:
        runs.setdefault(case, {})[rule] = [next(found) for _ in range(seeds)]
    return runs


def _cases(sweep: Sweep, extra: Keys) -> dict[Case, Scenario]:
    file = SCENARIOS / f"{sweep.name}.toml"
    return {tuple(map(str, variant(of).values())): of for of in read(file, extra)}


def _with(of: Scenario, sweep: Sweep, rule: str, extra: Keys) -> Scenario:
    """Give the scenario of a case with a rule."""
    swept = dict(variant(of))
    rate = str(swept.get("bottleneck.rate", sweep.rate))
    rtt = str(swept.get("flow.F.rtt", sweep.rtt))
    own = (sweep.own or {}).get(rule)
    keys = keys_of(rule, rate, rtt) if own is None else own
    (given,) = read(SCENARIOS / f"{sweep.name}.toml", {**extra, **swept, **keys})
    return given


def is_short(case: Case) -> bool:
    """Whether the ideal time of a sized transfer is at most `LONGEST_S`."""
    rate, _, _, size = case
    return size_bytes("size", size) * 8 / rate_bps("rate", rate) <= LONGEST_S
