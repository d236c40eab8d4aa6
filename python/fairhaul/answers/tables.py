"""The figures of the runs of a scenario as tables and sentences: for terminal and notebook."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairhaul.measures import grain
from fairhaul.results.figure_rows import (
    FLOW_COLUMNS,
    LINK_COLUMNS,
    engine_rows,
    fairness_line,
    flow_tables,
    group_rows,
    link_rows,
    linux_sender_line,
)
from fairhaul.results.summary import summary, valid_runs
from fairhaul.scenario.engines import FACTS
from fairhaul.scenario.read import titled
from fairhaul.statistics.estimate import legend
from fairhaul.text.table import Table

if TYPE_CHECKING:
    from fairhaul.measures.types import RunFigures
    from fairhaul.scenario.engines import Engine

Parts = Iterator[Table | str]

# What is laid out of several engines: the key of the figures, and the columns.
OF_FLOWS, OF_LINKS = ("flows", FLOW_COLUMNS), ("links", LINK_COLUMNS)


def of_runs(runs: Sequence[RunFigures]) -> Parts:
    """Lay out the figures of one scenario: of its one run, or the means over several runs.

    Raises:
        RunError: no run is valid.
    """
    first, valid, figures = runs[0], valid_runs(runs), _figures(runs)
    yield from flow_tables(f"{_title(first)} ({_which(valid)})", figures["flows"])
    if figures.get("groups"):
        columns, rows = group_rows(figures["groups"])
        yield Table(title="Groups", columns=columns, rows=rows, words=2)
    columns, rows = link_rows(figures["links"])
    yield Table(title="Links", columns=columns, rows=rows)
    yield fairness_line(figures)
    of_linux = (f["controller"] for f in first["flows"] if f.get("profile") == "linux")
    if not FACTS[first["engine"]].kernel and (line := linux_sender_line(of_linux)):
        yield line
    if len(valid) > 1:
        yield legend(len(valid))
    if trains := first.get("grain"):
        yield grain.line(trains, len(first["flows"]))
    yield from (f"Warning: {warning}." for warning in first.get("warnings", ()))
    if "trust" in first:
        yield _trust_line(runs)


def of_engines(engines: Mapping[Engine, Sequence[RunFigures]]) -> Parts:
    """Lay out the figures of one scenario by several engines, the same flow below each other.

    Raises:
        RunError: no run of an engine is valid.
    """
    figures = {engine: _figures(runs) for engine, runs in engines.items()}
    valid = {engine: valid_runs(runs) for engine, runs in engines.items()}
    first = next(iter(engines.values()))[0]
    which = "; ".join(f"{engine}: {_which(runs)}" for engine, runs in valid.items())
    columns, rows = engine_rows(figures, *OF_FLOWS)
    yield Table(title=f"{_title(first)} ({which})", columns=columns, rows=rows, words=3)
    columns, rows = engine_rows(figures, *OF_LINKS)
    yield Table(title="Links", columns=columns, rows=rows, words=2)
    for engine, of_engine in figures.items():
        yield f"{engine}: {fairness_line(of_engine)}"
    if (most := max(map(len, valid.values()))) > 1:
        yield legend(most)
    yield from (f"Warning: {warning}." for warning in first.get("warnings", ()))
    yield from (_trust_line(runs) for runs in engines.values() if "trust" in runs[0])


def _title(run: RunFigures) -> str:
    return titled(run["title"], run.get("variant", {}))


def _figures(runs: Sequence[RunFigures]) -> Mapping[str, Any]:
    """Give the figures of the one valid run, or the means over several."""
    valid = valid_runs(runs)
    return valid[0] if len(valid) == 1 else summary(valid)


def _which(runs: Sequence[RunFigures]) -> str:
    seeds = [run["seed"] for run in runs]
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"


def _trust_line(runs: Sequence[RunFigures]) -> str:
    """Say which kernel ran, which runs are valid and, in real time, how late packets were."""
    trusts = [run["trust"] for run in runs]
    if "lag" in trusts[0]:
        late = max(trust["lag"]["p99_s"] for trust in trusts if trust["valid"])
        load = max(trust["router_load"] for trust in trusts if trust["valid"])
        counted = sum(trust["valid"] for trust in trusts)
        line = (
            f"Linux {runs[0]['kernel']}, packet mode {trusts[0]['mode']}; 99 % of the packets were "
            f"at most {1000 * late:.2f} ms late, and the router was busy for {load:.0%} of the "
            f"time. {counted} of {len(runs)} runs are valid."
        )
    else:
        line = (
            f"Linux {runs[0]['kernel']} in simulated time, program {runs[0]['program']}, "
            f"{runs[0]['memory_mb']} MB of memory."
        )
    reasons = sorted({reason for trust in trusts for reason in trust["reasons"]})
    warnings = sorted({warning for trust in trusts for warning in trust.get("warnings", ())})
    lines = [*(f"Invalid: {why}" for why in reasons), *(f"Warning: {w}" for w in warnings)]
    return "\n".join([line, *lines])
