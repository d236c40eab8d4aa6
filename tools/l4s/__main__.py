"""Compare queues and L4S with what others have measured: `python -m tools.l4s --help`."""

from __future__ import annotations

import click

from fairhaul.cli.options import jobs_option
from fairhaul.cli.progress import progress
from fairhaul.jobs.values import Running
from fairhaul.linux.run import chosen, using
from fairhaul.scenario.engines import Engine
from tools.l4s import (
    CHANGES,
    ROOT,
    accurate,
    cells,
    changed,
    dual_queue,
    fallback,
    faults,
    ns3,
    plan,
)
from tools.l4s.kernel import CELLS, beside


@click.group()
def main() -> None:
    """Compare with the public L4S tests, a study with ns-3, or queues of the kernel."""


@main.command()
@click.option("--seeds", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--only", metavar="TEXT", help="Cells alone whose name has this text: '160'.")
@click.option("--change", "changes", type=click.Choice(CHANGES), multiple=True, help="Set-up.")
@click.option("--engine", type=click.Choice(["sim", "linux"]), default="sim", show_default=True)
def published(seeds: int, only: str | None, changes: tuple[str, ...], engine: Engine) -> None:
    """Print every cell of the public L4S tests: the published ratio of both flows, and ours.

    Changes of the set-up: the token bucket of HTB as the link, as in the tests; hosts that take up
    to 20 us for a packet; and, with the engine linux, the kernel's own queue.
    """
    runs = [run for run in plan() if only is None or only in run.what]
    if not runs:
        raise click.UsageError(f"no cell has {only!r} in its name")
    try:
        runs = [changed(run, changes) for run in runs]
    except ValueError as mistake:
        raise click.UsageError(str(mistake)) from None
    found = cells(runs, seeds=seeds, engine=engine)
    for cell in found:
        click.echo(cell.text())
    click.echo(f"{sum(cell.is_within for cell in found)} of {len(found)} within the spread")


@main.command("fallback")
def of_fallback() -> None:
    """Print what Prague's fall-back on classic queues changes in the public L4S tests.

    Of each cell: the published ratio of both flows, ours without and with the fall-back, and the
    mean score of the detector, up to 8 of an L4S queue and from 9 of a classic one.
    """
    for cell in fallback.effects(fallback.runs()):
        ratios = f"{cell.published:8.2f} {cell.without:8.2f} {cell.falling_back:8.2f}"
        click.echo(f"{cell.what:66} {ratios} {cell.score:6.1f}")


@main.command("faults")
@click.option("--seeds", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--only", type=click.Choice([*faults.FAULTS]), help="One test alone.")
def of_faults(seeds: int, only: str | None) -> None:
    """Print what rate steps, a wireless link and video do: the published figures, and ours."""
    for name in [only] if only else [*faults.FAULTS]:
        click.echo(name)
        for figure in faults.figures(name, seeds):
            click.echo(figure.text())


@main.command()
@click.option("--linux", "version", help="Version of a program of Linux, such as 7.2.")
@click.option("--only", type=click.Choice(["queues", "dualpi2", "accecn"]), help="One table alone.")
def kernel(version: str | None, only: str | None) -> None:
    """Print what flows get through our queues, and through those of the kernel in Linux.

    With a kernel of 6.18 or later, also of DualPI2 and of accurate feedback on marks.
    """
    with using(version):
        facts = chosen().facts
        tables = {
            "queues": (True, _queues),
            "dualpi2": ("dualpi2" in facts["qdiscs"], _dual_queue),
            "accecn": (bool(facts["accecn"]), _accurate),
        }
        click.echo(f"Linux {chosen().version}")
        for name, (is_there, show) in tables.items():
            if only in (None, name) and is_there:
                show()
            elif only == name:
                raise click.UsageError(f"Linux {chosen().version} has no {name}")


def _queues() -> None:
    """Print every cell; results are kept in out/l4s-kernel."""
    running = Running(out=ROOT / "out" / "l4s-kernel")
    for name, cell in CELLS.items():
        click.echo(f"{name}: {cell.qdisc}; {cell.seeds} seeds, simulator / Linux")
        for line in beside(name, running).text():
            click.echo(f"  {line}")


@main.command("ns3")
@click.option("--seeds", type=click.IntRange(min=1), default=30, show_default=True)
@jobs_option
def of_ns3(seeds: int, jobs: int | None) -> None:
    """Print what Prague and CUBIC have in the dual queue of a study with ns-3, and in ours.

    Results are kept in out/l4s, so that an interrupted command goes on where it ended.
    """
    with progress("ns3") as on_progress:
        running = Running(out=ROOT / "out" / "l4s", jobs=jobs, on_progress=on_progress)
        lines = list(ns3.report(seeds, running))
    click.echo("\n".join(lines))


def _dual_queue() -> None:
    for name in dual_queue.CELLS:
        cell = dual_queue.beside(name)
        click.echo(f"{name:26} {cell.simulated.text()}")
        click.echo(f"{'':26} {cell.linux.text()} (Linux){_beyond(cell.far())}")


def _accurate() -> None:
    for name in accurate.CELLS:
        ours, theirs = accurate.beside(name)
        click.echo(f"{name:15} {ours.text()}")
        click.echo(f"{'':15} {theirs.text()} (Linux){_beyond(accurate.far(ours, theirs))}")


def _beyond(names: list[str]) -> str:
    return f"  beyond: {', '.join(names)}" if names else ""


if __name__ == "__main__":
    main()
