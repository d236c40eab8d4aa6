"""An interrupt ends a controller of one's own soon, in whatever language, and is no error of it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .compiled import bpf_object

# By then the run has begun; and within this time it ends. The machine may be busy, hence the second
# is generous: without an interruption each of these lasts for minutes.
BEGUN_S, ENDED_S = 1.0, 3.0

COMMAND = """
import sys
from fairhaul import cli, runs
print("begun", flush=True)
cli.main(sys.argv[1:])
"""

SCENARIO = """
duration = "3000 s"
profile = "plain"
[bottleneck]
rate = "100 Mbit/s"
delay = "5 ms"
queue = {{ kind = "droptail", capacity = "1 bdp" }}
[[flow]]
name = "mine"
rtt = "40 ms"
controller = {controller}
"""

PYTHON = """
import time
from fairhaul import Controller

class Slow(Controller):
    def on_ack(self, window, ack):
        time.sleep(0.01)

class Endless(Controller):
    def on_ack(self, window, ack):
        while True:
            try:
                window.cwnd += 0
            except Exception as error:
                raise ValueError("not reported as an error of the class") from error

class Blocked(Controller):
    def on_ack(self, window, ack):
        time.sleep(1000)

class Unborn(Controller):
    def __init__(self):
        time.sleep(1000)

    def on_ack(self, window, ack):
        pass
"""

FORMULA = f'{{ kind = "law", increase = "{" + ".join(["exp(0 * w)"] * 200)}" }}'
OBJECT = '{{ kind = "bpf", object = "{path}", controller = "test_lasting" }}'


def ended(folder: Path, controller: str, how: signal.Signals, *args: str) -> tuple[int, str, float]:
    """Run a scenario, end it, and give the exit status, what was said, and how long that took."""
    scenario = folder / "s.toml"
    scenario.write_text(SCENARIO.format(controller=controller))
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, "run", str(scenario), *args],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(BEGUN_S)
    assert process.poll() is None, process.communicate()[1]
    asked = time.monotonic()
    process.send_signal(how)
    try:
        _, said = process.communicate(timeout=20)
    finally:
        process.kill()
    return process.returncode, said, time.monotonic() - asked


def check(found: tuple[int, str, float], how: signal.Signals) -> None:
    status, said, took_s = found
    assert (status, said.strip()) == (128 + how, "fairhaul: interrupted")
    assert took_s < ENDED_S


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("Slow", signal.SIGTERM),
        ("Endless", signal.SIGINT),
        ("Blocked", signal.SIGINT),
        ("Unborn", signal.SIGINT),
    ],
)
def test_a_controller_in_python_is_ended(tmp_path: Path, name: str, how: signal.Signals) -> None:
    (tmp_path / "mine.py").write_text(PYTHON)
    given = ("--controller", f"{name.lower()}=mine.py:{name}")
    check(ended(tmp_path, f'"{name.lower()}"', how, *given), how)


def test_formulas_and_an_object_are_ended(tmp_path: Path) -> None:
    slow = OBJECT.format(path=bpf_object("hungry"))
    for controller in (FORMULA, slow):
        check(ended(tmp_path, controller, signal.SIGINT), signal.SIGINT)
