"""A session: one process that writes to a store, and the machine that it runs on."""

from __future__ import annotations

import os
import platform
import secrets
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from fairhaul import _core
from fairhaul.jobs.store.identity import engine_build
from fairhaul.jobs.store.rows import Row


def session(command: str) -> Row:
    """Describe this process: command, version, build, machine, and state of its Git checkout."""
    return {
        "id": secrets.token_hex(8),
        "began": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "version": _core.__version__,
        "build": engine_build(),
        "python": platform.python_version(),
        "machine": platform.node(),
        "kernel": f"{platform.system()} {platform.release()}",
        "processor": processor(),
        "cores": os.cpu_count() or 1,
        "git": git_state(Path.cwd()),
    }


def processor() -> str:
    """Name the processor, as far as the system says."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def git_state(folder: Path) -> str:
    """Give the commit of the checkout that holds `folder`, marked if it was changed; or nothing."""
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
