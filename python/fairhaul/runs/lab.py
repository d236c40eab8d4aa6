"""The lab's engine: a scenario on the real Linux TCP stack, run by `fairhaul-host`.

A run takes as long as its scenario says. A run in which the machine could not keep up is not valid:
it is repeated, and if no try is valid, its record says so.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, cast

from fairhaul import _core
from fairhaul._core import Scenario
from fairhaul.host.host_run import HostRun, opened, written
from fairhaul.host.process import OnEvent, ask, ignored

if TYPE_CHECKING:
    from fairhaul.host.results import CleanResult, ShellResult

# A run that is not valid is tried this often in total.
TRIES = 3


def refuse_if_impossible(scenarios: Iterable[Scenario]) -> None:
    """Refuse at once what `fairhaul-host` would refuse after other work has been done.

    As root the lab can be made, and only a run loads its eBPF ports; nothing is checked then.

    Raises:
        Refused: without root, the lab cannot be made here, or cannot run one of the scenarios.
    """
    if os.geteuid() != 0:
        ask({"do": "ready", "scenarios": [written(scenario) for scenario in scenarios]})


class Run(HostRun):
    """One run of a scenario in real time; its notes are `trust`, `kernel` and `tries`."""

    _began_s: float | None = None

    @property
    def reached_s(self) -> float:
        """How far the run has come, in seconds."""
        if self._began_s is None:
            return 0.0
        return min(time.monotonic() - self._began_s, self._scenario.duration_s)

    def run(self) -> _core.Outcome:
        """Run to the end, and again if the machine could not keep up; the errors are the same."""
        tries = 0
        while True:
            tries += 1
            self.notes, outcome = self._asked({"do": "lab"}, started=self._begin)
            if self.notes["trust"]["valid"] or tries == TRIES:
                break
        self.notes["tries"] = tries
        return outcome

    def _begin(self) -> None:
        self._began_s = time.monotonic()


def shell(
    scenario: Scenario,
    host: str,
    command: Sequence[str],
    *,
    receivers: Sequence[str] = (),
    on_event: OnEvent = ignored,
) -> ShellResult:
    """Run a program at the sender of a flow, with this process's standard input and output.

    Args:
        scenario: the scenario whose network is opened; its traffic does not run.
        host: the name of the flow.
        command: the program and its arguments; its environment has `FAIRHAUL_PEER`, the address of
            the receiver.
        receivers: commands for `sh`, which run at the receiver until the program ends.
        on_event: called with every warning, and with the addresses when the network is open.

    Returns:
        The program's exit status as `status`, and the counts of packets.

    Raises:
        Refused: the lab cannot be made here, there is no such flow, or real hosts cannot run the
            scenario.
        RunError: it failed on the way.
    """
    request = {"do": "shell", "scenario": written(scenario), "host": host}
    return opened(request, command, receivers, on_event)


def clean(*, kill: bool = False) -> CleanResult:
    """Check for leftovers of the lab on this machine; without root, for those of this user.

    Args:
        kill: kill the processes that were left behind.

    Returns:
        The leftovers as `left`, each with a `remedy`, and the running processes as `at_work`.
    """
    return cast("CleanResult", ask({"do": "clean", "kill": kill}))
