"""`run --watch`: the shares of the flows while a run goes on.

The run is a `Simulation` that pauses; the pauses do not change its record. A terminal shows the
flows' shares as bars that move; elsewhere a line is printed for every twentieth of the run.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from fairhaul.scenario.engines import FACTS
from fairhaul.text.durations import rough_duration_text
from fairhaul.text.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.table import Table

    from fairhaul.record.record import Record
    from fairhaul.runs.simulation import Simulation
    from fairhaul.scenario.engines import Engine
    from fairhaul.scenario.read import Scenario

# A run is paused after each of so many parts, and after shorter ones if a part takes too long.
PARTS = 200
MOST_PARTS = 200_000
SLOW_S = 0.5
# Without a terminal, so many lines are printed.
LINES = 20
MOST_FLOWS = 12
BAR = 30


@dataclass(frozen=True, kw_only=True)
class Sight:
    """What is measured at a pause: the time, and the share of each flow since the last pause.

    A share is the part of the packets that were acknowledged in that time.
    """

    now_s: float
    end_s: float
    left_s: float
    shares: Mapping[str, float]
    windows: Mapping[str, float]

    def shown(self) -> list[str]:
        """Name the flows that are shown: all, or those with the largest shares."""
        names = list(self.shares)
        if len(names) <= MOST_FLOWS:
            return names
        kept = sorted(names, key=lambda name: -self.shares[name])[:MOST_FLOWS]
        return [name for name in names if name in kept]


def watched(scenario: Scenario) -> Record:
    """Run `scenario`, show the shares of its flows on standard error, and give its record."""
    from fairhaul.runs.simulation import Simulation
    from fairhaul.scenario.memory import per_run

    per_run([scenario], 1)  # refuses what needs more memory than there is
    simulation = Simulation(scenario)
    with _shown() as show:
        for sight in sights(simulation):
            show(sight)
    return simulation.finish()


def sights(simulation: Simulation) -> Iterator[Sight]:
    """Run to the end, and give what is measured at each pause."""
    begun_s, end_s = time.monotonic(), simulation.duration_s
    before = dict.fromkeys(simulation.flows, 0)
    step_s = end_s / PARTS
    while simulation.now_s < end_s:
        looked_s = time.monotonic()
        simulation.run_until(min(end_s, simulation.now_s + step_s))
        if time.monotonic() - looked_s > SLOW_S:
            step_s = max(step_s / 2, end_s / MOST_PARTS)
        states = {name: flow.state for name, flow in simulation.flows.items()}
        # A transfer that has ended takes its packets with it.
        new = {name: max(0, of.acknowledged - before[name]) for name, of in states.items()}
        before = {name: of.acknowledged for name, of in states.items()}
        total = sum(new.values()) or 1
        spent_s = time.monotonic() - begun_s
        yield Sight(
            now_s=simulation.now_s,
            end_s=end_s,
            left_s=spent_s * (end_s - simulation.now_s) / simulation.now_s,
            shares={name: count / total for name, count in new.items()},
            windows={name: of.cwnd for name, of in states.items()},
        )


@contextmanager
def _shown() -> Iterator[Callable[[Sight], None]]:
    """Give the function that shows a pause; on a terminal, the picture is removed at last."""
    if not sys.stderr.isatty():
        yield _lines()
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), transient=True, auto_refresh=False) as live:
        yield lambda sight: live.update(picture(sight), refresh=True)


def _lines() -> Callable[[Sight], None]:
    printed = 0

    def show(sight: Sight) -> None:
        nonlocal printed
        reached = int(LINES * sight.now_s / sight.end_s + 1e-9)
        if reached > printed:
            printed = reached
            shares = ", ".join(f"{name} {100 * sight.shares[name]:.0f} %" for name in sight.shown())
            click.echo(printable(f"fairhaul: {sight.now_s:.4g} s: {shares}"), err=True)

    return show


def picture(sight: Sight) -> Table:
    """Draw a row for each flow: its share as a bar and a number, and its window."""
    from rich import box
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    shown = sight.shown()
    rest = [name for name in sight.shares if name not in shown]
    left = f", about {rough_duration_text(sight.left_s)} left" if sight.left_s >= 1 else ""
    table = Table(
        title=Text(f"{sight.now_s:.4g} of {sight.end_s:.4g} s{left}"),
        **{"title_justify": "left", "box": box.SIMPLE_HEAD, "show_edge": False},  # type: ignore[arg-type]
    )
    for heading in ("flow", "share of the packets acknowledged", "%", "cwnd"):
        table.add_column(heading, justify="right" if heading in ("%", "cwnd") else "left")
    for name in shown:
        share = sight.shares[name]
        bar = ProgressBar(total=1.0, completed=share, width=BAR)
        table.add_row(
            Text(printable(name)), bar, f"{100 * share:.0f}", f"{sight.windows[name]:.0f}"
        )
    if rest:
        share = sum(sight.shares[name] for name in rest)
        bar = ProgressBar(total=1.0, completed=share, width=BAR)
        table.add_row(f"{len(rest)} others", bar, f"{100 * share:.0f}", "")
    return table


def check(plan: Sequence[Scenario], engines: Sequence[Engine], traced: bool) -> None:
    """Refuse what cannot be watched.

    Raises:
        click.BadParameter: there are several runs, or one with a kernel, or one with a trace.
    """
    hint = "--watch"
    if any(FACTS[engine].kernel for engine in engines):
        raise click.BadParameter("only runs of the simulator can be watched", param_hint=hint)
    if traced:
        raise click.BadParameter("a run with --trace cannot be watched", param_hint=hint)
    if len(plan) > 1:
        raise click.BadParameter(
            f"one run can be watched, and {len(plan)} are planned; choose one with --set, and "
            "leave out --seeds",
            param_hint=hint,
        )
