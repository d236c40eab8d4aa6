"""What the lab and Linux in simulated time share: a run, or a shell, by `fairhaul-host`."""

from __future__ import annotations

import fcntl
import os
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairhaul import _core
from fairhaul._core import RunError, Scenario, Stopped
from fairhaul.host import programs
from fairhaul.host.process import OnEvent, Refused, ask, ignored

if TYPE_CHECKING:
    from fairhaul.host.results import ShellResult


class HostRun(ABC):
    """A run of a scenario by `fairhaul-host`, with the interface of a run in the simulator."""

    def __init__(self, scenario: Scenario, kept: Path | None = None) -> None:
        """Prepare a run; nothing happens yet. `kept`: a directory for the files of programs."""
        self.notes: dict[str, Any] = {}
        """After `run`: what is known of a run with a kernel, such as `trust` and `kernel`."""
        self._scenario, self._kept = scenario, kept
        self._process: subprocess.Popen[str] | None = None
        self._stopped = False

    def stop(self) -> None:
        """Ask the run to end at once; it then raises `Stopped`."""
        self._stopped = True
        if self._process is not None:
            self._process.terminate()

    @abstractmethod
    def run(self) -> _core.Outcome:
        """Run to the end.

        Raises:
            Refused: the engine cannot be used here, or cannot run the scenario.
            RunError: it failed on the way, or its record is not valid.
            Stopped: `stop` was called.
        """

    def _asked(
        self,
        request: Mapping[str, Any],
        on_event: OnEvent = ignored,
        started: Callable[[], None] = lambda: None,
    ) -> tuple[dict[str, Any], _core.Outcome]:
        """Have `fairhaul-host` run it, and give its notes and the outcome.

        `request` has the command as `do`, and what it takes beside the scenario.
        """

        def start(process: subprocess.Popen[str]) -> None:
            self._process = process
            started()
            if self._stopped:
                process.terminate()

        # A file without a name ends with the processes that hold it, however they end.
        with os.fdopen(os.memfd_create("record"), "rb") as record:
            number = record.fileno()
            place = {"scenario": written(self._scenario), "record": f"/proc/self/fd/{number}"}
            place |= programs.request(self._scenario, self._kept)
            try:
                answer = ask({**request, **place}, on_event, started=start, descriptors=[number])
            except RunError:
                if self._stopped:
                    raise Stopped(f"{self._scenario.title}: stopped") from None
                raise
            return dict(answer), _core.received(self._scenario, record.read())


def written(scenario: Scenario) -> dict[str, Any]:
    """Give a scenario in the form that `fairhaul-host` reads.

    Raises:
        Refused: it has a controller that hosts with a kernel cannot run.
    """
    text, file, overrides = scenario.source()
    own = scenario.own()
    objects = {name: str(path) for name, path in own.items() if path and path.suffix == ".o"}
    used = {flow["controller"] for flow in scenario.described["flows"]}
    if others := sorted(used & {*own, "library"} - {*objects}):
        raise Refused(
            f'controller "{others[0]}": a kernel runs controllers of your own only as eBPF objects'
        )
    return {
        "objects": objects,
        "text": text,
        "file": file,
        "overrides": overrides,
        "variant": scenario.variant,
        "seed": scenario.seed,
    }


def opened(
    request: Mapping[str, Any],
    command: Sequence[str],
    receivers: Sequence[str],
    on_event: OnEvent,
) -> ShellResult:
    """Have `fairhaul-host` run a program in a host, with this process's standard streams.

    Raises:
        Refused: the network cannot be made here, or a standard stream is closed.
        RunError: it failed on the way.
    """
    try:
        # Above the standard streams, of which one may be closed here.
        terminal = [fcntl.fcntl(stream, fcntl.F_DUPFD_CLOEXEC, 3) for stream in (0, 1)]
    except OSError as error:
        raise Refused(f"the program requires standard input and output: {error.strerror}") from None
    words = {"command": list(command), "receivers": list(receivers), "terminal": terminal}
    try:
        done: ShellResult = ask({**request, **words}, on_event, descriptors=terminal)
        return done
    finally:
        for descriptor in terminal:
            os.close(descriptor)
