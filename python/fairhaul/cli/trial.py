"""The command `kernel trial`: which controller is better for the connections of this host."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fairhaul.cli.click_ext import Command, flag, option
from fairhaul.cli.study import Work, say, study

if TYPE_CHECKING:
    from fairhaul.studies.trial.results import State


@click.command(cls=Command, example="fairhaul kernel trial cubic bbr --peer 192.0.2.0/24")
@click.argument("controllers", nargs=-1, required=True, metavar="CONTROLLER...")
@option("--cgroup PATH", "Only connections of this cgroup, e.g. system.slice/xrootd.service.")
@option("--peer PREFIX", "Only connections to this address or prefix.", multiple=True)
@option("--route PREFIX", "Only connections over the route with this prefix.", multiple=True)
@option(
    "--port N",
    "Only connections with this port at either end.",
    multiple=True,
    type=click.IntRange(1, 65535),
)
@option(
    "--by",
    "transfer: draw for each transfer, so that the controllers run beside each other. time: draw "
    "for blocks of time, in which all connections have one controller.",
    type=click.Choice(["transfer", "time"]),
    default="transfer",
)
@option("--block TIME", "Length of a block of --by time.", default="10min")
@option("--least SIZE", "Connections with less acknowledged data are not counted.", default="100kB")
@option("--transfers N", "End after this number of transfers.", type=click.IntRange(min=1))
@option("--duration TIME", "End after this time, e.g. 8h.")
@option(
    "--recording DIR",
    "Say at the start how many transfers a difference of 5 % needs, from what `fairhaul flows "
    "--record` wrote.",
    type=click.Path(path_type=Path, exists=True),
)
@flag("--dry-run", "Print every change that would be made, but make none.")
@study("trial")
def trial(
    controllers: tuple[str, ...],
    *,
    by: str,
    block: str,
    least: str,
    duration: str | None,
    recording: Path | None,
    work: Work,
    **chosen: Any,
) -> None:
    """Give new connections one of several controllers by lot, and compare the results.

    CONTROLLER is the name of a controller in the kernel, such as cubic or fh_fhstcp; the others are
    compared with the first. The trial ends when the difference is decided, or one controller does
    harm; Ctrl-C ends it with the result so far. Requires root. Nothing is left on the host.
    """
    from fairhaul.scenario.quantities import size_bytes, time_s
    from fairhaul.studies import trial as api
    from fairhaul.studies.trial.judge import transfers_needed

    filters = {f"{name}s": chosen.pop(name) for name in ("peer", "route", "port")}
    scope = api.Scope(cgroup=chosen.pop("cgroup"), **filters)
    block_s = time_s("--block", block) if by == "time" else None
    least_bytes = size_bytes("--least", least)
    deviation = None
    if recording is not None:
        deviation = api.recorded_deviation(recording, least_bytes)
        say(_needed(transfers_needed(deviation), deviation))
    done = api.trial(
        controllers,
        scope,
        block_s=block_s,
        least_bytes=least_bytes,
        deviation=deviation,
        duration_s=None if duration is None else time_s("--duration", duration),
        on_event=_event,
        on_state=_Progress(),
        **chosen,
    )
    if not chosen["dry_run"]:
        work.tell(done)


def _event(line: Mapping[str, Any]) -> None:
    if "warning" in line:
        say(line["warning"])
    elif "step" in line:
        say(line["step"] if line["done"] else f"would {line['step']}")


def _needed(count: int, deviation: float) -> str:
    return (
        f"a difference of 5 % needs about {count} transfers of each controller (standard deviation "
        f"of the log of goodput: {deviation:.2f})"
    )


class _Progress:
    """Prints a line after twice as many pairs as before, and how many are needed once."""

    def __init__(self) -> None:
        self._next, self._needed = 10, False

    def __call__(self, state: State) -> None:
        pairs = min(of.pairs for of in state.comparisons)
        if not self._needed and state.needed is not None:
            self._needed = True
            what = "transfers" if state.design == "transfer" else "blocks"
            say(f"a difference of 5 % needs about {state.needed} {what} of each controller")
        if pairs >= self._next:
            self._next = 2 * pairs
            arms = zip(state.controllers, state.arms, strict=True)
            say("transfers: " + ", ".join(f"{name} {arm.transfers}" for name, arm in arms))
