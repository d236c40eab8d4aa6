"""The command `flows`: the TCP connections of this host that send, once or again and again."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fairhaul.cli import show
from fairhaul.cli.click_ext import Command, flag, option

if TYPE_CHECKING:
    from rich.console import Group

    from fairhaul.host.export.address import Update
    from fairhaul.host.export.destination import Destination
    from fairhaul.host.process import Line
    from fairhaul.host.recording import Recording
    from fairhaul.host.results import KernelFlow, Look


class _Over(Exception):
    """The time or the room for looks is used up."""


# How many flows a terminal shows; --top and --json show more.
MOST_SHOWN = 20


def _destination(_context: click.Context, _option: click.Parameter, text: str | None) -> Any:
    from fairhaul.host.export import destination

    return None if text is None else destination(text)


export_option = option(
    "--export WHERE",
    "Export metrics for Prometheus: at a port of this host (9797), at an address and a port, "
    "or into a file that ends in .prom, for node_exporter.",
    callback=_destination,
)
top_option = option(
    "--top N",
    "Flows that are shown (20) and that have metrics of their own (50): the fastest N. Others "
    "are summed.",
    type=click.IntRange(min=0),
)
trace_option = click.option(
    "--trace/--no-trace",
    default=True,
    show_default=True,
    help="As root, use the kernel's tracepoints for what happens between two looks; costs about "
    "0.2 us for each packet that arrives at a sender.",
)


@click.command(cls=Command, example="fairhaul flows --watch")
@flag("--watch", "Look again and again, until Ctrl-C.")
@option("--interval", "Time between two looks, in seconds.", default=1.0)
@option("--controller NAME", "Only flows with this controller.", multiple=True)
@option(
    "--port N",
    "Only flows with this port at either end.",
    multiple=True,
    type=click.IntRange(1, 65535),
)
@option("--namespace NAME", "Only flows in this network namespace.", multiple=True)
@top_option
@trace_option
@export_option
@option(
    "--record DIR",
    "Write every look into Parquet files in this new directory, which polars, pandas and `fairhaul "
    "explain` read. Ends after 24 h, or with 256 MB.",
    type=click.Path(path_type=Path),
)
@option("--duration TIME", "Stop looking after this time, e.g. 10min.")
@flag("--json", "Print one JSON object, or with --watch a line per look.", name="json_")
def flows(
    watch: bool,
    top: int | None,
    export: Destination | None,
    json_: bool,
    *,
    record: Path | None,
    duration: str | None,
    **looking: Any,
) -> None:
    """Show the TCP flows of this host that send: throughput, window, round-trip time, loss.

    The throughput counts the bytes that the receiver acknowledged between two looks. As root, the
    flows of all network namespaces are shown, and below a window and a round-trip time its bounds
    between the two looks.
    """
    from fairhaul.host import flows as api

    interval = looking["interval"]
    chosen = {f"{name}s": looking[name] for name in ("controller", "port", "namespace")}
    chosen |= {"interval_s": interval, "trace": looking["trace"], "on_event": warned}
    most_s = _most_s(duration, record)
    if not watch and export is None and record is None:
        if duration is not None:
            raise click.UsageError("--duration requires --watch, --record or --export")
        look = api.look(**chosen)
        if json_:
            show.as_json(look)
        else:
            _print(look, top)
        return
    with ExitStack() as stack:
        recording = stack.enter_context(_recorded(record))
        update = stack.enter_context(exporting(export, top))
        screen = _screen(top) if watch and not json_ else nullcontext(_line if watch else None)
        shown = stack.enter_context(screen)
        begun_s = time.monotonic()

        def on_look(look: Look) -> None:
            update({"flows": look})
            if recording is not None:
                recording.add(look)
            if shown is not None:
                shown(look)
            is_full = recording is not None and recording.is_full
            if is_full or time.monotonic() - begun_s + interval > most_s:
                raise _Over

        with suppress(_Over):
            api.follow(on_look, **chosen)


def _most_s(duration: str | None, record: Path | None) -> float:
    """Give the time after which looking ends, in seconds."""
    from fairhaul.host.recording import MOST_S
    from fairhaul.scenario.quantities import time_s

    if duration is None:
        return MOST_S if record is not None else float("inf")
    return time_s("--duration", duration)


@contextmanager
def _recorded(directory: Path | None) -> Iterator[Recording | None]:
    """Record while the context lasts, and then say how much; without a directory nothing."""
    from fairhaul.host.recording import new_recording
    from fairhaul.text.phrases import count_of, quantity

    if directory is None:
        yield None
        return
    recording = new_recording(directory)
    click.echo(
        f"Recording into {directory}; of the owner of a socket the number of the user is recorded, "
        "and no process.",
        err=True,
    )
    try:
        yield recording
    finally:
        size = quantity(recording.size_bytes, "B")
        full = "; the recording is full" * recording.is_full
        looks = count_of(recording.looks, "look")
        click.echo(f"Recorded {looks} in {directory}, {size}{full}.", err=True)


def warned(line: Line) -> None:
    """Print a warning of `fairhaul-host`."""
    if "warning" in line:
        click.echo(f"fairhaul: {line['warning']}", err=True)


@contextmanager
def exporting(where: Destination | None, top: int | None) -> Iterator[Update]:
    """Export while the context lasts, and say where; without a place nothing is done."""
    from fairhaul.host.export import HttpAddress, opened
    from fairhaul.host.export.state import MOST_FLOWS

    if where is None:
        yield lambda _: None
        return
    with opened(where, MOST_FLOWS if top is None else top) as update:
        if isinstance(where, HttpAddress):
            click.echo(f"Metrics: {where.url}", err=True)
            if not where.is_loopback:
                click.echo(
                    f"fairhaul: warning: everyone who reaches {where.host} can read the addresses "
                    "of all flows; the connection is not encrypted",
                    err=True,
                )
        else:
            click.echo(f"Metrics: {where.path}, at each look", err=True)
        yield update


def _line(look: Look) -> None:
    import json

    click.echo(json.dumps(look, allow_nan=False))


def _shown(look: Look, top: int | None) -> tuple[list[KernelFlow], str]:
    """Give the flows that are shown, and what is said of the others."""
    from fairhaul.host.export.state import fastest

    every = fastest(look)
    flows = every[: MOST_SHOWN if top is None else top]
    rest = every[len(flows) :]
    if not rest:
        return flows, "" if flows else "No flow of this host has sent data."
    rate = sum(flow["rate_bps"] or 0.0 for flow in rest) / 1e6
    return flows, f"{len(rest)} more flows, together {rate:.1f} Mbit/s; --top N shows more."


def _print(look: Look, top: int | None) -> None:
    from fairhaul.cli.flow_table import flow_table

    screen = show.console()
    flows, rest = _shown(look, top)
    if flows:
        screen.print(flow_table("Flows", flows))
    if rest:
        screen.print(rest)


@contextmanager
def _screen(top: int | None) -> Iterator[Callable[[Look], None]]:
    """Give the function that shows a look: on a terminal instead of the one before."""
    if not sys.stdout.isatty():

        def append(look: Look) -> None:
            click.echo(_clock(look))
            _print(look, top)

        yield append
        return
    from rich.live import Live

    with Live(console=show.console(), auto_refresh=False, vertical_overflow="crop") as live:
        yield lambda look: live.update(_picture(look, top), refresh=True)


def _picture(look: Look, top: int | None) -> Group:
    from rich.console import Group

    from fairhaul.cli.flow_table import flow_table

    flows, rest = _shown(look, top)
    title = f"Flows at {_clock(look)}"
    return Group(flow_table(title, flows), rest) if flows else Group(title, rest)


def _clock(look: Look) -> str:
    return time.strftime("%H:%M:%S", time.localtime(look["unix_s"]))
