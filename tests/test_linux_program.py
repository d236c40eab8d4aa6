"""Linux as a program that was built: what it computes with, its random numbers, and its end."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fairhaul import linux
from fairhaul.host.process import Refused
from fairhaul.linux import Program

# All that the kernel prints goes to its console, the standard output.
ARGUMENTS = (
    "mem=128M root=/dev/root rootfstype=hostfs ro time-travel=inf-cpu "
    "time-travel-start=1700000000000000000 con=null con0=fd:0,fd:1 quiet"
)

# The program refuses to run where the host moves its memory.
FIXED = ("setarch", "--addr-no-randomize")

POWER_OFF = "import ctypes; ctypes.CDLL(None).reboot(0x4321FEDC)"

NUMBERS = """
import os, time
print(time.time_ns() // 10**9, os.urandom(8).hex(), flush=True)
"""

WAIT = """
import time
print("ready", flush=True)
while True:
    pass
"""

CONTROLLERS = """
import ctypes
ctypes.CDLL(None).mount(b"proc", b"/proc", b"proc", 0, None)
print(open("/proc/sys/net/ipv4/tcp_available_congestion_control").read(), flush=True)
"""


@pytest.fixture(scope="module")
def program() -> Program:
    try:
        return linux.program("6.12")
    except Refused as reason:
        pytest.skip(str(reason))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The only folder that the program is given to write into."""
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def start(program: Program, folder: Path, script: str, seed: int = 1) -> subprocess.Popen[str]:
    """Start the program, in which a script of Python runs as the first process."""
    init = folder.parent / "init"
    init.write_text(f"#!{sys.executable}\n{script}\n{POWER_OFF}\n")
    init.chmod(0o755)
    return subprocess.Popen(
        [*FIXED, program.path, *ARGUMENTS.split(), f"init={init}"],
        env={"HOME": str(folder), "TMPDIR": str(folder), "FAIRHAUL_SEED": str(seed)},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def output(program: Program, folder: Path, script: str, seed: int = 1) -> str:
    process = start(program, folder, script, seed)
    try:
        return process.communicate(timeout=300)[0]
    finally:
        process.kill()
        process.wait()


def test_tcp_computes_as_in_the_kernels_of_debian(program: Program) -> None:
    facts = program.facts
    assert facts["hz"] == 250
    assert facts["max_tcp_header"] == 320
    assert facts["max_skb_frags"] == 17
    # 1460 B, 320 B of headers and 320 B of struct skb_shared_info need 4096 B; struct sk_buff
    # takes 256 B.
    assert facts["send_buffer_per_packet"] == 4096 + 256
    assert facts["struct_ops"]
    assert len(facts["controllers"]) == 17


def test_the_program_has_the_controllers_that_are_listed(program: Program, home: Path) -> None:
    names = output(program, home, CONTROLLERS).splitlines()
    assert any(sorted(line.split()) == program.facts["controllers"] for line in names)


def test_random_numbers_follow_from_the_seed(program: Program, home: Path) -> None:
    runs = [output(program, home, NUMBERS, seed) for seed in (1, 1, 2)]
    lines = [next(line for line in run.splitlines() if line.startswith("17000")) for run in runs]
    assert lines[0] == lines[1] != lines[2]
    assert {line.split()[0] for line in lines} == {"1700000000"}


def test_the_program_leaves_no_file(program: Program, home: Path) -> None:
    assert "17000" in output(program, home, NUMBERS)
    assert list(home.iterdir()) == []


def children(process: int) -> set[int]:
    """All processes that this one has started, and theirs."""
    tasks = Path(f"/proc/{process}/task").glob("*/children")
    direct = {int(child) for task in tasks for child in task.read_text().split()}
    return direct.union(*(children(child) for child in direct))


@pytest.mark.parametrize("late", [False, True])
def test_a_killed_program_leaves_no_process(program: Program, home: Path, late: bool) -> None:
    process = start(program, home, WAIT)
    assert process.stdout is not None
    if late:
        while "ready" not in process.stdout.readline():
            assert process.poll() is None
    else:
        time.sleep(0.1)
    started = children(process.pid)
    assert started or not late
    process.send_signal(signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 60
    while left := {child for child in started if Path(f"/proc/{child}").exists()}:
        assert time.monotonic() < deadline, left
        time.sleep(0.01)
    assert list(home.iterdir()) == []
