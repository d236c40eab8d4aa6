"""Runs in Linux that are stopped: whatever process ends, nothing is left, and the end has a reason.

`python -m tools.repeat kills --count 200` is the same with more trials.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fairhaul import linux
from tests.linux_program import needs_linux
from tools.repeat import kills
from tools.repeat.kills import PARTS, Trial, drawn, expected, tried

# Two of each part, with signals and moments that are drawn.
TRIALS = [drawn(number, 39) for number in range(2 * len(PARTS))]


def test_the_status_says_how_a_run_ended() -> None:
    def status(part: kills.Part, how: signal.Signals) -> tuple[int, ...]:
        return expected(Trial(command=kills.RUN, part=part, how=how, after_s=0, pick=0))

    assert status("terminal", signal.SIGINT) == (130,)
    assert status("command", signal.SIGTERM) == (143,)
    assert status("command", signal.SIGKILL) == (-9,)
    assert status("program", signal.SIGKILL) == (1,)


@needs_linux
@pytest.mark.parametrize("trial", TRIALS, ids=[f"{one.part} {one.how.name}" for one in TRIALS])
def test_whatever_is_stopped_leaves_nothing(trial: Trial) -> None:
    done = tried(trial, linux.program())
    assert done.mistakes == [], (trial, done.said)


@needs_linux
def test_a_program_that_never_waits_is_ended(tmp_path: Path) -> None:
    scenario = tmp_path / "long.toml"
    scenario.write_text(kills.SCENARIO)
    done = subprocess.run(
        [sys.executable, "-m", "fairhaul", *kills.SHELL, *kills.SPINS],
        cwd=tmp_path,
        env={**os.environ, "FAIRHAUL_STILL_S": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 1
    assert done.stderr == (
        "fairhaul: the program used 1 s of processor time without a step of its clock, so it was "
        "ended: something in it never waits\n"
    )
