"""Printed results: tables of figures for people, and JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from fairhaul import grain
from fairhaul.figure_rows import (
    FLOW_COLUMNS,
    LINK_COLUMNS,
    engine_rows,
    fairness_line,
    flow_tables,
    group_rows,
    link_rows,
    linux_sender_line,
)
from fairhaul.grid import Grid
from fairhaul.printable import printable, printable_json

if TYPE_CHECKING:
    from rich.console import Console

    from fairhaul.engines import Engine
    from fairhaul.results import RunFigures

# What is laid out of several engines: the key of the figures, and the columns.
OF_FLOWS, OF_LINKS = ("flows", FLOW_COLUMNS), ("links", LINK_COLUMNS)


def as_json(value: object) -> None:
    """Print one JSON object and nothing else."""
    text = json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False)
    click.echo(printable_json(text))


def console() -> Console:
    """Give the console of standard output, wide enough for a table if it is no terminal."""
    from rich.console import Console

    class Screen(Console):
        """A console whose texts cannot control the terminal."""

        def print(self, *objects: Any, **how: Any) -> None:
            """Print objects; control characters in texts are shown, not obeyed."""
            shown = [
                printable(object_) if isinstance(object_, str) else object_ for object_ in objects
            ]
            super().print(*shown, **how)

    screen = Screen(highlight=False, markup=False, emoji=False)
    return screen if screen.is_terminal else Screen(width=160, highlight=False, markup=False)


def table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1
) -> Grid:
    """Lay out a table whose first columns are words and the rest numbers."""
    return Grid(title=title, columns=columns, rows=rows, words=words)


def measures(runs: Sequence[RunFigures]) -> None:
    """Print the figures of one scenario: of its one run, or the means over several runs."""
    from fairhaul.answers import valid_runs
    from fairhaul.estimate import legend
    from fairhaul.scenario import titled

    first, everything = runs[0], runs
    figures, runs = _figures(runs), valid_runs(runs)
    screen = console()
    title = titled(first["title"], first.get("variant", {}))
    for part in flow_tables(f"{title} ({_which(runs)})", figures["flows"]):
        screen.print(part)
    if figures.get("groups"):
        screen.print(table("Groups", *group_rows(figures["groups"]), words=2))
    screen.print(table("Links", *link_rows(figures["links"])))
    screen.print(fairness_line(figures))
    of_linux = (f["controller"] for f in first["flows"] if f.get("profile") == "linux")
    if line := linux_sender_line(of_linux):
        screen.print(line)
    if len(runs) > 1:
        screen.print(legend(len(runs)))
    if trains := first.get("grain"):
        screen.print(grain.line(trains, len(first["flows"])))
    for warning in first.get("warnings", ()):
        screen.print(f"Warning: {warning}.")
    if "trust" in first:
        screen.print(_trust_line(everything))


def side_by_side(engines: Mapping[Engine, Sequence[RunFigures]]) -> None:
    """Print the figures of one scenario by several engines, the same flow below each other."""
    from fairhaul.answers import valid_runs
    from fairhaul.estimate import legend
    from fairhaul.scenario import titled

    figures = {engine: _figures(runs) for engine, runs in engines.items()}
    valid = {engine: valid_runs(runs) for engine, runs in engines.items()}
    first = next(iter(engines.values()))[0]
    title = titled(first["title"], first.get("variant", {}))
    which = "; ".join(f"{engine}: {_which(runs)}" for engine, runs in valid.items())
    screen = console()
    flows, links = (engine_rows(figures, *of) for of in (OF_FLOWS, OF_LINKS))
    screen.print(table(f"{title} ({which})", *flows, words=3))
    screen.print(table("Links", *links, words=2))
    for engine, of_engine in figures.items():
        screen.print(f"{engine}: {fairness_line(of_engine)}")
    if (most := max(map(len, valid.values()))) > 1:
        screen.print(legend(most))
    for warning in first.get("warnings", ()):
        screen.print(f"Warning: {warning}.")
    for runs in engines.values():
        if "trust" in runs[0]:
            screen.print(_trust_line(runs))


def _figures(runs: Sequence[RunFigures]) -> Mapping[str, Any]:
    """Give the figures of the one valid run, or the means over several."""
    from fairhaul.answers import valid_runs
    from fairhaul.summary import summary

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
    warnings = sorted({warning for trust in trusts for warning in trust["warnings"]})
    lines = [*(f"Invalid: {why}" for why in reasons), *(f"Warning: {w}" for w in warnings)]
    return "\n".join([line, *lines])
