"""Commands in Linux in simulated time, for tests: as an ordinary user, who is root there."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
NETWORK = """\
title    = "A network for a program"
duration = "10 s"
profile  = "plain"

[bottleneck]
rate  = "20 Mbit/s"
delay = "10 ms"
queue = { kind = "droptail", capacity = "1 bdp" }

[[flow]]
name       = "A"
rtt        = "40 ms"
controller = "cubic"
"""
# Files in /run are in the memory of the kernel inside; all others are those of the user.
SETUP = 'mkdir /run/tmp && cd "$1" && shift && exec "$@"'
# Where `ip`, `tc` and `bpftool` are, which ordinary users do not search for programs.
TOOLS = "/usr/sbin:/sbin"


def inside(
    *command: str | Path,
    receivers: tuple[str, ...] = (),
    network: str = NETWORK,
    seconds: float = 3600,
) -> subprocess.CompletedProcess[str]:
    """Run a command at the sender of a flow in Linux in simulated time, in the folder of the tests.

    Args:
        command: the command and its arguments.
        receivers: lines for `sh` at the receiver.
        network: the scenario of the path, whose first flow is A.
        seconds: when it counts as a defect that it has not ended, in real time.
    """
    changed = {
        "PATH": f"{os.environ['PATH']}:{TOOLS}",
        "TMPDIR": "/run/tmp",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    variables = [f"{name}={value}" for name, value in changed.items()]
    words = ["env", *variables, "sh", "-c", SETUP, "sh", str(ROOT), *map(str, command)]
    given = [word for line in receivers for word in ("--receiver", line)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "network.toml"
        file.write_text(network)
        shell = [sys.executable, "-m", "fairhaul", "lab", "shell", str(file), "--engine", "linux"]
        return subprocess.run(
            [*shell, "--host", "A", *given, "--", *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
        )
