"""`python -m tools.orders`: run the published orders, and print their tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from fairhaul.cli.options import jobs_option
from fairhaul.cli.progress import progress
from fairhaul.jobs.values import Running
from tools import ROOT
from tools.orders.runs import runs_of
from tools.orders.tables import of_law, of_shaping, of_streams

OUT = ROOT / "out" / "orders"
# What shapes the transfers, with the keys that differ from the scenario.
OPEN = {"link.?.shaper.rate": "10 Gbit/s"}
WAYS: dict[str, dict[str, Any]] = {
    "nothing": OPEN,
    "the router of each site": {"link.?.shaper.rate": "237 Mbit/s"},
    "one router for all": OPEN | {"link.all.shaper.rate": "950 Mbit/s"},
    "the hosts": OPEN | {"flow.from-*.max_pacing_rate": "118 Mbit/s"},
}
SEEDS = {"shaping": 8, "small-buffer": 5, "streams": 2}


@click.command()
@click.argument("name", type=click.Choice([*SEEDS]))
@click.option("--seeds", type=click.IntRange(min=1), help="By default 8, 5 or 2.")
@click.option("--reno", is_flag=True, help="small-buffer: a packet in a round trip, as Reno.")
@jobs_option
def main(name: str, seeds: int | None, reno: bool, jobs: int | None) -> None:
    """Run an order, and print its table in Markdown.

    Results are kept in out/orders, so that an interrupted command goes on where it ended.
    """
    with progress("orders") as on_progress:
        running = Running(out=OUT, jobs=jobs, on_progress=on_progress)
        lines = list(_table(name, seeds or SEEDS[name], running, reno=reno))
    click.echo("\n".join(lines))


def _table(name: str, seeds: int, running: Running, *, reno: bool) -> Iterator[str]:
    if name == "shaping":
        runs = {way: runs_of(name, seeds, running, keys) for way, keys in WAYS.items()}
        return of_shaping(runs)
    if name == "streams":
        return of_streams(runs_of(name, seeds, running))
    return of_law(runs_of(name, seeds, running, {"flow.stream.controller.a": 1} if reno else {}))


if __name__ == "__main__":
    main()
