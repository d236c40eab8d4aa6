"""What the tests of Linux in simulated time share: whether a program is there, and a pretended one.

Where there is no program, tests that need one are skipped; in continuous integration, and as root,
they fail instead.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from fairhaul import Scenario, _core, linux
from fairhaul.host import host_run
from fairhaul.host import process as host
from fairhaul.host.process import Refused
from fairhaul.linux import Program
from fairhaul.linux import run as engine


def lacking() -> str | None:
    """Say why no scenario can run in Linux here; nothing where one can."""
    if not host.PROGRAM.is_file():
        return "fairhaul-host was not built here"
    try:
        linux.program("6.12")
    except Refused as error:
        return str(error)
    return None


REASON = lacking()
MUST_RUN = bool(os.environ.get("CI")) or os.geteuid() == 0
needs_linux = pytest.mark.skipif(REASON is not None and not MUST_RUN, reason=str(REASON))


def pretended_program(version: str = "6.12.7", sha256: str = "a" * 64) -> Program:
    """Give a program that is not there."""
    return Program(
        path=Path("/nonexistent/linux"),
        version=version,
        digest="b" * 12,
        files="c" * 12,
        sha256=sha256,
        source="",
        compiler="gcc",
        facts={},
    )


@dataclass
class PretendedHost:
    """A `fairhaul-host` that simulates what it would run in Linux."""

    program: Program
    reasons: list[str] = field(default_factory=list)
    """Why runs are not valid."""
    refuses: str = ""
    """Why nothing can be run."""
    cpu_s: float = 1.0
    requests: list[Mapping[str, Any]] = field(default_factory=list)

    def ask(self, request: Mapping[str, Any], on_event: Any = None, **_: Any) -> Any:
        """Answer a request."""
        self.requests.append(request)
        if self.refuses:
            raise Refused(self.refuses)
        if request["do"] in {"ready", "linux_ready"}:
            return {}
        if request["do"] == "linux_shell":
            return {
                "status": 3,
                "packets": 5,
                "dropped": 0,
                "strays": 0,
                "requests": None,
                "unseen": 0,
                "warnings": [],
            }
        on_event({"reached_s": 0.5})
        Path(request["record"]).write_bytes(b"{}")
        self.cpu_s += 0.5
        trust = {"valid": not self.reasons, "reasons": self.reasons}
        return {"trust": trust, "kernel": self.program.version, "cpu_s": self.cpu_s}


@contextmanager
def pretended(monkeypatch: pytest.MonkeyPatch) -> Iterator[PretendedHost]:
    """Let the engine `linux` simulate, with a program that is not there."""
    made = PretendedHost(program=pretended_program())

    def found(version: str | None) -> Program:
        if version is not None and not made.program.version.startswith(version):
            raise Refused(f"there is no program of Linux {version}; build it: fairhaul linux build")
        return made.program

    def received(scenario: Scenario, _: bytes) -> _core.Outcome:
        return _core.Run(scenario, made.requests[-1].get("trace")).run()

    monkeypatch.setattr(engine, "_found", found)
    monkeypatch.setattr(engine, "ask", made.ask)
    monkeypatch.setattr(host_run, "ask", made.ask)
    monkeypatch.setattr(_core, "received", received)
    yield made
