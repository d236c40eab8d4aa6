"""The verbs of `fairhaul lab`: emulated networks with real kernels."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fairhaul.cli import show
from fairhaul.cli.click_ext import Count, Verb, Verbs
from fairhaul.cli.progress import progress
from fairhaul.cli.run import jobs_option, json_option, read_all, set_option

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fairhaul.cells import Compared


@click.group(cls=Verbs)
def lab() -> None:
    """Use the scenario's network with this machine's kernel.

    A scenario as a whole runs on real kernels by `fairhaul run FILE --on lab`.
    """


@lab.command(
    cls=Verb,
    example="fairhaul lab shell first.toml --host near",
    context_settings={"ignore_unknown_options": True},
)
@click.argument("file", metavar="FILE")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- PROGRAM...]")
@click.option("--host", required=True, metavar="FLOW", help="The flow in whose sender it runs.")
@click.option(
    "--receiver",
    "receivers",
    multiple=True,
    metavar="LINE",
    help="Runs at the receiver meanwhile, as 'iperf3 -s'; what it prints goes to standard error.",
)
@set_option
def shell(
    file: str,
    command: tuple[str, ...],
    host: str,
    receivers: tuple[str, ...],
    overrides: list[tuple[str, str]],
) -> None:
    """Run a program, or a shell, over the way of a flow.

    It runs in the flow's sending host; what it sends to $FAIRHAUL_PEER takes the way of the flow's
    data, with the flow's controller by default. The scenario's own traffic does not run.
    """
    from fairhaul import lab as engine
    from fairhaul.host import Refused

    scenarios = read_all([file], overrides)
    if len(scenarios) > 1:
        raise Refused(f"{file}: its [sweep] has {len(scenarios)} variants; a shell wants one")
    program = command or (os.environ.get("SHELL", "/bin/sh"),)

    def on_event(line: Mapping[str, Any]) -> None:
        if "warning" in line:
            click.echo(f"warning: {line['warning']}", err=True)
        elif not command:
            click.echo(_greeting(line["open"]), err=True)

    with _keyboard_for_another():
        done = engine.shell(scenarios[0], host, program, receivers=receivers, on_event=on_event)
    click.echo(_passed(done), err=True)
    sys.exit(done["status"])


def _greeting(opened: Mapping[str, Any]) -> str:
    return (
        f"The sender of {opened['flow']}, {opened['address']}; its receiver is $FAIRHAUL_PEER, "
        f"{opened['peer']}.\nThere: nsenter -t 1 -n PROGRAM"
    )


def _passed(done: Mapping[str, Any]) -> str:
    """Say in a line what passed, and what was not as it should be."""
    lag = done["lag_us"]
    parts = [f"{done['packets']} packets arrived", f"{done['dropped']} were dropped on the way"]
    if lag["p99"] is not None:
        parts.append(f"lag {lag['p50']:.0f} us, at p99 {lag['p99']:.0f} us")
    if done["unseen"]:
        parts.append(f"{done['unseen']} dropped by devices, outside the network")
    if done["strays"]:
        parts.append(f"{done['strays']} to where there is nobody")
    return "fairhaul: " + "; ".join([*parts, *done["warnings"]])


@contextmanager
def _keyboard_for_another() -> Iterator[None]:
    """Leave what the keyboard says to the program that runs meanwhile; take the terminal back."""
    # A program starts without the handlers; signals that are ignored would stay so.
    keys = (signal.SIGINT, signal.SIGQUIT)
    before = {key: signal.signal(key, lambda *_: None) for key in keys}
    try:
        yield
    finally:
        for key, handler in before.items():
            signal.signal(key, handler)
        if sys.stdin is not None and sys.stdin.isatty():
            background = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            os.tcsetpgrp(0, os.getpgrp())
            signal.signal(signal.SIGTTOU, background)


@lab.command(cls=Verb, example="fairhaul lab clean")
@click.option("--kill", is_flag=True, help="End processes that were left.")
@json_option
def clean(kill: bool, json_: bool) -> None:
    """Look for what a lab has left, of which there should be nothing.

    Exit status: 0 where nothing is left, 1 where something is.
    """
    from fairhaul import lab as engine

    found = engine.clean(kill=kill)
    if json_:
        show.as_json(found)
    else:
        for one in found["left"]:
            click.echo(f"{one['what']}\n    to be rid of it: {one['remedy']}")
        for process in found["at_work"]:
            click.echo(f"at work: process {process}")
        if not found["left"]:
            click.echo("Nothing is left.")
    sys.exit(1 if found["left"] else 0)


@lab.command(cls=Verb, example="fairhaul lab cells --out out/cells")
@click.option("--cells", "names", multiple=True, metavar="NAME", help="Of these; by default all.")
@click.option("--repeats", type=Count(), metavar="N", help="Runs of the kernel for each cell.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("out/cells"),
    show_default=True,
    help="What is there is not run again, unless another build simulated it.",
)
@click.option("--list", "list_", is_flag=True, help="Print the cells, and run nothing.")
@jobs_option
@json_option
def cells(
    names: tuple[str, ...],
    repeats: int | None,
    out: Path,
    list_: bool,
    jobs: int | None,
    json_: bool,
) -> None:
    """Hold the simulator against the kernel, cell by cell.

    The kernel runs the cells that the documentation quotes 5 times and the others once, unless
    --repeats says otherwise. All 24 take less than 90 minutes; what was interrupted goes on.
    """
    from fairhaul.cells import CELLS, compare

    if list_:
        for name in CELLS:
            click.echo(name)
        return
    with progress() as on_progress:
        done = compare(
            names,
            repeats=repeats,
            out=out,
            jobs=jobs,
            on_progress=on_progress,
            on_event=lambda line: click.echo(line, err=True),
        )
    if json_:
        show.as_json({"cells": [one.to_dict() for one in done]})
        return
    show_cells(done)


FIGURES = (
    ("link_share", "link used %", 100.0, 1),
    ("first_share", "first flow %", 100.0, 1),
    ("rtt_ms", "RTT ms", 1.0, 1),
    ("cwnd", "cwnd", 1.0, 0),
    ("cycle_s", "cycle s", 1.0, 2),
    ("loss_rate", "loss 1e-4", 1e4, 2),
)


def show_cells(done: Sequence[Compared]) -> None:
    """Print both engines' figures, a row for each cell: simulator / kernel."""
    from fairhaul.cells.work import mean

    def cell(one: Compared, figure: str, scale: float, digits: int) -> str:
        found = [mean(engine, figure) for engine in (one.sim, one.lab)]
        return " / ".join("-" if v is None else f"{scale * v:.{digits}f}" for v in found)

    rows = [
        [
            one.cell.name,
            *(cell(one, figure, scale, digits) for figure, _, scale, digits in FIGURES),
            "-" if one.lab is None else f"{mean(one.lab, 'lag_p99_us') or 0.0:.0f}",
            "-" if one.lab is None else str(len(one.lab["rtt_ms"])),
        ]
        for one in done
    ]
    header = ["cell", *(heading for _, heading, _, _ in FIGURES), "lag p99 us", "runs"]
    screen = show.console()
    screen.print(show.table("Simulator / kernel", header, rows))
    if any(one.lab is None for one in done):
        screen.print("Cells whose cycle is longer than 20 s are the simulator's alone.")
    screen.print("Means over runs; goodput is of what full packets can carry with their headers.")
