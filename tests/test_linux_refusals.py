"""What stands in the way of a run in Linux is named, with what to do about it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fairhaul import linux
from fairhaul.host import process as host
from fairhaul.host.process import Refused
from fairhaul.linux import run as engine
from fairhaul.scenario.read import read_one
from tests import seccomp
from tests.conftest import SMALL
from tests.linux_program import needs_linux

QUICK = SMALL.replace('"20 s"', '"1 s"').replace('"5 s"', '"0 s"')


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a program in a cache of its own."""
    folder = linux.program().path.parent
    cache = tmp_path / "cache"
    shutil.copytree(folder, cache / "fairhaul/linux" / folder.name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    return cache / "fairhaul/linux" / folder.name / "linux"


def run(folder: Path, *before: str, bin_: Path | None = None) -> tuple[int, str]:
    """Run a scenario in a folder; gives the status, and what the command reported."""
    (folder / "quick.toml").write_text(QUICK)
    begin = f"from fairhaul.host import process as p; p.PROGRAM = type(p.PROGRAM)({str(bin_)!r})"
    call = f"{begin if bin_ else ''}\nfrom fairhaul.cli import main; main()"
    command = [*before, sys.executable, "-c", call, "run", "quick.toml", "--engine", "linux"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=600
    )
    return done.returncode, done.stderr


def cut(program: Path) -> None:
    os.truncate(program, 3_000_000)


def another(program: Path) -> None:
    shutil.copyfile("/bin/true", program)


def one_byte(program: Path) -> None:
    with program.open("r+b") as file:
        file.seek(2_000_000)
        byte = file.read(1)
        file.seek(2_000_000)
        file.write(bytes([byte[0] ^ 1]))


@needs_linux
@pytest.mark.parametrize("damage", [cut, another, one_byte])
def test_a_program_that_was_changed_does_not_run(
    damage: Callable[[Path], None], program: Path, tmp_path: Path
) -> None:
    damage(program)
    status, said = run(tmp_path)
    assert status == 2
    assert "is not the one that was built there (its SHA-256 differs); build it again: fair" in said


@needs_linux
def test_a_program_that_cannot_be_executed_is_named_with_the_remedy(
    program: Path, tmp_path: Path
) -> None:
    program.chmod(0o644)
    status, said = run(tmp_path)
    assert status == 2
    assert f"{program} cannot be started: Permission denied" in said
    assert f"chmod +x {program}" in said
    assert "mounted noexec" in said


@needs_linux
def test_without_a_description_there_is_no_program(program: Path, tmp_path: Path) -> None:
    (program.parent / "program.json").write_text("{")
    assert run(tmp_path) == (
        2,
        "fairhaul: there is no program of Linux 6.12; build it: fairhaul linux build\n",
    )


@needs_linux
def test_where_ptrace_is_forbidden_nothing_runs(tmp_path: Path) -> None:
    status, said = run(tmp_path, sys.executable, seccomp.__file__, "--ptrace")
    assert status == 2
    assert "executes processes by ptrace, which is forbidden here" in said
    assert "--cap-add SYS_PTRACE" in said


@needs_linux
@pytest.mark.parametrize("content", [None, b"no library"])
def test_a_library_that_does_not_belong_to_the_program_is_refused(
    content: bytes | None, tmp_path: Path
) -> None:
    place = tmp_path / "bin"
    place.mkdir()
    shutil.copy2(host.PROGRAM, place)
    if content is not None:
        (place / "libfairhaul_linux.so").write_bytes(content)
    status, said = run(tmp_path, bin_=place / host.PROGRAM.name)
    assert status == 2
    assert "are of different versions, or one is missing: install Fairhaul again" in said


def test_more_memory_than_the_program_can_have_is_refused() -> None:
    # 100 Gbit/s and 100 s are more than a billion packets in flight, if the run is as long.
    far = QUICK.replace("10 Mbit/s", "100 Gbit/s").replace('"40 ms"', '"100 s"')
    far = far.replace('duration = "1 s"', 'duration = "200 s"')
    with pytest.raises(Refused, match="has at most 262144 MB in simulated time; reduce rates"):
        engine.memory_mb(read_one(far))


def test_the_memory_has_room_for_the_buffers_that_are_requested() -> None:
    # The kernel makes 2 GB of 1 GB, and TCP has half of its memory.
    large = QUICK.replace('controller = "reno"', 'controller = "reno"\nsend_buffer = "1 GB"', 1)
    assert engine.memory_mb(read_one(large)) * 0.5 > 2e9 / 2**20
