"""The lab's engine: a scenario on the real Linux TCP stack, run by `fairhaul-host`.

A run takes as long as its scenario says. A run in which the machine could not keep up is not valid:
it is repeated, and if no try is valid, its record says so.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from fairhaul import RunError, Scenario, Stopped, _core
from fairhaul.host import Line, Refused, ask
from fairhaul.renamed import renamed

if TYPE_CHECKING:
    from fairhaul.host_results import CleanResult, ShellResult

OnEvent = Callable[[Line], None]

# A run that is not valid is tried this often in total.
TRIES = 3


def refuse_if_impossible(scenarios: Iterable[Scenario]) -> None:
    """Refuse at once what `fairhaul-host` would refuse after other work has been done.

    As root the lab can be made, and only a run loads its eBPF ports; nothing is checked then.

    Raises:
        Refused: without root, the lab cannot be made here, or cannot run one of the scenarios.
    """
    if os.geteuid() != 0:
        ask({"do": "ready", "scenarios": [_written(scenario) for scenario in scenarios]})


class Run:
    """One run of a scenario in real time, with the interface of a run in the simulator."""

    def __init__(self, scenario: Scenario) -> None:
        """Prepare a run; nothing happens yet."""
        self._scenario = scenario
        self._process: subprocess.Popen[str] | None = None
        self._began_s: float | None = None
        self._stopped = False
        self.notes: dict[str, Any] = {}
        """After `run`: `trust` (whether the run is valid), `kernel` (its release), and `tries`."""

    @property
    def reached_s(self) -> float:
        """How far the run has come, in seconds."""
        if self._began_s is None:
            return 0.0
        return min(time.monotonic() - self._began_s, self._scenario.duration_s)

    def stop(self) -> None:
        """Ask the run to end at once; it then raises `Stopped`."""
        self._stopped = True
        if self._process is not None:
            self._process.terminate()

    def run(self) -> _core.Outcome:
        """Run to the end, and again if the machine could not keep up.

        Raises:
            Refused: the lab cannot be made here, or cannot do what the scenario asks for.
            RunError: it failed on the way.
            Stopped: `stop` was called.
        """
        tries = 1
        outcome = self._run_host()
        while not self.notes["trust"]["valid"] and tries < TRIES:
            tries += 1
            outcome = self._run_host()
        self.notes["tries"] = tries
        return outcome

    def _run_host(self) -> _core.Outcome:
        with tempfile.TemporaryDirectory(prefix="fairhaul-") as folder:
            place = Path(folder) / "record.json"
            request = {
                "do": "lab",
                "scenario": _written(self._scenario),
                "record": str(place),
            }
            try:
                self.notes = dict(ask(request, started=self._start))
            except RunError:
                if self._stopped:
                    raise Stopped(f"{self._scenario.title}: stopped") from None
                raise
            return _core.received(self._scenario, place.read_bytes())

    def _start(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._began_s = time.monotonic()
        if self._stopped:
            process.terminate()


@renamed(tell="on_event")
def shell(
    scenario: Scenario,
    host: str,
    command: Sequence[str],
    *,
    receivers: Sequence[str] = (),
    on_event: OnEvent = lambda _: None,
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
    try:
        # Above the standard streams, of which one may be closed here.
        terminal = [fcntl.fcntl(stream, fcntl.F_DUPFD_CLOEXEC, 3) for stream in (0, 1)]
    except OSError as error:
        raise Refused(f"the program requires standard input and output: {error.strerror}") from None
    request = {
        "do": "shell",
        "scenario": _written(scenario),
        "host": host,
        "command": list(command),
        "receivers": list(receivers),
        "terminal": terminal,
    }
    try:
        return cast("ShellResult", ask(request, on_event, descriptors=terminal))
    finally:
        for descriptor in terminal:
            os.close(descriptor)


def clean(*, kill: bool = False) -> CleanResult:
    """Check for leftovers of the lab on this machine; without root, for those of this user.

    Args:
        kill: kill the processes that were left behind.

    Returns:
        The leftovers as `left`, each with a `remedy`, and the running processes as `at_work`.
    """
    return cast("CleanResult", ask({"do": "clean", "kill": kill}))


def _written(scenario: Scenario) -> dict[str, Any]:
    """Give a scenario in the form that `fairhaul-host` reads."""
    text, file, overrides = scenario.source()
    own = scenario.own()
    objects = {name: str(path) for name, path in own.items() if path and path.suffix == ".o"}
    used = {flow["controller"] for flow in json.loads(scenario.describe())["flows"]}
    if others := sorted(used & {*own, "library"} - {*objects}):
        raise Refused(
            f'controller "{others[0]}": the lab runs controllers of your own only as eBPF objects'
        )
    return {
        "objects": objects,
        "text": text,
        "file": file,
        "overrides": overrides,
        "variant": scenario.variant,
        "seed": scenario.seed,
    }
