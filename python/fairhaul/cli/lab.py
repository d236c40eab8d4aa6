"""The commands of `fairhaul lab`: emulated networks with real kernels."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import click

from fairhaul.cli import show, words
from fairhaul.cli.click_ext import Command, CommandGroup, flag, option
from fairhaul.cli.engines import engine_option, engines_option, kernel_option
from fairhaul.cli.options import json_option, read_all, set_option
from fairhaul.cli.study import Work, study

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fairhaul.scenario.engines import Engine


@click.group(cls=CommandGroup)
def lab() -> None:
    """Emulate a scenario's network with this machine's kernel.

    `fairhaul run FILE --engine lab` runs a whole scenario, with its traffic. Root is required only
    for eBPF ports; without root the lab runs in a user namespace, if this machine allows it.
    """


@lab.command(
    cls=Command,
    example="fairhaul lab shell first.toml --host near",
    context_settings={"ignore_unknown_options": True},
)
@click.argument("file", metavar="FILE", shell_complete=words.files)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- PROGRAM...]")
@option("--host FLOW", "Run the program at the sender of this flow.", required=True)
@option(
    "--receiver LINE",
    "Shell command to run at the receiver, e.g. 'iperf3 -s'; its output goes to stderr.",
    name="receivers",
    multiple=True,
)
@engine_option(("lab", "linux"))
@kernel_option
@set_option
def shell(
    engine: Engine,
    file: str,
    command: tuple[str, ...],
    host: str,
    receivers: tuple[str, ...],
    overrides: list[tuple[str, str]],
) -> None:
    """Run a program, or a shell, along the path of a flow.

    The program runs at the flow's sender. What it sends to $FAIRHAUL_PEER takes the flow's path,
    by default with the flow's controller. The scenario's own traffic does not run. With --engine
    linux, the program runs in simulated time.
    """
    from fairhaul.host.process import Refused
    from fairhaul.linux import run as linux
    from fairhaul.runs import lab

    scenarios = read_all([file], overrides)
    if len(scenarios) > 1:
        raise Refused(f"{file}: its [sweep] makes {len(scenarios)} scenarios; a shell requires one")
    program = command or (os.environ.get("SHELL", "/bin/sh"),)

    def on_event(line: Mapping[str, Any]) -> None:
        if "warning" in line:
            click.echo(f"warning: {line['warning']}", err=True)
        elif not command:
            click.echo(_greeting(line["open"]), err=True)

    # Keys reach a program in simulated time by its terminal alone; without one they end the run.
    is_reached = engine == "lab" or (os.isatty(0) and os.isatty(1))
    with _keyboard_for_another() if is_reached else nullcontext():
        opened = linux.shell if engine == "linux" else lab.shell
        done = opened(scenarios[0], host, program, receivers=receivers, on_event=on_event)
    click.echo(_passed(done), err=True)
    sys.exit(done["status"])


def _greeting(opened: Mapping[str, Any]) -> str:
    return (
        f"This is the sender of {opened['flow']}, {opened['address']}; its receiver is "
        f"$FAIRHAUL_PEER, {opened['peer']}.\nTo run a program at the receiver: "
        "nsenter -t 1 -n PROGRAM"
    )


def _passed(done: Mapping[str, Any]) -> str:
    """Say in a line how many packets passed, and what went wrong."""
    lag = done.get("lag_us")
    parts = [f"{done['packets']} packets arrived", f"{done['dropped']} were dropped on the path"]
    if lag is not None and lag["p99"] is not None:
        parts.append(f"lag {lag['p50']:.0f} us, at p99 {lag['p99']:.0f} us")
    if done["unseen"]:
        parts.append(
            f"{done['unseen']} were dropped by network devices, outside the emulated network"
        )
    if done["strays"]:
        parts.append(f"{done['strays']} had an unknown destination")
    if asked := done["requests"]:
        parts.append(
            f"a router of XCP answered {asked['answered']} requests; "
            f"{asked['without_request']} packets with data had no room for one"
        )
    return "fairhaul: " + "; ".join([*parts, *done["warnings"]])


@contextmanager
def _keyboard_for_another() -> Iterator[None]:
    """Leave keyboard signals to the program that runs meanwhile; then take the terminal back."""
    # A program does not inherit handlers, but it would inherit ignored signals.
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


@lab.command(cls=Command, example="fairhaul lab clean")
@flag("--kill", "Kill the processes that were left behind.")
@json_option
def clean(kill: bool, json_: bool) -> None:
    """Check for leftovers of the lab.

    Leftovers are processes, network namespaces, controllers, and programs of Linux in simulated
    time; without root, only your own. The exit status is 0 if nothing is left, and 1 if something
    is.
    """
    from fairhaul.runs import lab as engine

    result = engine.clean(kill=kill)
    if json_:
        show.as_json(result)
    else:
        for leftover in result["left"]:
            click.echo(f"{leftover['what']}\n    to remove it: {leftover['remedy']}")
        for process in result["at_work"]:
            click.echo(f"running: process {process}")
        if not result["left"]:
            click.echo("Nothing is left.")
    sys.exit(1 if result["left"] else 0)


@lab.command(cls=Command, example="fairhaul lab cells --out out/cells")
@engines_option("The simulator predicts first.", default="sim,lab")
@kernel_option
@option(
    "--cells NAME",
    "Run only this cell; may be repeated. By default all cells run.",
    name="names",
    multiple=True,
)
@option("--seeds N", "Run each cell N times with a kernel.", type=click.IntRange(min=1))
@flag(
    "--unusual",
    "Run the unusual cells instead: pauses, late packets, changes of the path, and others.",
)
@flag("--list", "List the cells, and run nothing.", name="list_")
@study("cells", "out/cells")
def cells(
    engines: tuple[Engine, ...],
    names: tuple[str, ...],
    seeds: int | None,
    unusual: bool,
    list_: bool,
    work: Work,
) -> None:
    """Compare the simulator with kernels, cell by cell.

    A cell is one or two flows over one bottleneck. Without --seeds, the lab runs each cell once,
    or 5 times if the documentation quotes it, and the other engines 5 times. All 34 cells take less
    than two hours in the lab; after an interruption, the same command continues where it stopped.

    With --unusual, the simulator is compared with Linux in simulated time, and each cell is judged:
    it agrees if goodput and share differ by at most 5 %, round trip and window by at most 10 %, or
    if the simulator's mean lies between the runs of the kernel. The lab runs every tenth of them.
    """
    from fairhaul.studies.cells import CELLS, UNUSUAL, compare, compare_unusual

    if list_:
        for name in UNUSUAL if unusual else CELLS:
            click.echo(name)
        return
    source = click.get_current_context().get_parameter_source("engines")
    if unusual and source is click.core.ParameterSource.DEFAULT:
        engines = ("sim", "linux")
    work = work.at("cells")
    with work.options() as options:
        compared = compare_unusual if unusual else compare
        done = compared(names, engines=engines, seeds=seeds, **options)
    work.tell(done)
