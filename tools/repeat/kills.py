"""Whether a run in Linux that is stopped leaves anything: processes, files or folders.

Each trial starts a command in a place of its own, which has its home, its folder for temporary
files and its cache, and sends a signal to one process at a moment that is drawn. The processes of a
trial are found by the place, which is in their environment or in the path of their program.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal

from fairhaul.linux import Program

Part = Literal["terminal", "command", "host", "program", "child"]
PARTS: Sequence[Part] = ("terminal", "command", "host", "program", "child")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
# How long what is stopped may take to end, and a command that nothing stops may run.
ENDS_S, ENDLESS_S = 60.0, 120.0
# A run that has not ended so long after it lost a process goes on without it.
GOES_ON_S = 20.0
# A run takes some tenths of a second to start, and then goes on for minutes.
LATEST_S = 2.0

SCENARIO = """\
title    = "A run that is stopped"
duration = "100000 s"
packet   = "1500 B"
profile  = "linux-tcp"

[bottleneck]
rate  = "20 Mbit/s"
delay = "5 ms"
queue = { kind = "droptail", capacity = "1 bdp" }

[[flow]]
name       = "F"
rtt        = "20 ms"
controller = "cubic"
"""
RUN = ("run", "long.toml", "--engine", "linux")
SHELL = ("lab", "shell", "long.toml", "--engine", "linux", "--host", "F", "--")
# A program that computes, and one that waits while another computes.
SPINS = ("sh", "-c", "while :; do :; done")
COMMANDS = (RUN, (*RUN, "--seeds", "2", "--jobs", "2"), (*SHELL, *SPINS))


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What is stopped, and when."""

    command: Sequence[str]
    part: Part
    how: signal.Signals
    after_s: float
    """How long after the start, or after the process of this part has started."""
    pick: float
    """Which of several processes of this part, from 0 to 1."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a trial left, and what the command reported."""

    trial: Trial
    status: int | None
    """None if it did not end."""
    said: str
    processes: Sequence[str]
    files: Sequence[str]

    @property
    def mistakes(self) -> list[str]:
        """What is not as it should be."""
        wanted = expected(self.trial)
        found = [f"left: {left}" for left in (*self.processes, *self.files)]
        if self.status not in wanted:
            found.append(f"status {self.status} and not {wanted}")
        if "Traceback" in self.said or "panicked" in self.said:
            found.append("a traceback")
        if self.status != -signal.SIGKILL and not any(
            line.startswith("fairhaul: ") for line in self.said.splitlines()
        ):
            found.append("no sentence")
        return found


def expected(trial: Trial) -> tuple[int, ...]:
    """The exit statuses that are right."""
    if trial.part == "command" and trial.how == signal.SIGKILL:
        return (-signal.SIGKILL,)
    if trial.part in {"terminal", "command"}:
        return (128 + trial.how,)
    # To the program in a shell, the end of the child process that executes it is a wrong access.
    is_program = trial.part == "child" and trial.command[0] == SHELL[0]
    return (1, 128 + signal.SIGSEGV) if is_program else (1,)


def drawn(number: int, seed: int) -> Trial:
    """Draw a trial; the parts and the signals take turns."""
    random = Random(f"{seed} {number}")
    part = PARTS[number % len(PARTS)]
    # A terminal sends what its keys mean to all processes; in a shell they are for the program.
    how = signal.SIGINT if part == "terminal" else random.choice(SIGNALS)
    is_for_program = part == "command" and how == signal.SIGINT
    return Trial(
        command=random.choice(COMMANDS[:2] if is_for_program else COMMANDS),
        part=part,
        how=how,
        after_s=random.uniform(0, LATEST_S),
        pick=random.random(),
    )


def tried(trial: Trial, program: Program) -> Result:
    """Start the command of a trial, stop it, and look for what is left."""
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        place = Path(folder)
        environment = _prepared(place, program)
        before = set(_files(place))
        command = [sys.executable, "-m", "fairhaul", *trial.command]
        with (place / "said").open("w+") as said:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                cwd=place / "work",
                env=environment,
                start_new_session=True,
            )
            try:
                _stop(trial, process, place)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=ENDLESS_S)
                status = process.returncode
                endless = [] if status is not None else [_state(one) for one in of(place)]
            finally:
                process.kill()
                process.wait()
            # Another run of the command is stopped, and so are the processes of a killed one.
            _until(lambda: not of(place), ENDS_S)
            left = of(place)
            for number in left:
                with suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            said.seek(0)
            text = said.read()
        files = sorted(set(_files(place)) - before - {"said"})
        return Result(
            trial=trial,
            status=status,
            said="\n".join([text, *endless]),
            processes=[f"process {number}, {name}" for number, name in left.items()],
            files=files,
        )


def _prepared(place: Path, program: Program) -> dict[str, str]:
    """Make the folders of a trial; gives the environment."""
    for name in ("home", "tmp", "cache", "work"):
        (place / name).mkdir()
    kept = place / "cache/fairhaul/linux" / program.path.parent.name
    shutil.copytree(program.path.parent, kept)
    (place / "work/long.toml").write_text(SCENARIO)
    folders = {"HOME": "home", "TMPDIR": "tmp", "XDG_CACHE_HOME": "cache"}
    own = {name: str(place / folder) for name, folder in folders.items()}
    return {**os.environ, **own, "PYTHONDONTWRITEBYTECODE": "1"}


def _stop(trial: Trial, process: subprocess.Popen[bytes], place: Path) -> None:
    """Send the signal of a trial, once there is a process that gets it."""
    if trial.part in {"terminal", "command"}:
        # The interpreter ends without a sentence if it is interrupted before it has read itself.
        _until(lambda: _has_begun(process.pid), ENDS_S)
    chosen: list[int] = []

    def found() -> bool:
        chosen[:] = _of_part(trial.part, process.pid, place)
        return bool(chosen) or process.poll() is not None

    _until(found, ENDS_S)
    time.sleep(trial.after_s)
    # Others may have taken the place of what was found, and a process may end now. While a program
    # starts it has children that it soon does without: a run that goes on has lost one of these.
    end = time.monotonic() + ENDLESS_S
    while found() and chosen and time.monotonic() < end:
        number = chosen[int(trial.pick * len(chosen))]
        with suppress(ProcessLookupError):
            if trial.part == "terminal":
                os.killpg(number, trial.how)
            else:
                os.kill(number, trial.how)
        if trial.part != "child":
            return
        _until(lambda: process.poll() is not None, GOES_ON_S)


def _has_begun(process: int) -> bool:
    """Whether the command line has taken the signals: it is past its imports."""
    with suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("SigCgt:"):
                return bool(int(line.split()[1], 16) >> (signal.SIGTERM - 1) & 1)
    return True


def _of_part(part: Part, command: int, place: Path) -> list[int]:
    """The processes of a part; the children of a program are the processes that it started."""
    if part in {"terminal", "command"}:
        return [command]
    name = "fairhaul-host" if part == "host" else "linux"
    of_name = [number for number, its in of(place).items() if its == name]
    if part == "host":
        return of_name
    are_children = {number: _parent(number) in of_name for number in of_name}
    return [number for number in of_name if are_children[number] == (part == "child")]


def of(place: Path) -> dict[int, str]:
    """The processes of a trial, with the names of their programs, until they end."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            program = (folder / "exe").readlink()
            if str(place).encode() in (folder / "environ").read_bytes() or place in program.parents:
                found[int(folder.name)] = program.name
    return found


def _state(process: int) -> str:
    """Describe a process that goes on: its parent, what it does, and the signals that wait."""
    lines = [f"process {process}"]
    with suppress(OSError):
        status = Path(f"/proc/{process}/status").read_text().splitlines()
        wanted = ("Name", "State", "PPid", "TracerPid", "SigPnd", "ShdPnd", "SigBlk", "SigCgt")
        lines += [line.replace("\t", " ") for line in status if line.partition(":")[0] in wanted]
        lines.append(f"waits in {Path(f'/proc/{process}/wchan').read_text()}")
    return ", ".join(lines)


def _parent(process: int) -> int | None:
    with suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("PPid:"):
                return int(line.split()[1])
    return None


def _files(place: Path) -> Iterator[str]:
    for path in place.rglob("*"):
        yield str(path.relative_to(place))
    # Where programs of this kind put their memory if they have no file without a name.
    for path in Path("/dev/shm").glob("vm_file-*"):
        yield str(path)


def _until(fact: Callable[[], object], seconds: float) -> None:
    """Wait until something is so, or for some time."""
    end = time.monotonic() + seconds
    while not fact() and time.monotonic() < end:
        time.sleep(0.01)
