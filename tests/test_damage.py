"""Damaged records and directories that cannot be written: a sentence, and nothing lost."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import click
import pytest

import fairhaul as package
from fairhaul import _core
from fairhaul.cli import status_of
from fairhaul.files import drafts
from fairhaul.files.drafts import new_directory
from fairhaul.record.integrity import digest_of_meta

from .conftest import ENDLESS, SMALL, Fairhaul
from .test_records import seal


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A record that a test may damage."""
    directory = tmp_path / "record"
    package.write_record(package.run(SMALL, {"duration": "6 s"}).records[0], directory)
    return directory


def test_a_damaged_record_is_refused_with_a_sentence(
    damaged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    meta = json.loads((damaged / "meta.json").read_text())
    scenario = meta["scenario"]

    def sealed(**altered: Any) -> str:
        found = {**meta, **altered}
        del found["digests"]
        return json.dumps(found | {"digests": {"meta": digest_of_meta(found)}})

    no_digests = {key: value for key, value in meta.items() if key != "digests"}
    cases: dict[str, tuple[str | bytes, str]] = {
        "list": ("[]", "meta.json is not an object"),
        "bare": (json.dumps({"schema": 2, "digests": {}}), "meta is damaged"),
        "text": (sealed(scenario={**scenario, "duration_s": "long"}), "duration_s is not a number"),
        "short": (sealed(scenario={**scenario, "warmup_s": 6.0}), "is not between 0 and"),
        "flow": (sealed(scenario={**scenario, "flows": [{}, {}]}), "flows[0] has no 'name'"),
        "deep": ("[" * 100_000, "meta.json is not JSON"),
        "bytes": (b"\xff{}", "not UTF-8 at byte 0"),
        "past": ('{"schema": 1}', "has schema 1, but this version reads schema 2; run the"),
        "future": ('{"schema": 3}', "has schema 3, but this version reads schema 2"),
        "stripped": (json.dumps(no_digests), "it has no digests"),
        "altered": (json.dumps({**meta, "seed": 2}), "meta is damaged"),
    }
    for name, (text, reason) in cases.items():
        copy = tmp_path / name
        shutil.copytree(damaged, copy)
        (copy / "meta.json").write_bytes(text if isinstance(text, bytes) else text.encode())
        assert status_of(["report", str(copy)]) == 2, name
        said = capsys.readouterr().err
        assert reason in said, name
        assert "Traceback" not in said
        assert not (copy / "report.html").exists()


@pytest.mark.parametrize("damage_is_found", [True, False])
def test_tables_that_changed_places_or_are_cut_are_refused(
    damaged: Path, capsys: pytest.CaptureFixture[str], damage_is_found: bool
) -> None:
    flows, links = (damaged / f"{name}_series.parquet" for name in ("flow", "link"))
    whole = flows.read_bytes()
    flows.write_bytes(links.read_bytes())
    if not damage_is_found:
        seal(damaged)
    assert status_of(["report", str(damaged)]) == 2
    reason = "SHA-256" if damage_is_found else "has no column"
    assert reason in capsys.readouterr().err
    for content in (whole[:-100], whole[:40] + b"\0" * 40 + whole[80:], b""):
        flows.write_bytes(content)
        if not damage_is_found:
            seal(damaged)
        assert status_of(["report", str(damaged)]) == 2
        assert "cannot read the record" in capsys.readouterr().err


def test_an_empty_directory_is_filled_and_stays_the_same_directory(
    small: Path, tmp_path: Path, fairhaul: Fairhaul
) -> None:
    empty, link = tmp_path / "empty", tmp_path / "link"
    empty.mkdir(mode=0o710)
    before = empty.stat()
    link.symlink_to(empty)
    assert fairhaul("run", small, "--out", "link").returncode == 0
    after = empty.stat()
    # Neither a mount point nor the working directory of a shell can be replaced by renaming.
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)
    assert link.is_symlink()
    assert package.read_record(link).meta["seed"] == 1
    assert drafts.INNER not in {entry.name for entry in empty.iterdir()}


def test_the_working_directory_can_be_written(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    assert status_of(["run", str(small), "--out", ".", "--seeds", "2"]) == 0
    assert len(list(Path().iterdir())) == 2
    assert status_of(["run", str(small), "--out", "."]) == 2


def test_a_dangling_link_leads_to_where_it_points(small: Path, fairhaul: Fairhaul) -> None:
    link = small.parent / "link"
    link.symlink_to("later")
    assert fairhaul("run", small, "--out", "link").returncode == 0
    assert link.is_symlink()
    assert package.read_record(small.parent / "later").meta["seed"] == 1
    link.unlink()
    link.symlink_to("link")
    done = fairhaul("run", small, "--out", "link")
    assert (done.returncode, "link to itself" in done.stderr) == (2, True)


def test_obstacles_are_reported_before_anything_runs(tmp_path: Path, fairhaul: Fairhaul) -> None:
    (tmp_path / "endless.toml").write_text(ENDLESS)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    for out, reason in [
        ("endless.toml", "endless.toml: is a file"),
        ("endless.toml/x", "endless.toml: is a file, not a directory"),
        ("endless.toml/x/y", "endless.toml: is a file, not a directory"),
        ("full", "full: exists and is not empty"),
        ("n" * 300, "file name too long"),
    ]:
        done = fairhaul("run", "endless.toml", "--out", out)
        assert (done.returncode, done.stdout) == (2, ""), out
        assert reason in done.stderr
        assert "Errno" not in done.stderr
        assert ".draft" not in done.stderr


def test_two_runs_do_not_write_to_one_directory(tmp_path: Path) -> None:
    for directory in (tmp_path / "new", tmp_path):
        with (
            new_directory(directory),
            pytest.raises(FileExistsError, match="being written by another run"),
            new_directory(directory),
        ):
            raise AssertionError
        with new_directory(directory) as draft:
            (draft / "file").touch()
        assert [entry.name for entry in directory.iterdir()] == ["file"]
        with (
            pytest.raises(FileExistsError, match="is not empty"),
            new_directory(directory),
        ):
            raise AssertionError
        shutil.rmtree(directory)
        tmp_path.mkdir(exist_ok=True)


def is_locked(path: Path) -> bool:
    """Whether some process has a lock on a file or directory, which may be gone."""
    try:
        place = f":{path.stat().st_ino} "
    except FileNotFoundError:
        return False
    return place in Path("/proc/locks").read_text(encoding="ascii")


def test_leftovers_of_a_killed_run_do_not_block_another(small: Path, fairhaul: Fairhaul) -> None:
    endless = small.parent / "endless.toml"
    endless.write_text(ENDLESS)
    (small.parent / "empty").mkdir()
    for out in ("out", "empty"):
        before = set(small.parent.rglob("*"))
        command = [sys.executable, "-m", "fairhaul", "run", str(endless), "--out", out]
        killed = subprocess.Popen(command, cwd=small.parent)
        # Whoever has the lock has the directory.
        while not any(map(is_locked, set(small.parent.rglob("*")) - before)):
            assert killed.poll() is None
            time.sleep(0.05)
        done = fairhaul("run", small, "--out", out)
        assert done.returncode == 2
        assert "is being written by another run" in done.stderr
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert set(small.parent.rglob("*")) != before
        done = fairhaul("run", small, "--out", out)
        assert (done.returncode, done.stderr) == (0, "")
        assert package.read_record(small.parent / out).meta["seed"] == 1
        assert not list(small.parent.glob(".*"))
        assert not list(small.parent.glob("*/.*"))


def test_a_draft_that_cannot_be_renamed_is_kept_and_its_path_reported(tmp_path: Path) -> None:
    out = tmp_path / "out"

    def write() -> None:
        with new_directory(out) as draft:
            (draft / "meta.json").write_text("{}")
            out.mkdir()
            (out / "of somebody else").touch()

    with pytest.raises(OSError, match=r"the complete records are in .*/out-2"):
        write()
    assert (tmp_path / "out-2" / "meta.json").read_text() == "{}"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["out", "out-2"]


def test_records_that_are_complete_outlive_a_run_that_fails(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = _core.Run

    class Fails:
        reached_s = 0.0

        def __init__(self, scenario: package.Scenario, *_: object) -> None:
            self.scenario = scenario

        def run(self) -> _core.Outcome:
            if self.scenario.seed == 2:
                raise package.RunError("it broke")
            return real(self.scenario).run()

        def stop(self) -> None:
            pass

    monkeypatch.setattr("fairhaul._core.Run", Fails)
    out = small.parent / "out"
    args = ["run", str(small), "--out", str(out), "--seeds", "2", "--jobs", "1"]
    assert status_of(args) == 1
    said = capsys.readouterr().err
    assert said == f"fairhaul: it broke; the complete records are in {out}-2\n"
    assert [entry.name for entry in Path(f"{out}-2").iterdir()] == ["001-two-flows-seed-1"]
    assert not out.exists()


def test_a_full_disk_is_a_sentence_and_complete_records_are_kept(
    small: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = Path.write_bytes

    def full(self: Path, content: bytes) -> int:
        if "seed-2" in self.parent.name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self))
        return real(self, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    out = small.parent / "out"
    args = ["run", str(small), "--out", str(out), "--seeds", "2", "--jobs", "1"]
    assert status_of(args) == 1
    said = capsys.readouterr()
    assert "002-two-flows-seed-2" in said.err
    assert "no space left on device" in said.err
    assert "free some space, or write elsewhere" in said.err
    for word in ("Errno", ".draft", "Traceback"):
        assert word not in said.err
    assert f"complete records are in {out}-2" in said.err
    assert package.read_record(f"{out}-2/001-two-flows-seed-1").meta["seed"] == 1
    # All had run when the last could not be written, so its figures are shown.
    assert "Jain's index" in said.out


def test_records_are_kept_where_the_report_fails(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("fairhaul.report.write", fails)
    out = small.parent / "out"
    assert status_of(["run", str(small), "--out", str(out), "--report"]) == 1
    assert package.read_record(out).meta["seed"] == 1


def test_a_full_standard_output_is_a_sentence(small: Path) -> None:
    command = [sys.executable, "-m", "fairhaul", "run", str(small)]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "fairhaul: no space left on device; free some space, or write elsewhere\n"


def test_the_status_of_an_ended_process_names_its_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(*_: object, **__: object) -> None:
        from fairhaul.cli import Ended

        try:
            raise Ended(15)
        except KeyboardInterrupt as error:
            raise click.Abort from error

    monkeypatch.setattr("fairhaul.cli.fairhaul.main", ended)
    assert status_of([]) == 143
