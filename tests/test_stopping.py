"""Runs are stopped, bounded and shown while their figures are computed, too."""

from __future__ import annotations

import time

import pytest

from fairhaul import ScenarioError
from fairhaul.cli import progress as bars
from fairhaul.cli.progress import described, progress
from fairhaul.runs import runs
from fairhaul.runs.runs import Progress
from fairhaul.scenario import memory
from fairhaul.scenario.read import read_one

SMALL = """
duration = "1 s"
title = "small"
profile = "plain"
[bottleneck]
rate = "10 Mbit/s"
delay = "10 ms"
queue = { kind = "droptail", capacity = "1 bdp" }
[[flow]]
name = "f"
controller = "reno"
rtt = "40 ms"
"""

FLOOD = """
[[flow]]
name = "c"
role = "background"
traffic = { kind = "cbr", rate = "900 Tbit/s" }
overhead = "uniform 0 s..1 s"
"""


def test_a_run_whose_figures_are_computed_is_shown_so() -> None:
    seen = Progress(
        reached_s=1.0,
        total_s=2.0,
        part=0.5,
        finished=0,
        runs=2,
        running=("a", "b"),
        figured=("b",),
    )
    assert described(seen) == "0/2 runs; a; b (figures)"


def test_a_bar_is_only_shown_for_runs_that_take_a_while(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    seen = Progress(reached_s=1.0, total_s=2.0, part=0.5, finished=0, runs=2, running=("a",))
    for after_s, is_shown in ((1000.0, False), (0.0, True)):
        monkeypatch.setattr(bars, "BAR_AFTER_S", after_s)
        with progress() as on_progress:
            assert on_progress is not None
            on_progress(seen)
        assert ("0/2 runs; a" in capsys.readouterr().err) == is_shown


def test_an_interrupt_ends_the_figures_at_once() -> None:
    begun = []

    def slow(_: int, __: object) -> None:
        begun.append(time.monotonic())
        while time.monotonic() < begun[0] + 20:
            pass

    def interrupt(seen: Progress) -> None:
        if seen.figured and begun:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runs.for_each([read_one(SMALL, None)], slow, on_progress=interrupt)
    assert time.monotonic() - begun[0] < 5


def test_what_cannot_fit_is_refused_before_it_begins() -> None:
    with pytest.raises(ScenarioError) as refused:
        runs.run(SMALL + FLOOD)
    [line] = refused.value.args
    assert line.startswith("small: a run needs about")
    assert "queued packets of constant-rate flows" in line


def test_memory_is_shared_by_the_runs_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    small = read_one(SMALL, None)
    monkeypatch.setattr(memory, "available_bytes", lambda: 1_000_000_000)
    assert memory.per_run([small] * 10, 4) == 200_000_000
    assert memory.per_run([small], 4) == 800_000_000
    monkeypatch.setattr(memory, "available_bytes", lambda: None)
    assert memory.per_run([small], 4) is None


def test_the_memory_of_a_process_is_bounded_by_the_machine() -> None:
    left = memory.available_bytes()
    assert left is None or 0 < left < 2**50
