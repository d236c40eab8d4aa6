"""The lab's engine: a scenario on the real Linux TCP stack, by `fairhaul-host`.

A run takes as long as its scenario says. One in which the machine could not keep up is not counted:
it is repeated, and if that does not help, it stands in the record as what it is.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fairhaul import Scenario, Stopped, _core
from fairhaul.host import Line, Refused, ask

OnEvent = Callable[[Line], None]

# A run that is not to be believed is tried so often in all.
TRIES = 3


def refuse_without_root() -> None:
    """Refuse at once what `fairhaul-host` would refuse after others have worked for it.

    Raises:
        Refused: root is missing.
    """
    if os.geteuid() != 0:
        raise Refused("the lab makes network namespaces and their devices, which takes root")


class Run:
    """One run of a scenario in real time, with the same face as one in virtual time."""

    def __init__(self, scenario: Scenario) -> None:
        """Prepare a run; nothing happens yet."""
        self._scenario = scenario
        self._process: subprocess.Popen[str] | None = None
        self._began_s: float | None = None
        self._stopped = False
        self.notes: dict[str, Any] = {}
        """After `run`: `trust`, what is to be thought of it, `kernel`, which it was, `tries`."""

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
        """Run to the end, again where the machine could not keep up.

        Raises:
            Refused: root is missing, or the scenario asks for what real hosts cannot do.
            RunError: it failed on the way.
            Stopped: somebody asked for that.
        """
        tries = 1
        outcome = self._once()
        while not self.notes["trust"]["valid"] and tries < TRIES:
            tries += 1
            outcome = self._once()
        self.notes["tries"] = tries
        return outcome

    def _once(self) -> _core.Outcome:
        with tempfile.TemporaryDirectory(prefix="fairhaul-") as folder:
            place = Path(folder) / "record.json"
            request = {
                "do": "lab",
                "scenario": _written(self._scenario),
                "record": str(place),
            }
            try:
                self.notes = dict(ask(request, started=self._start))
            except _core.RunError:
                if self._stopped:
                    raise Stopped(f"{self._scenario.title}: stopped") from None
                raise
            return _core.received(self._scenario, place.read_bytes())

    def _start(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._began_s = time.monotonic()
        if self._stopped:
            process.terminate()


def shell(
    scenario: Scenario,
    host: str,
    command: Sequence[str],
    *,
    receivers: Sequence[str] = (),
    on_event: OnEvent = lambda _: None,
) -> dict[str, Any]:
    """Run a program in the sending host of a flow, with this process's input and output.

    Args:
        scenario: Whose network is opened; its traffic does not run.
        host: The flow.
        command: The program and its words; its environment has `FAIRHAUL_PEER`, the address of the
            other end.
        receivers: Lines for `sh`, which run at the other end until the program ends.
        on_event: Is given every warning, and the addresses once the network is open.

    Returns:
        The program's exit status as `status`, and what passed the network.

    Raises:
        Refused: root is missing, there is no such flow, or real hosts cannot do what it asks for.
        RunError: it failed on the way.
    """
    try:
        # Above the standard streams, of which one may be closed here.
        terminal = [fcntl.fcntl(stream, fcntl.F_DUPFD_CLOEXEC, 3) for stream in (0, 1)]
    except OSError as error:
        raise Refused(f"the program needs standard input and output: {error.strerror}") from None
    request = {
        "do": "shell",
        "scenario": _written(scenario),
        "host": host,
        "command": list(command),
        "receivers": list(receivers),
        "terminal": terminal,
    }
    try:
        return dict(ask(request, on_event, descriptors=terminal))
    finally:
        for descriptor in terminal:
            os.close(descriptor)


def clean(*, kill: bool = False) -> dict[str, Any]:
    """Look for what a lab could have left on this machine.

    Args:
        kill: End the processes that were left.

    Returns:
        What was `left`, each thing with a `remedy`, and the processes that are `at_work`.

    Raises:
        Refused: root is missing.
    """
    return dict(ask({"do": "clean", "kill": kill}))


def _written(scenario: Scenario) -> dict[str, Any]:
    """Give a scenario as `fairhaul-host` reads it."""
    text, file, overrides = scenario.source()
    return {
        "text": text,
        "file": file,
        "overrides": overrides,
        "variant": scenario.variant,
        "seed": scenario.seed,
    }
