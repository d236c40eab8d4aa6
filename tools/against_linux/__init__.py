"""The simulator beside Linux in simulated time, in cases in which a rule of Linux decides.

The figures are those of the first flow, means over the seeds, with the standard deviation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from fairhaul.measures.measures import measure
from fairhaul.record.record import Record
from fairhaul.runs.runs import for_each
from fairhaul.scenario.engines import Engine
from fairhaul.scenario.packets import payload_part
from fairhaul.scenario.read import Scenario, read_one
from tools.against_linux.cases import Case

Figures = Mapping[str, float | None]
Done = Callable[[Case, Engine, Sequence[Figures]], None]

COLUMNS = {"Mbit/s": 2, "RTT, ms": 1, "cwnd": 0, "lost, %": 2}
"""The columns of the table, with their decimals."""


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A case, with the figures of each of its runs on each engine."""

    case: Case
    runs: Mapping[Engine, Sequence[Figures]]

    def row(self) -> str:
        """Give the row of the table."""
        cells = [
            " / ".join(
                _spread([run[column] for run in runs], places) for runs in self.runs.values()
            )
            for column, places in COLUMNS.items()
        ]
        return f"| {' | '.join([self.case.name, *cells])} |"


def heading() -> str:
    """Give the first two lines of the table."""
    return f"| case | {' | '.join(COLUMNS)} |\n|{'---|' * (len(COLUMNS) + 1)}"


def compare(case: Case, seeds: int, engines: Sequence[Engine], jobs: int | None = None) -> Compared:
    """Run a case with that many seeds on each engine."""
    runs: dict[Engine, Sequence[Figures]] = {}
    for engine in engines:
        plan: list[Scenario] = [
            read_one({**case.scenario(), "seed": seed}) for seed in range(1, seeds + 1)
        ]
        runs[engine] = for_each(
            plan, lambda _, record: figures_of(record, case), jobs=jobs, engine=engine
        )
    return Compared(case=case, runs=runs)


def figures_of(record: Record, case: Case) -> Figures:
    """Give the figures of the first flow; its throughput is that of new data with their headers."""
    first = measure(record)["flows"][0]
    payload = payload_part(record.meta["scenario"]["flows"][0], record.meta["engine"])
    rate_mbps = case.measured_mbps or case.rate_mbps
    share, rtt_s, lost = first["link_share"], first["rtt_mean_s"], first["loss_rate"]
    return {
        "Mbit/s": None if share is None else share * rate_mbps / payload,
        "RTT, ms": None if rtt_s is None else 1000 * rtt_s,
        "cwnd": first["cwnd_mean"],
        "lost, %": None if lost is None else 100 * lost,
    }


def _spread(values: Sequence[float | None], places: int) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    mean = f"{fmean(known):.{places}f}"
    deviation = f"{stdev(known):.{places}f}" if len(known) > 1 else f"{0:.{places}f}"
    return mean if float(deviation) == 0 else f"{mean} ±{deviation}"
