"""Linux's own code in simulated time: a scenario run by a program that `fairhaul linux build` made.

The clock of the program stands still while it computes and jumps while it waits, so a run is exact
and the same on every machine. A run that is not valid is an error: another try would give the same.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairhaul import _core
from fairhaul._core import RunError, Scenario
from fairhaul.host import process as host
from fairhaul.host.host_run import HostRun, opened, written
from fairhaul.host.process import Line, OnEvent, Refused, ask, ignored
from fairhaul.linux.cache import Program, program

if TYPE_CHECKING:
    from fairhaul.host.results import ShellResult

# The memory of hosts on which distributions have their defaults: the largest receive buffer that
# the kernel chooses by itself grows with memory up to here.
MEMORY_MB = 4096
MEMORY_STEP_MB = 1024
# What the kernel can address as an ordinary program.
MOST_MEMORY_MB = 262_144
# What a packet takes of the memory of a sender beside its bytes (MAX_TCP_HEADER and struct
# skb_shared_info, together rounded up to a power of two, and struct sk_buff), and the part of all
# memory that TCP gets (`tcp_mem`, which crates/host sets to half of it), with a margin.
HEADERS_BYTES, BUFFER_BYTES, TCP_PART = 640, 256, 0.45

_version: ContextVar[str | None] = ContextVar("kernel", default=None)


def _occupied_bytes(packet_bytes: int) -> int:
    """Give what a packet takes of the memory of a sender: 4352 B for one of 1500 B."""
    return (1 << (packet_bytes - 40 + HEADERS_BYTES - 1).bit_length()) + BUFFER_BYTES


@contextmanager
def using(version: str | None) -> Iterator[None]:
    """Let runs within use the program of a version, such as "6.12", or that of `program()`.

    Raises:
        Refused: there is no such program.
    """
    if version is not None:
        _found(version)
    token = _version.set(version)
    try:
        yield
    finally:
        _version.reset(token)


def chosen() -> Program:
    """Give the program that runs use here.

    Raises:
        Refused: there is none.
    """
    return _found(_version.get())


@cache
def _found(version: str | None) -> Program:
    found = program(version)
    # Results are kept under the digest of the program, so it has to be the one that runs.
    if hashlib.sha256(found.path.read_bytes()).hexdigest() != found.sha256:
        raise Refused(
            f"the program {found.path} is not the one that was built there (its SHA-256 differs); "
            f"build it again: {found.command}"
        )
    return found


def memory_mb(scenario: Scenario) -> int:
    """Give the memory of the program, as large as that of usual hosts unless more is required.

    It is a number of the scenario alone, because TCP's buffers depend on it.

    Raises:
        Refused: it is more than the program can have.
    """
    in_flight = dict(scenario.estimate())["in_flight"]
    flows = scenario.described["flows"]
    largest = max((flow["packet_bytes"] for flow in flows), default=0)
    # The kernel doubles the size of a buffer that is requested.
    requested = sum(
        2 * ((flow["send_buffer_bytes"] or 0) + (flow["receive_buffer_bytes"] or 0))
        for flow in flows
    )
    needed_mb = max(2 * in_flight * _occupied_bytes(largest), requested) / TCP_PART / 2**20
    memory = max(MEMORY_MB, MEMORY_STEP_MB * math.ceil(needed_mb / MEMORY_STEP_MB))
    if memory > MOST_MEMORY_MB:
        raise Refused(
            f"{scenario.title}: Linux would need {memory} MB of memory for the packets in flight "
            f"and the buffers, and has at most {MOST_MEMORY_MB} MB in simulated time; reduce "
            "rates, round-trip times, send_buffer or receive_buffer"
        )
    return memory


def identity(scenario: Scenario) -> str:
    """Name what a record depends on beside the scenario: the program, its memory and the router.

    Raises:
        Refused: there is no program.
    """
    return f"{identity_of(_version.get())}, {memory_mb(scenario)} MB"


def identity_of(version: str | None) -> str:
    """Name the program and the router of a version; equal on machines that have the same ones.

    Raises:
        Refused: there is no such program.
    """
    used = _found(version)
    return f"Linux {used.version}, program {used.sha256[:16]}, router {_router()[:16]}"


@cache
def _router() -> str:
    """Give the digest of `fairhaul-host` and its library, whose code runs in the program."""
    content = hashlib.sha256()
    for file in sorted(host.PROGRAM.parent.glob("*fairhaul*")):
        content.update(f"{file.name}\n".encode() + file.read_bytes())
    return content.hexdigest()


def refuse_if_impossible(scenarios: Iterable[Scenario]) -> None:
    """Refuse at once what a run would refuse after other work has been done.

    Raises:
        Refused: there is no program, or it cannot run one of the scenarios.
    """
    asked = []
    for scenario in scenarios:
        memory_mb(scenario)
        asked.append(written(scenario))
    program = {"program": str(chosen().path), "memory_mb": MEMORY_MB}
    ask({"do": "linux_ready", **program, "scenarios": asked})


class Run(HostRun):
    """One run of a scenario in simulated time.

    Its notes are `trust` (what was checked), `kernel` (the version), `program` (its digest) and
    `memory_mb`.
    """

    reached_s = 0.0
    """How far the run has come, in seconds of simulated time."""
    cpu_s = 0.0
    """After `run`: the processor time of the program."""

    def __init__(
        self,
        scenario: Scenario,
        used: Program,
        traced: int | None = None,
        kept: Path | None = None,
    ) -> None:
        """Prepare a run; nothing happens yet.

        `traced`: the index of a flow for a packet trace. `kept`: as in `HostRun`.
        """
        super().__init__(scenario, kept)
        self._program, self._traced = used, traced

    def run(self) -> _core.Outcome:
        """Run to the end; the errors are the same."""
        memory = memory_mb(self._scenario)
        request: dict[str, Any] = {
            "do": "linux",
            "program": str(self._program.path),
            "memory_mb": memory,
            "trace": self._traced,
        }
        notes, outcome = self._asked(request, self._take)
        self.cpu_s = float(notes.pop("cpu_s"))
        if not (trust := notes["trust"])["valid"]:
            reasons = "; ".join(trust["reasons"])
            raise RunError(f"{self._scenario.title}: the run in Linux is not valid: {reasons}")
        self.notes = {**notes, "program": self._program.sha256[:16], "memory_mb": memory}
        return outcome

    def _take(self, event: Line) -> None:
        self.reached_s = min(float(event.get("reached_s", 0.0)), self._scenario.duration_s)


def shell(
    scenario: Scenario,
    flow: str,
    command: Sequence[str],
    *,
    receivers: Sequence[str] = (),
    on_event: OnEvent = ignored,
) -> ShellResult:
    """Run a program at the sender of a flow in simulated time, as `lab.shell` does in real time."""
    request = {
        "do": "linux_shell",
        "program": str(chosen().path),
        "memory_mb": memory_mb(scenario),
        "scenario": written(scenario),
        "host": flow,
    }
    return opened(request, command, receivers, on_event)
