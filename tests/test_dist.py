"""Releases in part; `make dist-check` builds whole ones twice, `make trial` installs one."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
import tomllib
from dataclasses import replace
from pathlib import Path

import click
import pytest
from packageurl import PackageURL

from fairhaul.record.libraries import LIBRARIES
from tests.test_install import assert_no_folder_of_this_machine, plain_files
from tools import ROOT
from tools.dist import ARCHITECTURES, sources
from tools.dist.components import PROGRAMS, crates
from tools.dist.debian import divide, needed, pack
from tools.dist.layout import Installation, lay_out
from tools.dist.licences import text
from tools.dist.sbom import write


@pytest.fixture
def checkout() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("a source distribution is made from a checkout under git")


@pytest.mark.usefixtures("checkout")
def test_a_source_distribution_has_the_same_bytes_again(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    first, second = (sources.write(folder) for folder in folders)
    assert first.read_bytes() == second.read_bytes()
    with tarfile.open(first) as tar:
        members = tar.getmembers()
    names = {member.name.partition("/")[2] for member in members}
    assert {"PKG-INFO", "pyproject.toml", "Cargo.lock", "Makefile"} <= names
    assert {"python/fairhaul/scenarios", "crates/host/src/main.rs"} <= names
    assert {(one.uid, one.gid, one.uname, one.mtime) for one in members} == {
        (0, 0, "", sources.epoch())
    }


@pytest.fixture
def small(tmp_path: Path) -> Installation:
    """The layout without the packages of Python."""
    there = Installation(
        root=tmp_path / "root",
        prefix=Path("/usr"),
        python=Path("/usr/bin/python3.11"),
        python_version="3.11",
    )
    there.site.mkdir(parents=True)
    lay_out(there, {"copyright": b"as in Debian\n"})
    return there


def test_the_layout_names_the_installed_program_and_no_folder_of_this_machine(
    small: Installation,
) -> None:
    for file in plain_files(small.root):
        assert_no_folder_of_this_machine(file.read_bytes(), file)
    for unit in ("fairhaul.service", "fairhaul-watch.service"):
        lines = small.at(f"lib/systemd/system/{unit}").read_text()
        assert "=/usr/bin/fairhaul kernel" in lines
        assert "/opt/" not in lines
    assert small.at("bin/fairhaul").read_text().startswith("#!/usr/lib/fairhaul/bin/python3 -P\n")
    for name in ("share/man/man1/fairhaul-kernel-install.1.gz", "share/doc/fairhaul/docs/index.md"):
        assert small.at(name).is_file()


@pytest.fixture
def packable(small: Installation) -> Installation:
    """The same with what `dpkg-deb` needs to know."""
    if shutil.which("dpkg-deb") is None:
        pytest.skip("dpkg-deb is not installed (Debian: dpkg)")
    control = (
        (ROOT / "scripts/dist/debian/fairhaul/control").read_text().replace("@VERSION@", "1.0")
    )
    control = control.replace("@ARCHITECTURE@", "all").replace("@SIZE@", "1")
    (small.root / "DEBIAN").mkdir()
    (small.root / "DEBIAN/control").write_text(control.replace("@DEPENDS@", "python3"))
    return small


def test_packing_twice_gives_the_same_bytes(packable: Installation, tmp_path: Path) -> None:
    copy = tmp_path / "another" / "folder"
    shutil.copytree(packable.root, copy, symlinks=True)
    first = pack(packable.root, tmp_path / "one.deb", 50)
    second = pack(copy, tmp_path / "two.deb", 50)
    assert first.read_bytes() == second.read_bytes()
    listed = subprocess.run(["dpkg-deb", "-c", first], capture_output=True, text=True, check=True)
    assert {line.split()[1] for line in listed.stdout.splitlines()} == {"root/root"}


def test_the_large_libraries_are_in_the_second_package(small: Installation) -> None:
    names = ["polars", "_polars_runtime_32", "polars-2.1.0.dist-info", "vl_convert"]
    for name in (*names, "numpy"):
        (small.site / name).mkdir()
    second = replace(small, root=divide(small))
    assert [path.name for path in small.site.iterdir()] == ["numpy"]
    assert sorted(path.name for path in second.site.iterdir()) == sorted(names)
    assert set(LIBRARIES) <= set(names)
    assert second.at("share/doc/fairhaul-figures/copyright").is_file()


def test_a_package_that_is_too_large_is_refused(packable: Installation, tmp_path: Path) -> None:
    with pytest.raises(
        click.ClickException, match=r"large.deb has \d+\.\d MB, and may have 0.1 MB"
    ):
        pack(packable.root, tmp_path / "large.deb", 0.1)


def test_every_linked_crate_has_a_licence_and_is_in_the_bill(tmp_path: Path) -> None:
    for architecture in ARCHITECTURES:
        components = crates(architecture)
        names = {one.name for one in components}
        assert {"pyo3", "libbpf-rs", "libbpf/libbpf", "nix", "toml_edit"} <= names
        # Crates for tests, and those that run in the compiler, are not linked.
        assert not names & {"proptest", "serde_derive", "insta"}
        assert [one.name for one in components if not one.licence] == []
        write(components, tmp_path / "bill.json")
        bill = json.loads((tmp_path / "bill.json").read_text())
        urls = {PackageURL.from_string(one["purl"]).name for one in bill["components"]}
        assert {"pyo3", "libbpf"} <= urls
        locks = [tomllib.loads((ROOT / of / "Cargo.lock").read_text()) for of in PROGRAMS]
        versions = {(one["name"], one["version"]) for lock in locks for one in lock["package"]}
        assert {(one.name, one.version) for one in components if one.kind == "cargo"} <= versions
        assert "Permission is hereby granted, free of charge" in text(components)


def test_libraries_that_a_program_needs_are_found() -> None:
    if shutil.which("objdump") is None:
        pytest.skip("objdump is not installed (Debian: binutils)")
    host = ROOT / "python/fairhaul/bin"
    if not (host / "fairhaul-host").is_file():
        pytest.skip("fairhaul-host is not built here (scripts/host build says why)")
    assert "libc.so.6" in needed(host)
