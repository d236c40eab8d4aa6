"""Linux as a program: changes to the kernel's sources, the cache, and what is refused."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from fairhaul.cli import status_of
from fairhaul.host.process import Refused
from fairhaul.linux import (
    building,
    cache,
    changes,
    compiling,
    debian,
    ours,
    program,
    programs,
    remove,
    requirements,
    sources,
)
from fairhaul.linux.changes import Change
from fairhaul.linux.progress import BuildProgress, Steps

FACTS: dict[str, Any] = {
    "hz": 250,
    "max_tcp_header": 320,
    "max_skb_frags": 17,
    "send_buffer_per_packet": 4352,
    "struct_ops": True,
    "accecn": False,
    "controllers": ["cubic", "reno"],
    "qdiscs": ["fq", "pfifo"],
}


@pytest.fixture(autouse=True)
def private_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("FAIRHAUL_KERNEL", raising=False)
    return tmp_path / "cache/fairhaul/linux"


def store(version: str, files: str | None = None, source: str = "") -> Path:
    """Put a program into the cache."""
    digest = ours.digest_of([(version, (files or "").encode())])
    place = cache.folder() / f"{version}-{digest}"
    place.mkdir(parents=True)
    (place / "linux").write_text(version)
    content = {
        "version": version,
        "digest": digest,
        "files": files or ours.digest(),
        "sha256": "0" * 64,
        "source": source,
        "compiler": "gcc 12.2.0",
        "facts": FACTS,
    }
    (place / "program.json").write_text(json.dumps(content))
    return place


def tree(folder: Path, version: str = "6.12.7", files: Mapping[str, str] | None = None) -> Path:
    """A folder that looks like the kernel's source, with the lines that are changed."""
    one, two, three = version.split(".")
    content = {
        "Makefile": f"VERSION = {one}\nPATCHLEVEL = {two}\nSUBLEVEL = {three}\nEXTRAVERSION =\n",
        "arch/um/Kconfig": "config HZ\n\tint\n\tdefault 100\n",
        "arch/um/drivers/Makefile": "obj-y := fd.o\n",
        **(files or {}),
    }
    for name, text in content.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def rules(folder: Path, text: str) -> Path:
    """A folder like `kernel`, with these changes."""
    folder.mkdir(exist_ok=True)
    (folder / "changes.toml").write_text(text)
    return folder


HZ = """
[[change]]
name = "timer frequency"
reason = "HZ as in Debian's kernels"
[[change.edit]]
file = "arch/um/Kconfig"
line = "config HZ"
pattern = '^(config HZ\\n\\tint\\n\\tdefault )\\d+$'
put = '\\g<1>250'
"""


def test_every_change_has_a_reason_and_one_way_to_find_its_line() -> None:
    for change in changes.read():
        assert change.reason
        assert bool(change.find) != bool(change.pattern), change.name
        assert bool(change.line) == bool(change.pattern), change.name


def test_a_change_replaces_the_number_of_a_line() -> None:
    change = Change(
        name="HZ", reason="", file="Kconfig", pattern=r"^(\tdefault )\d+$", put=r"\g<1>250"
    )
    assert change.apply("config HZ\n\tdefault 100\n") == "config HZ\n\tdefault 250\n"


def test_a_change_whose_text_occurs_twice_is_not_applied() -> None:
    change = Change(name="a", reason="", file="f", find="x", put="y")
    assert change.apply("x x") is None
    every = Change(name="a", reason="", file="f", find="x", put="y", every=True)
    assert every.apply("x x") == "y y"


@pytest.mark.parametrize(
    ("version", "concerned"),
    [("6.12.117", False), ("6.13", True), ("6.17.9", True), ("6.18", False), ("7.0-rc1", False)],
)
def test_a_change_concerns_a_range_of_versions(version: str, concerned: bool) -> None:
    change = Change(name="a", reason="", file="f", find="x", put="y", since="6.13", before="6.18")
    assert change.concerns(version) == concerned


def test_a_line_that_is_not_found_is_named_with_its_file(tmp_path: Path) -> None:
    kernel = tree(tmp_path / "kernel", files={"arch/um/Kconfig": "config HZ_FIXED\n"})
    with pytest.raises(Refused, match=r"arch/um/Kconfig of Linux 6\.12\.7 has no line `config HZ`"):
        building.apply(kernel, tmp_path / "old", "6.12.7", rules(tmp_path / "ours", HZ))


def test_a_file_that_is_not_found_is_named(tmp_path: Path) -> None:
    kernel = tree(tmp_path / "kernel")
    (kernel / "arch/um/Kconfig").unlink()
    with pytest.raises(Refused, match=r"Linux 6\.12\.7 has no file arch/um/Kconfig"):
        building.apply(kernel, tmp_path / "old", "6.12.7", rules(tmp_path / "ours", HZ))


def test_changes_that_are_applied_again_leave_the_time_of_a_file(tmp_path: Path) -> None:
    kernel, folder = tree(tmp_path / "kernel"), rules(tmp_path / "ours", HZ)
    (folder / "fairhaul_a.c").write_text("int a;\n")
    file, copy = kernel / "arch/um/Kconfig", kernel / "arch/um/drivers/fairhaul_a.c"
    building.apply(kernel, tmp_path / "old", "6.12.7", folder)
    assert "default 250" in file.read_text()
    for path in (file, copy):
        os.utime(path, (1, 1))
    building.apply(kernel, tmp_path / "old", "6.12.7", folder)
    assert [path.stat().st_mtime for path in (file, copy)] == [1, 1]


def test_a_change_that_is_dropped_restores_the_file(tmp_path: Path) -> None:
    kernel, folder = tree(tmp_path / "kernel"), rules(tmp_path / "ours", HZ)
    (folder / "fairhaul_a.c").write_text("int a;\n")
    building.apply(kernel, tmp_path / "old", "6.12.7", folder)
    rules(folder, HZ.replace("250", "1000"))
    building.apply(kernel, tmp_path / "old", "6.12.7", folder)
    assert "default 1000" in (kernel / "arch/um/Kconfig").read_text()
    rules(folder, "change = []")
    (folder / "fairhaul_a.c").unlink()
    building.apply(kernel, tmp_path / "old", "6.12.7", folder)
    assert "default 100\n" in (kernel / "arch/um/Kconfig").read_text()
    assert not (kernel / "arch/um/drivers/fairhaul_a.c").exists()


def test_the_digest_follows_every_name_and_content(tmp_path: Path) -> None:
    folder = rules(tmp_path / "ours", HZ)
    before = ours.digest(folder)
    assert len(before) == 12
    (folder / "config").write_text("CONFIG_NET=y\n")
    after = ours.digest(folder)
    (folder / "config").rename(folder / "config2")
    assert len({before, after, ours.digest(folder)}) == 3


def test_the_newest_version_with_the_first_numbers_is_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for version in ("6.1.192", "6.12.9", "6.12.117", "6.18.35"):
        store(version)
    assert program("6.12").version == "6.12.117"
    assert program("6.1").version == "6.1.192"
    assert program().version == "6.18.35"
    assert [each.version for each in programs()] == ["6.18.35", "6.12.117", "6.12.9", "6.1.192"]
    monkeypatch.setenv("FAIRHAUL_KERNEL", "6.12")
    assert program().version == "6.12.117"
    assert program("6.1").version == "6.1.192"


def test_without_a_program_the_command_that_builds_it_is_named() -> None:
    with pytest.raises(Refused, match=r"no program of Linux; build it: fairhaul linux build$"):
        program()
    store("6.12.117")
    with pytest.raises(Refused, match=r"no program of Linux 6\.18; build it: .* SOURCE"):
        program("6.18")


def test_a_program_of_other_files_is_refused_with_the_command() -> None:
    store("6.18.35", files="0123456789ab", source="/src/linux-6.18.tar.xz")
    with pytest.raises(Refused, match=r"other files .*fairhaul linux build /src/linux-6\.18\.tar"):
        program()
    store("6.12.117")
    assert program().version == "6.12.117"


def test_a_folder_without_a_description_is_no_program() -> None:
    place = store("6.12.117")
    (place / "program.json").write_text("{")
    assert programs() == []


def test_removal_is_limited_to_a_version() -> None:
    for version in ("6.1.192", "6.12.117"):
        store(version)
        (cache.folder() / f"builds/{version}-0123456789ab").mkdir(parents=True)
    assert len(remove("6.1")) == 2
    assert [each.version for each in programs()] == ["6.12.117"]
    assert len(remove(builds_only=True)) == 1
    assert [each.version for each in programs()] == ["6.12.117"]
    remove()
    assert not cache.folder().exists()
    assert remove() == []


def test_the_facts_are_read_from_the_configuration(tmp_path: Path) -> None:
    config = tmp_path / ".config"
    config.write_text(
        "CONFIG_TCP_CONG_ADVANCED=y\nCONFIG_TCP_CONG_HSTCP=y\n# CONFIG_TCP_CONG_LP is not set\n"
        "CONFIG_NET_SCH_FQ=y\nCONFIG_NET_SCH_FIFO=y\nCONFIG_BPF_JIT=y\n"
    )
    facts = building.facts_of({"hz": 250}, config, "6.18.0")
    assert facts["controllers"] == ["highspeed", "reno"]
    assert facts["qdiscs"] == ["bfifo", "fq", "pfifo", "pfifo_fast"]
    assert not facts["struct_ops"]
    assert facts["accecn"]
    assert facts["hz"] == 250


def copied(source: Path | str, tmp_path: Path) -> Path:
    return sources.copied(str(source), tmp_path / "builds", Steps())


def test_a_folder_without_a_kernel_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with pytest.raises(Refused, match=r"no source of Linux .*fairhaul linux build$"):
        copied(tmp_path / "other", tmp_path)


def test_a_version_that_is_too_old_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"Linux 5\.15\.9 is older than 6\.1"):
        copied(tree(tmp_path / "kernel", "5.15.9"), tmp_path)


def test_a_file_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "linux.zip"
    file.write_text("")
    with pytest.raises(Refused, match="neither a tree of Linux nor an archive"):
        copied(file, tmp_path)
    with pytest.raises(Refused, match="there is no "):
        copied(tmp_path / "missing", tmp_path)


def test_a_damaged_archive_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    file = tmp_path / "linux.tar.gz"
    file.write_bytes(b"no archive")
    with pytest.raises(Refused, match=r"linux\.tar\.gz cannot be unpacked"):
        copied(file, tmp_path)
    assert list((tmp_path / "builds").iterdir()) == []


def test_an_archive_without_a_kernel_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other/Makefile").write_text("all:\n")
    file = tmp_path / "other.tar.gz"
    with tarfile.open(file, "w:gz") as archive:
        archive.add(tmp_path / "other", "other")
    with pytest.raises(Refused, match=r"other\.tar\.gz contains no source of Linux"):
        copied(file, tmp_path)
    assert list((tmp_path / "builds").iterdir()) == []


def test_an_archive_is_unpacked_once_without_what_is_not_compiled(tmp_path: Path) -> None:
    files = {"sound/core.c": "int a;", "sound/Kconfig": "menu", "arch/arm/a.c": ""}
    tree(tmp_path / "linux-6.12.7", files=files)
    file = tmp_path / "linux.tar.xz"
    with tarfile.open(file, "w:xz") as archive:
        archive.add(tmp_path / "linux-6.12.7", "linux-6.12.7")
    place = copied(file, tmp_path)
    assert place.name.startswith("6.12.7-")
    assert (place / "source/sound/Kconfig").is_file()
    assert not (place / "source/sound/core.c").exists()
    assert not (place / "source/arch/arm/a.c").exists()
    (place / "source/kept").touch()
    assert copied(file, tmp_path) == place
    assert (place / "source/kept").exists()


def test_a_tree_is_only_read_and_its_changes_are_copied(tmp_path: Path) -> None:
    built = {"include/generated/autoconf.h": "", ".config": "", "init/main.o": ""}
    kernel = tree(tmp_path / "kernel", files={"init/main.c": "int a;", **built})
    place = copied(kernel, tmp_path)
    assert not any((place / "source" / name).exists() for name in built)
    building.apply(place / "source", place / "originals", "6.12.7", rules(tmp_path / "ours", HZ))
    (kernel / "init/main.c").write_text("int changed;")
    (kernel / "arch/um/Kconfig").write_text("config HZ\n\tint\n\tdefault 100\n\nconfig OTHER\n")
    assert copied(kernel, tmp_path) == place
    assert (place / "source/init/main.c").read_text() == "int changed;"
    building.apply(place / "source", place / "originals", "6.12.7", rules(tmp_path / "ours", HZ))
    text = (place / "source/arch/um/Kconfig").read_text()
    assert text == "config HZ\n\tint\n\tdefault 250\n\nconfig OTHER\n"
    assert "default 100" in (kernel / "arch/um/Kconfig").read_text()


def test_missing_tools_are_named_in_one_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirements, "_has", lambda header: header != "libelf.h")
    found = shutil.which
    missing = {"flex", "bison", "pahole"}
    monkeypatch.setattr(
        "shutil.which", lambda name: None if name in missing else found(name) or name
    )
    expected = r"sudo apt-get install flex bison pahole libelf-dev$"
    with pytest.raises(Refused, match=expected):
        requirements.check_machine()


@pytest.mark.parametrize("machine", ["aarch64", "riscv64"])
def test_another_machine_is_refused(machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    with pytest.raises(Refused, match=f"only on Linux on x86-64, and this is Linux on {machine}"):
        requirements.check_machine()


def test_a_compiler_that_is_too_old_is_refused(tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc")
    script = tmp_path / "scripts/min-tool-version.sh"
    script.parent.mkdir()
    script.write_text('case "$1" in gcc) echo 99.1.0;; *) exit 1;; esac\n')
    with pytest.raises(
        Refused, match=r"Linux 6\.12\.7 requires gcc 99\.1\.0 or later, and this is"
    ):
        requirements.check_compiler(tmp_path, "6.12.7")


def test_a_full_disk_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=2**29)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    with pytest.raises(Refused, match=r"needs 2 GiB, and .* has 0\.5 GiB left; .*XDG_CACHE_HOME"):
        requirements.check_folder(tmp_path)


def test_a_folder_without_execution_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("subprocess.run", run)
    with pytest.raises(Refused, match=r"mounted noexec.*XDG_CACHE_HOME=FOLDER"):
        requirements.check_folder(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_without_apt_another_source_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(Refused, match=r"no apt-get.*fairhaul linux build SOURCE"):
        copied("linux-source-6.12", tmp_path)


def test_a_package_that_apt_does_not_know_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    def run(arguments: list[str], _: Path) -> subprocess.CompletedProcess[str]:
        asked.append(arguments)
        return subprocess.CompletedProcess(arguments, 0, "", "")

    monkeypatch.setattr("shutil.which", lambda name: name)
    monkeypatch.setattr(debian, "_run", run)
    with pytest.raises(Refused, match=r"apt knows no package linux-source-6\.99"):
        copied("linux-source-6.99", tmp_path)
    # The lists of the system, then lists of the user's own.
    assert [arguments[-1] for arguments in asked] == [
        "linux-source-6.99",
        "update",
        "linux-source-6.99",
    ]


def test_a_second_build_is_refused_while_one_runs(private_cache: Path) -> None:
    private_cache.mkdir(parents=True)
    with (
        building._only_one(private_cache, "/src/linux"),
        building._only_one(private_cache, "/src/other"),
        pytest.raises(Refused, match="another build of /src/linux uses"),
        building._only_one(private_cache, "/src/linux"),
    ):
        pass


def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a program called make first in the path."""
    program = tmp_path / "bin/make"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    (tmp_path / "build/objects").mkdir(parents=True)
    (tmp_path / "build/objects/.config").touch()


def test_an_error_of_the_compiler_is_shown_with_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, monkeypatch, "echo 'a.c:1: error: no such thing'; exit 2")
    with pytest.raises(Exception, match=r"a\.c:1: error: no such thing; .*make\.log"):
        compiling.compile_all(tmp_path, tmp_path / "build/objects", Steps())


def test_a_disk_that_fills_up_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, monkeypatch, "echo 'as: No space left on device'; exit 2")
    with pytest.raises(Refused, match="a build of Linux needs 2 GiB"):
        compiling.compile_all(tmp_path, tmp_path / "build/objects", Steps())


def test_the_progress_counts_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, monkeypatch, "echo '  CC      a.o'; echo '  LD      b.o'; echo '  CC      c.o'")
    texts: list[str] = []
    parts: list[float] = []

    def on_progress(state: BuildProgress) -> None:
        texts.append(state.text)
        parts.append(state.part)

    compiling.compile_all(tmp_path, tmp_path / "build/objects", Steps(on_progress))
    assert texts[-1] == f"compiling Linux: 2 of about {compiling.OBJECTS} objects"
    assert parts == sorted(parts)


def test_the_commands_list_and_remove(capsys: pytest.CaptureFixture[str]) -> None:
    store("6.12.117")
    store("6.18.35", files="0123456789ab", source="/src/linux")
    assert status_of(["linux", "list"]) == 0
    text = capsys.readouterr().out
    assert "HZ 250, MAX_TCP_HEADER 320 B, MAX_SKB_FRAGS 17, send buffer 2 x 4352 B" in text
    assert "built from other files; again: fairhaul linux build /src/linux" in text
    assert status_of(["linux", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["programs"]
    assert [each["version"] for each in listed] == ["6.18.35", "6.12.117"]
    assert [each["current"] for each in listed] == [False, True]
    assert status_of(["linux", "remove"]) == 0
    assert not programs()


def test_bad_input_of_the_command_is_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        requirements.check_machine()
    except Refused as reason:
        pytest.skip(str(reason))
    assert status_of(["linux", "build", "/nowhere"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "there is no /nowhere" in error


def test_the_page_lists_every_change_with_its_reason() -> None:
    page = (Path(__file__).parents[1] / "docs/linux-build.md").read_text()
    heading = "| change | files | reason |\n|---|---|---|\n"
    table = page.split(heading)[1].split("\n\n")[0].splitlines()
    assert table == changes.table(changes.read())
    for file in ours.FOLDER.glob("*.c"):
        assert f"| `{file.name}` | " in page
