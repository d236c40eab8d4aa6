"""`python -m tools.bench`: measure, as `make bench`, `bench-peers` and `instructions` do."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import click

from tools.bench import Row, sheet

OUT = Path("out")

T = TypeVar("T")


class Parts(click.ParamType[list[str]]):
    """Some parts of the bench, separated by commas."""

    name = "parts"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[str]:
        """Split the parts, and refuse unknown ones."""
        from tools.bench.parts import PARTS

        names = [name for name in value.replace(",", " ").split() if name]
        for name in names:
            if name not in PARTS:
                self.fail(
                    f"{name!r} is not a part of the bench; the parts are {', '.join(PARTS)}",
                    param,
                    ctx,
                )
        return names or list(PARTS)


@click.group()
def main() -> None:
    """Measure how fast the engine is."""


@main.command()
@click.option(
    "--only", type=Parts(), default="", help="Parts to run, separated by commas; by default all."
)
def run(only: list[str]) -> None:
    """Run the bench: workloads, scaling, memory, queues, ledger, the report, the kernel, Linux."""
    from tools.bench import cost
    from tools.bench.parts import COUNTING

    counting = [part for part in only if part in COUNTING and cost.valgrind() is None]
    if counting:
        _skipped(", ".join(counting), cost.MISSING)
    chosen = [part for part in only if part not in counting]
    if not chosen or not _print(_rows(chosen), OUT / "bench.json"):
        raise SystemExit(2)


def _rows(chosen: Iterable[str]) -> Iterator[Row]:
    """Run these parts; report each part that this machine does not support, and continue."""
    from fairhaul.host.process import Refused
    from tools.bench.parts import PARTS

    for part in chosen:
        try:
            yield from PARTS[part]()
        except Refused as why:
            _skipped(part, str(why))


def _skipped(parts: str, why: str) -> None:
    click.echo(f"bench: skipped {parts}: {why}", err=True)


@main.command()
@click.option(
    "--htsim", default="", metavar="DIR", help="A checkout of htsim; without it htsim is not run."
)
def peers(htsim: str) -> None:
    """Run the workloads in ns-2, ns-3 and htsim, too."""
    from tools.bench.peers import HTSIM_SOURCE, NOTE, PACKAGES, compare, is_htsim, missing

    checkout = Path(htsim) if htsim else None
    if checkout is not None and not is_htsim(checkout):
        click.echo(f"bench: HTSIM={htsim} is not a checkout of {HTSIM_SOURCE}", err=True)
        raise SystemExit(2)
    if lacking := missing():
        click.echo(f"bench: missing here: {', '.join(lacking)} ({PACKAGES})", err=True)
        raise SystemExit(2)
    _print(compare(checkout), OUT / "bench-peers.json")
    click.echo(NOTE)


@main.command()
def instructions() -> None:
    """Record the instructions per packet of small workloads, for the test that compares them."""
    from tools.bench.counts import record

    click.echo(_or_fail(record), nl=False)


def _print(printed: Iterable[Row], file: Path) -> bool:
    """Print every row at once, and write all rows at the end; return whether there are any."""
    begun = time.monotonic()
    rows: list[Row] = []
    click.echo(sheet.head())

    def follow() -> None:
        for row in printed:
            if rows and (row.part, row.load) != (rows[-1].part, rows[-1].load):
                click.echo()
            rows.append(row)
            click.echo(sheet.line(row))
        if rows:
            sheet.write(rows, file)

    _or_fail(follow)
    if not rows:
        return False
    judged = [row.reached for row in rows if row.reached is not None]
    summary = f"{sum(judged)} of {len(judged)} targets reached; " if judged else ""
    click.echo(f"\n{summary}{file}, {time.monotonic() - begun:.0f} s")
    return True


def _or_fail(do: Callable[[], T]) -> T:
    """Call `do`; report missing programs and failures without a traceback."""
    try:
        return do()
    except RuntimeError as error:
        raise click.ClickException(str(error)) from None


main(prog_name="python -m tools.bench")
