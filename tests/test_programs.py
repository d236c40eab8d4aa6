"""Flows whose ends are programs: what is refused, as whom they run, and what is recorded."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import fairhaul
from fairhaul.cli import status_of
from fairhaul.measures.measures import measure
from fairhaul.record.record import read_record
from fairhaul.scenario.read import ScenarioError, allow_programs, read_one
from tests.kernel_host import PYTHON, locked, needs_kernel, wait_for
from tests.linux_program import needs_linux
from tests.test_rootless import ORDINARY, USER
from tools import ROOT

QUINN = Path(fairhaul.__file__).parent / "stacks/quinn-transfer"
SCENARIO = """\
title    = "A pair of programs"
duration = "3 s"
packet   = "1500 B"

[bottleneck]
rate  = "20 Mbit/s"
delay = "5 ms"
queue = {{ kind = "droptail", capacity = "1 bdp" }}

[[flow]]
name    = "mine"
rtt     = "40 ms"
program = {{ sender = "{sender}", receiver = "{receiver}" }}

[[expect]]
what     = "the programs deliver"
number   = "flows.mine.goodput_bps"
at_least = 1e6
"""
DURATION_S = 3
CERTIFICATE = ("stacks/quiche/certificate/certificate.pem", "stacks/quiche/certificate/key.pem")
# What the programs of QUIC send, bytes.
TRANSFER = 300_000
PAIR = {"sender": "./pair send 2.5", "receiver": "./pair receive"}
# As root by sudo from the account of an ordinary user.
SUDO = {"SUDO_UID": str(USER), "SUDO_GID": str(USER)}


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user may read and write, with the pair of programs."""
    folder = Path(tempfile.mkdtemp(prefix="fairhaul-programs-", dir="/tmp"))
    folder.chmod(0o777)
    source = ROOT / "tests/programs/pair.c"
    subprocess.run(["cc", "-O2", "-o", folder / "pair", source], check=True)
    yield folder
    shutil.rmtree(folder)


def written(folder: Path, **programs: str) -> Path:
    """Write the scenario with these programs."""
    file = folder / "pair.toml"
    file.write_text(SCENARIO.format(**{**PAIR, **programs}))
    return file


def call(
    *words: str | Path, before: tuple[str, ...] = (), more: Mapping[str, str] | None = None
) -> Any:
    """Call the command line, with these variables of the environment."""
    command = [*before, PYTHON, "-m", "fairhaul", *map(str, words)]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, **(more or {})},
        stdin=subprocess.DEVNULL,
    )


def packets(capture: Path) -> int:
    """Count the packets of a capture in the format of pcap."""
    data, at, count = capture.read_bytes(), 24, 0
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at + 8)
        at, count = at + 16 + length, count + 1
    assert at == len(data)
    return count


def lab(file: Path, *words: str | Path) -> Any:
    """Run a scenario in the lab as root, called by an ordinary user."""
    with locked():
        options = ("--engine", "lab", "--allow-programs", "--seeds", "1")
        return call("run", file, *options, *words, more=SUDO)


def test_programs_need_an_option_and_a_kernel(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(folder)
    for command in ("run", "check", "sweep"):
        for engine in ("sim", "linux"):
            assert status_of([command, str(file), "--engine", engine]) == 2
            assert "starts programs on this machine" in capsys.readouterr().err
    assert status_of(["attack", "cubic", "--objective", "starve", "--within", str(file)]) == 2
    assert capsys.readouterr().err
    assert status_of(["run", str(file), "--allow-programs"]) == 2
    refusal = capsys.readouterr().err
    assert "runs with --engine linux, in simulated time, or --engine lab" in refusal


def test_programs_replace_the_keys_of_sender_receiver_and_traffic(folder: Path) -> None:
    file = written(folder)

    def mistakes(**settings: Any) -> str:
        with allow_programs(), pytest.raises(ScenarioError) as error:
            read_one(file, {f"flow.mine.{key}": value for key, value in settings.items()})
        return "\n".join(error.value.args)

    for key, value in {"recovery": "newreno", "traffic": "1 MB", "send_buffer": "1 MB"}.items():
        assert f'{key}: not possible with a "program"' in mistakes(**{key: value})
    assert "is no command line" in mistakes(program={"sender": "", "receiver": "x"})
    assert 'needs "receiver"' in mistakes(program={"sender": "x"})
    with allow_programs():
        (flow,) = read_one(file).described["flows"]
        assert flow["controller"] == "none"
        assert flow["program"]["sender"] == ["./pair", "send", "2.5"]
        # A controller takes the place of programs, and programs that of a controller.
        other = read_one(file, {"flow.mine.controller": "cubic"})
        assert "program" not in other.described["flows"][0]


@needs_kernel
def test_in_the_lab_programs_have_records_captures_and_no_rights(folder: Path) -> None:
    script = folder / "who.sh"
    script.write_text("#!/bin/sh\nid -u; id -G; cat /proc/self/status\nexec ./pair send 2\n")
    script.chmod(0o755)
    out = folder / "out"
    done = lab(written(folder, sender="./who.sh"), "--out", out)
    assert done.returncode == 0, done.stderr
    (flow,) = measure(read_record(out))["flows"]
    # A datagram of 1100 to 1200 B every 2 ms and a little more, for 2 of 3 s.
    assert 1e6 < flow["goodput_bps"] < 3.2e6
    # What only the inside shows is missing, and not zero.
    inside = {"cwnd_mean", "rtt_mean_s", "retransmits", "loss_events", "timeouts"}
    assert {key for key, value in flow.items() if value is None} >= inside
    said = (out / "programs/mine/sender.txt").read_text().splitlines()
    assert said[:2] == [str(USER), str(USER)]
    status = dict(line.split(":\t", 1) for line in said if ":\t" in line)
    for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb"):
        assert int(status[f"Cap{kind}"], 16) == 0, kind
    assert status["NoNewPrivs"] == "1"
    # Processes of its namespace are counted from 1, the one that ends with the run.
    assert 1 < int(status["NSpid"]) < 100
    sent, received = (out / f"programs/mine/{end}.pcap" for end in ("sender", "receiver"))
    assert packets(sent) == packets(received) > 500


@needs_kernel
@pytest.mark.parametrize(
    ("programs", "status", "words"),
    [
        ({"sender": "./none"}, 2, "the program ./none (sender) cannot be started: there is no"),
        ({"sender": "./pair"}, 1, "the program ./pair (sender) ended after "),
        ({"receiver": "./pair"}, 1, "it printed: wanted: send SECONDS, or receive"),
        ({"sender": "./kill.sh"}, 1, "(signal: 9 (SIGKILL))"),
        ({"sender": "sleep 1"}, 1, "(sender): no data of it had reached 10."),
    ],
)
def test_what_a_program_does_wrong_is_said_with_its_name_and_the_time(
    folder: Path, programs: dict[str, str], status: int, words: str
) -> None:
    kill = folder / "kill.sh"
    kill.write_text("#!/bin/sh\n./pair send 0.3\nkill -9 $$\n")
    kill.chmod(0o755)
    done = lab(written(folder, **programs))
    assert done.returncode == status, done.stderr
    assert 'flow "mine": the program' in done.stderr
    assert words in done.stderr


@needs_kernel
def test_root_starts_no_programs(folder: Path) -> None:
    done = call(
        *("run", written(folder), "--engine", "lab", "--allow-programs"),
        before=("env", "-u", "SUDO_UID", "-u", "SUDO_GID"),
    )
    assert done.returncode == 2
    assert "never run as root" in done.stderr


@needs_kernel
def test_programs_end_with_the_run(folder: Path) -> None:
    name = f"forever-{os.getpid()}"
    shutil.copy("/bin/sleep", folder / name)
    file = written(folder, sender=f"./{name} 300")
    file.write_text(file.read_text().replace('"3 s"', '"60 s"'))
    command = [PYTHON, "-m", "fairhaul", "run", str(file), "--engine", "lab", "--allow-programs"]

    def here() -> bool:
        return subprocess.run(["pgrep", "-f", name + " 300"], check=False).returncode == 0

    with locked():
        environment = {**os.environ, **SUDO}
        with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process:
            wait_for(here)
            process.kill()
        wait_for(lambda: not here())


@needs_kernel
@pytest.mark.skipif(not QUINN.exists(), reason="`make stacks` builds the programs of quinn")
def test_the_job_of_the_page_checks_quinn_as_an_ordinary_user(folder: Path) -> None:
    page = (ROOT / "docs/programs.md").read_text()
    file = folder / "programs.toml"
    file.write_text(page.partition("```toml\n")[2].partition("```")[0])
    (command,) = re.findall(r"- run: fairhaul (check programs\.toml .+)", page)
    shutil.copy(QUINN, folder / "quinn-transfer")
    with locked():
        # Of the 10 MB as much as the link carries in 3 s.
        done = call(
            *command.split(),
            *("--set", "duration=3s"),
            before=("env", "-C", str(folder), *ORDINARY),
            more={"HOME": str(folder)},
        )
    assert done.returncode == 0, done.stdout + done.stderr
    verdicts = (folder / "verdicts.xml").read_text()
    # Undecided where the machine is so busy that fewer than five runs are valid.
    assert 'tests="1" failures="0"' in verdicts


def aioquic(folder: Path) -> tuple[str, tuple[str, ...]]:
    """Give the command line of a pair in Python, and what is before a command that starts it.

    Where the tests run as root, Python may be readable for root alone: it is mounted in the folder.
    """
    for name in ("tests/programs/aioquic_transfer.py", *CERTIFICATE):
        shutil.copy(ROOT / name, folder)
    binds = {"base": sys.base_prefix, "site": sysconfig.get_path("purelib")}
    before: tuple[str, ...] = ()
    if os.geteuid() == 0:
        for name in binds:
            (folder / name).mkdir()
        mounts = [f"mount --bind {at} {folder / name}" for name, at in binds.items()]
        before = ("unshare", "--mount", "sh", "-c", " && ".join([*mounts, 'exec "$@"']), "sh")
    else:
        for name, at in binds.items():
            (folder / name).symlink_to(at)
    variables = f"LD_LIBRARY_PATH={folder}/base/lib PYTHONPATH={folder}/site"
    return f"env {variables} {folder}/base/bin/python3 {folder}/aioquic_transfer.py", before


@needs_linux
def test_in_simulated_time_programs_repeat_to_the_byte(folder: Path) -> None:
    """Those of QUIC read the clock: quinn has a runtime in Rust, aioquic that of Python."""
    file = written(folder)
    python, before = aioquic(folder)
    programs = {"aioquic": python}
    if QUINN.exists():
        shutil.copy(QUINN, folder / "quinn-transfer")
        programs["quinn"] = "./quinn-transfer"
    text = file.read_text().partition("[[expect]]")[0]
    for name, program in programs.items():
        ends = f'sender = "{program} send {TRANSFER}", receiver = "{program} receive"'
        text += f'[[flow]]\nname = "{name}"\nrtt = "40 ms"\nprogram = {{ {ends} }}\n'
    file.write_text(text)
    found = []
    for name in ("one", "two"):
        out = folder / name
        options = ("--engine", "linux", "--allow-programs", "--out", out)
        done = call("run", file, *options, before=before, more=SUDO)
        assert done.returncode == 0, done.stderr
        found.append(
            {
                path.relative_to(out): path.read_bytes()
                for path in out.rglob("*")
                if path.suffix in {".parquet", ".pcap", ".csv"}
            }
        )
    one, two = found
    captures = [path for path in one if path.suffix == ".pcap"]
    flows = measure(read_record(folder / "one"))["flows"]
    assert len(captures) == 2 * len(flows) == 2 * (1 + len(programs))
    # A program of QUIC has ended with success, so that all its data have arrived; headers too.
    for flow in flows[1:]:
        assert TRANSFER < flow["goodput_bps"] * DURATION_S / 8 < 1.2 * TRANSFER
    # The keys of TLS come from the system of the program, whose random numbers follow the seed.
    assert one == two


@needs_linux
def test_a_program_that_fails_costs_its_own_result_alone(folder: Path) -> None:
    file = written(folder)
    text = file.read_text().partition("[[expect]]")[0]
    senders = ["./pair send 1", "./pair", "./pair send 2"]
    file.write_text(f'{text}[sweep]\n"flow.mine.program.sender" = {senders}\n')
    options = ("--engine", "linux", "--allow-programs", "--seeds", "1", "--out", folder / "out")
    done = call("sweep", file, *options, more=SUDO)
    assert done.returncode == 1, done.stderr
    assert "2 of 3 results are in" in done.stderr
    assert "the program ./pair (sender) ended after 0." in done.stderr
