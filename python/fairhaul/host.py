"""Speaks to `fairhaul-host`, the one program that needs root: a request in, lines of JSON back."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from fairhaul import RunError

PROGRAM = Path(__file__).parent / "bin" / "fairhaul-host"

Line = Mapping[str, Any]


class Refused(Exception):
    """What was asked for cannot be done here; nothing was changed."""


Started = Callable[[subprocess.Popen[str]], None]


def ask(
    request: Mapping[str, Any],
    on_event: Callable[[Line], None] = lambda _: None,
    started: Started = lambda _: None,
    descriptors: Sequence[int] = (),
) -> Any:
    """Have `fairhaul-host` carry out a request, and give its result.

    Args:
        request: `do`, and what goes with it.
        on_event: Is given every line on the way: a `step` and whether it was `done`, a `warning`, a
            `look` at a watched twin.
        started: Is given the process, so that it can be ended.
        descriptors: Are open for it, too, under the same numbers.

    Raises:
        Refused: It cannot be done here; nothing was changed.
        RunError: It failed on the way.
    """
    if not PROGRAM.is_file():
        raise Refused(
            "this installation has no fairhaul-host. It is built on Linux, where clang, llvm, "
            "make, pkg-config, libelf-dev and zlib1g-dev are there (Debian's names)"
        )
    place = os.environ.get("FAIRHAUL_PLACE")
    envelope = {"request": dict(request)} | ({"place": place} if place else {})
    # Whoever looks for what was left can tell by it that this process has gone.
    environment = {**os.environ, "FAIRHAUL_PARENT": str(os.getpid())}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [PROGRAM], stdin=pipe, stdout=pipe, text=True, env=environment, pass_fds=descriptors
    ) as process:
        try:
            started(process)
            last = _converse(process, json.dumps(envelope), on_event)
        except BaseException:
            process.terminate()
            raise
    if "result" in last:
        return last["result"]
    if "error" not in last:
        raise RunError(f"fairhaul-host ended without an answer (status {process.returncode})")
    if last["refused"]:
        raise Refused(last["error"])
    raise RunError(last["error"])


def _converse(process: subprocess.Popen[str], request: str, on_event: Callable[[Line], None]) -> Line:
    """Hand over a request, pass on what is told, and give the last line."""
    assert process.stdin is not None
    assert process.stdout is not None
    # A process that has ended before it read this says why, or its status does.
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
