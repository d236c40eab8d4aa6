"""How soon the command line and the package are there, from the shell."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

# What a person waits, in seconds, the best of several on a quiet machine.
HELP_S, IMPORT_S, RUN_S = 0.2, 0.15, 0.6

# Tests run beside other work. What is a heavy import too many costs more than this.
NOISE = 2.0
TIMES = 5


def _best(command: list[str]) -> float:
    """The shortest of several times that `command` took."""
    took = []
    for _ in range(TIMES):
        before = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        took.append(time.perf_counter() - before)
    return min(took)


@pytest.mark.parametrize("verb", [(), ("run",), ("compare",)])
def test_help_is_there_at_once(verb: tuple[str, ...]) -> None:
    assert _best([sys.executable, "-m", "fairhaul", *verb, "--help"]) < HELP_S * NOISE


def test_the_package_is_imported_at_once() -> None:
    assert _best([sys.executable, "-c", "import fairhaul"]) < IMPORT_S * NOISE


def test_a_small_run_is_done_soon(small: Path) -> None:
    assert _best([sys.executable, "-m", "fairhaul", "run", str(small)]) < RUN_S * NOISE
