"""A trial on the running host: new connections get a controller by lot, and are compared.

>>> from fairhaul.studies.trial import Scope, trial
>>> print(trial(["cubic", "bbr"], Scope(peers=["192.0.2.0/24"])).outcome().answer)
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairhaul.host.process import Line, OnEvent, Refused, ask, ignored
from fairhaul.host.recording import files_of, read_columns
from fairhaul.report.outcome import Outcome, StudyResult
from fairhaul.studies.trial.judge import Spread, measured
from fairhaul.studies.trial.results import State
from fairhaul.studies.trial.words import outcome_of

# Smaller transfers end in slow start, which is much the same with all controllers.
LEAST_BYTES = 100_000
# Blocks that are drawn: with blocks of ten minutes enough for a month.
MOST_BLOCKS = 5000


@dataclass(frozen=True, kw_only=True)
class Scope:
    """Which connections take part: by default all of this host.

    `cgroup` is that of their processes, `peers` are addresses or prefixes, `routes` prefixes of
    routes of the main table, and `ports` those at either end.
    """

    cgroup: str | None = None
    peers: Sequence[str] = ()
    routes: Sequence[str] = ()
    ports: Sequence[int] = ()

    def values(self) -> dict[str, Any]:
        """Give the fields of the request."""
        lists = {key: list(getattr(self, key)) for key in ("peers", "routes", "ports")}
        return {"cgroup": self.cgroup, **lists}


EVERYTHING = Scope()


class _Over(Exception):
    """The trial is to end."""


@dataclass(frozen=True, kw_only=True)
class _Course:
    """Follows a trial, and ends it."""

    state: State
    transfers: int | None
    duration_s: float | None
    on_event: OnEvent
    on_state: Callable[[State], None]
    begun_s: float = field(default_factory=time.monotonic)

    def event(self, line: Line) -> None:
        """Take a line of `fairhaul-host`."""
        if "transfer" in line:
            self.state.add(line["transfer"])
            counted = sum(arm.transfers for arm in self.state.arms)
            if self.state.is_decided:
                self._end("the difference is decided")
            if self.transfers is not None and counted >= self.transfers:
                self._end(f"{self.transfers} transfers were counted")
        elif "state" in line:
            self.state.counts = line["state"]
            self.on_state(self.state)
            if self.duration_s is not None and time.monotonic() - self.begun_s >= self.duration_s:
                self._end("its time was over")
        else:
            self.on_event(line)

    def _end(self, why: str) -> None:
        self.state.ended = why
        raise _Over


class Trial(StudyResult):
    """What a trial has found."""

    def __init__(self, state: State) -> None:
        """Keep the state."""
        self.state = state

    def outcome(self) -> Outcome:
        """Put the result into words and tables."""
        return outcome_of(self.state)


def trial(  # noqa: PLR0913 - one argument for each option of the command
    controllers: Sequence[str],
    scope: Scope = EVERYTHING,
    *,
    block_s: float | None = None,
    least_bytes: int = LEAST_BYTES,
    transfers: int | None = None,
    duration_s: float | None = None,
    deviation: float | None = None,
    dry_run: bool = False,
    on_event: OnEvent = ignored,
    on_state: Callable[[State], None] = ignored,
) -> Trial:
    """Draw the controller of each new connection, until the difference is decided.

    It ends earlier if a controller does harm, at an interrupt, and when the cgroup is removed.

    Args:
        controllers: their names in the kernel; the others are compared with the first.
        scope: which connections take part.
        block_s: draw for blocks of this length, in seconds, instead of for transfers.
        least_bytes: smaller transfers are not counted.
        transfers: end after this number of counted transfers.
        duration_s: end after this time, in seconds.
        deviation: how much goodput varies, as `recorded_deviation` gives it.
        dry_run: report what would be changed, but change nothing.
        on_event: called with every step and warning.
        on_state: called with the state, once a second.

    Raises:
        Refused: root is missing, there is no such controller, or a filter is not valid.
        RunError: it failed on the way; nothing is left.
    """
    state = State(
        controllers=controllers,
        design="transfer" if block_s is None else "time",
        least_bytes=least_bytes,
        recorded_deviation=deviation,
    )
    course = _Course(
        state=state,
        transfers=transfers,
        duration_s=duration_s,
        on_event=on_event,
        on_state=on_state,
    )
    request = {"do": "trial", "controllers": list(controllers), "dry_run": dry_run}
    request |= scope.values()
    if block_s is not None:
        request |= {"block_s": block_s, "blocks": drawn_blocks(len(controllers))}
    try:
        state.ended = ask(request, course.event)["ended"]
    except _Over:
        pass
    except KeyboardInterrupt:
        state.ended = "it was interrupted"
    state.close()
    return Trial(state)


def drawn_blocks(controllers: int) -> list[int]:
    """Draw the controllers of blocks: in every round each one once, in an order by lot."""
    chance, blocks = random.SystemRandom(), list[int]()
    while len(blocks) < MOST_BLOCKS:
        blocks += chance.sample(range(controllers), controllers)
    return blocks


def recorded_deviation(recording: Path, least_bytes: int) -> float:
    """Give the standard deviation of the log of goodput of recorded connections.

    Raises:
        Refused: the recording has too few of them, or is none.
    """
    try:
        spread = _spread(_last_rows(files_of(recording)), least_bytes)
    except (OSError, ValueError) as error:
        raise Refused(f"{recording}: {error}") from None
    deviation = spread.deviation()
    if deviation is None:
        raise Refused(f"{recording}: wanted 30 connections of each controller that carried enough")
    return deviation


def _last_rows(files: Iterable[Path]) -> Iterable[tuple[Any, ...]]:
    last = {}
    for file in files:
        for row in read_columns(file, ["cookie", "controller", "acked_bytes", "busy_s"]):
            last[row[0]] = row
    return last.values()


def _spread(rows: Iterable[tuple[Any, ...]], least_bytes: int) -> Spread:
    spread = Spread()
    for _, controller, acked_bytes, busy_s in rows:
        flow = {"acked_bytes": acked_bytes, "busy_s": busy_s, "sent": 0, "retransmitted": 0}
        if (of := measured([flow], least_bytes)) is not None:
            spread.add(controller, of.log_goodput)
    return spread
