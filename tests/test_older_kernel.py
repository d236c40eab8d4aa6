"""What needs no eBPF port works without the system calls that are newer than Linux 5.14."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.captures import Transfer, losing, pcap
from tests.kernel_host import locked
from tests.linux_program import needs_linux
from tests.seccomp import FILTER
from tests.test_rootless import SCENARIO

OLDER = (sys.executable, str(FILTER), "--older")
FAIRHAUL = (*OLDER, sys.executable, "-m", "fairhaul")
TRANSFERRING = Path(__file__).with_name("transferring.py")


def older(*words: str | Path) -> str:
    """Run Fairhaul as on the older kernel, and give what it printed."""
    command = [*FAIRHAUL, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_filter_refuses_what_is_newer() -> None:
    # 448 is `process_mrelease` of Linux 5.15, which fails with EINVAL or EBADF where it exists.
    calls = "import ctypes; libc = ctypes.CDLL(None, use_errno=True)\n"
    calls += "print(libc.syscall(448, -1, 0), ctypes.get_errno(), libc.syscall(39) > 0)"
    command = [*OLDER, sys.executable, "-c", calls]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["-1", "38", "True"]


@pytest.mark.parametrize("text", [False, True])
def test_a_capture_and_ss_are_explained(tmp_path: Path, text: bool) -> None:
    file = tmp_path / "transfer"
    if text:
        # As `ss` of that kernel's distributions prints it, without the peer's window.
        file.write_text(
            "ESTAB 0 100 192.0.2.1:40000 192.0.2.2:5201\n"
            "\t cubic wscale:7,7 rto:204 rtt:40.5/1 mss:1448 cwnd:45 bytes_sent:50000000 "
            "bytes_acked:49000000 data_segs_out:34530 delivered:34000 busy:40000ms "
            "rwnd_limited:39000ms(97.5%) minrtt:40\n"
        )
    else:
        file.write_bytes(pcap([Transfer(packets=800).run(losing(lambda n: n % 100 == 50))]))
    connections = json.loads(older("explain", file, "--json"))["connections"]
    assert (connections[0]["limits"]["receive_window"] > 0.9) == text


@needs_linux
def test_flows_are_recorded_and_explained(tmp_path: Path) -> None:
    # The reader takes 200 kB a second.
    transfer = subprocess.Popen([sys.executable, TRANSFERRING, "60", "200000"])
    try:
        place = tmp_path / "recording"
        older("flows", "--record", place, "--interval", "0.5", "--duration", "3s", "--no-trace")
        found = json.loads(older("explain", place, "--json"))["connections"]
    finally:
        transfer.kill()
        transfer.wait()
    limited = [of for of in found if of["receiver"]["address"] == "127.0.0.1"]
    assert any(of["limits"]["receive_window"] > 0.5 for of in limited)


@needs_linux
def test_the_lab_runs_stock_controllers(tmp_path: Path) -> None:
    file = tmp_path / "scenario.toml"
    file.write_text(SCENARIO.replace('"12 s"', '"7 s"'))
    with locked():
        assert "own got 9." in older("run", file, "--engine", "lab")
