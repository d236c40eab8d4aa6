"""Runs `fairhaul-host`, the program of the kernel and the lab: a request in, lines of JSON back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from fairhaul._core import RunError
from fairhaul.files.files import PACKAGE

PROGRAM = PACKAGE / "bin" / "fairhaul-host"

Line = Mapping[str, Any]
OnEvent = Callable[[Line], None]
Started = Callable[[subprocess.Popen[str]], None]


def ignored(_: Any) -> None:
    """Take an event, and do nothing."""


class Refused(Exception):
    """The lab or the kernel cannot do what was asked on this host; nothing was changed."""


def ask(
    request: Mapping[str, Any],
    on_event: OnEvent = ignored,
    started: Started = ignored,
    descriptors: Sequence[int] = (),
    program: Path | None = None,
) -> Any:
    """Have `fairhaul-host` carry out a request, and give its result.

    Args:
        request: the command as `do`, and its arguments.
        on_event: called with every event: a `step` and whether it was `done`, a `warning`, or a
            `look` (a measurement) at a watched eBPF port.
        started: called with the process, so that the caller can end it.
        descriptors: file descriptors that the process inherits, under the same numbers.
        program: another program that answers in the same way; by default `fairhaul-host`.

    Raises:
        Refused: this host cannot do it; nothing was changed.
        RunError: it failed midway.
    """
    program = program or PROGRAM
    if not program.is_file():
        raise Refused(
            "this installation has no fairhaul-host: it is built only on Linux, with clang, llvm, "
            "make, pkg-config, libelf-dev and zlib1g-dev installed (Debian packages)"
        )
    place = os.environ.get("FAIRHAUL_PLACE")
    envelope = {"request": dict(request)} | ({"place": place} if place else {})
    # By it a search for leftovers detects that this process has ended.
    environment = {**os.environ, "FAIRHAUL_PARENT": str(os.getpid())}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [program], stdin=pipe, stdout=pipe, text=True, env=environment, pass_fds=descriptors
    ) as process:
        try:
            started(process)
            last = _exchange(process, json.dumps(envelope), on_event)
        except BaseException:
            process.terminate()
            raise
    if "result" in last:
        return last["result"]
    if "error" not in last:
        # It aborts where memory cannot be had; what it reads may take 2 GB.
        why = "it could not get the memory that it wants; " * (
            process.returncode == -signal.SIGABRT
        )
        raise RunError(f"{program.name} ended without an answer ({why}status {process.returncode})")
    if last["refused"]:
        raise Refused(last["error"])
    raise RunError(last["error"])


def _exchange(process: subprocess.Popen[str], request: str, on_event: OnEvent) -> Line:
    """Send a request, pass on the events, and give the last line."""
    assert process.stdin is not None
    assert process.stdout is not None
    # If the process ended before it read the request, its output or its status says why.
    with suppress(BrokenPipeError):
        process.stdin.write(request)
    with suppress(BrokenPipeError):
        process.stdin.close()
    last: Line = {}
    for text in process.stdout:
        last = json.loads(text)
        if "result" not in last and "error" not in last:
            on_event(last)
    return last
