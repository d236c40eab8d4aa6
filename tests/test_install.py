"""What `make install` installs, in an environment of its own and without a compiler."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fairhaul import _core
from fairhaul.host import process as host
from tests.kernel_host import without_ports
from tools.dist import sources
from tools.dist.install import LIST, install, remove

ROOT = Path(__file__).parents[1]
ENGINE = ROOT / "python" / "fairhaul" / "studio" / "engine.wasm.gz"
CARGO = os.environ.get("CARGO_HOME", str(Path.home() / ".cargo"))

COMPARE = (
    *("compare", "fhstcp", "reno", "--rate", "5Mbit/s", "--rtt", "20ms,40ms", "--buffer", "20ms"),
    *("--size", "1GB", "--against", "reno", "--json"),
)

Call = Callable[..., str]


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder below which everything was installed."""
    prefix = tmp_path_factory.mktemp("install") / "prefix"
    install(prefix, Path("/"))
    return prefix


@pytest.fixture
def call(prefix: Path, tmp_path: Path) -> Call:
    """Call a program of the installation where no compiler and no package of others is found."""
    bare = {"PATH": str(prefix / "bin"), "HOME": str(tmp_path)}

    def called(program: str, *words: str | Path) -> str:
        done = subprocess.run(
            [prefix / program, *words],
            cwd=tmp_path,
            env=bare,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return called


def test_what_is_installed_runs(prefix: Path, call: Call) -> None:
    assert sources.version() in call("bin/fairhaul", "--version")
    place = call("lib/fairhaul/bin/python3", "-c", "import fairhaul; print(fairhaul.__file__)")
    assert Path(place.strip()).is_relative_to(prefix)
    found = json.loads(call("bin/fairhaul", *COMPARE))["values"]
    assert found["stationary"]
    assert [row["controller"] for row in found["controllers"]] == ["fhstcp", "reno"]


def test_everything_of_ours_is_installed(prefix: Path, call: Call, tmp_path: Path) -> None:
    (package,) = prefix.glob("lib/fairhaul/lib/python3.*/site-packages/fairhaul")
    assert (package / "studies").is_dir()
    assert not {"gallery", "bench", "tools"} & {path.name for path in package.parent.iterdir()}
    # What goes into Linux as a program.
    for file in (ROOT / "python/fairhaul/linux/kernel").iterdir():
        assert (package / "linux/kernel" / file.name).is_file()
    # The papers and their scenarios, the examples of the documentation, and the studio.
    papers = "from fairhaul.studies.papers import PAPERS, paper_of; print(*map(paper_of, PAPERS))"
    assert "Table 1: the factor c" in call("lib/fairhaul/bin/python3", "-c", papers)
    example = package / "scenarios/examples/slow-start.toml"
    assert "hystart++" in call("bin/fairhaul", "run", example)
    if ENGINE.is_file():
        call("bin/fairhaul", "studio", "--no-open", "--out", tmp_path / "studio.html")
    # The board for Grafana, and the library that writes the metrics.
    board = "from fairhaul.host import export; print(export.DASHBOARD.read_text())"
    board += "; import prometheus_client"
    assert json.loads(call("lib/fairhaul/bin/python3", "-c", board))["uid"] == "fairhaul-flows"
    # The eBPF ports, and the program that installs them, if it could be built.
    if without_ports() is None:
        ports = json.loads(call("bin/fairhaul", "kernel", "list", "--json"))["ports"]
        names = [file.name for file in (ROOT / "crates/ports/bpf").glob("*.bpf.c")]
        assert [one["name"] for one in ports] == sorted(n.removesuffix(".bpf.c") for n in names)


def test_the_program_of_the_wheel_is_the_command_line(prefix: Path) -> None:
    (entries,) = prefix.glob(
        "lib/fairhaul/lib/python3.*/site-packages/fairhaul-*.dist-info/entry_points.txt"
    )
    assert "fairhaul=fairhaul.cli:main" in entries.read_text().replace(" ", "")


def test_no_file_of_ours_names_a_folder_of_this_machine(prefix: Path) -> None:
    # Wheels of others name the folders of the machines on which they were built.
    others = prefix.glob("lib/fairhaul/lib/python3.*/site-packages/*")
    foreign = {path for path in others if not path.name.startswith("fairhaul")}
    for file in plain_files(prefix):
        if not foreign.intersection(file.parents):
            assert_no_folder_of_this_machine(file.read_bytes(), file)


def test_what_is_built_holds_no_path_of_the_machine() -> None:
    for file in (Path(_core.__file__), host.PROGRAM):
        if file.is_file():
            assert_no_folder_of_this_machine(file.read_bytes(), file)
    if ENGINE.is_file():
        assert_no_folder_of_this_machine(gzip.decompress(ENGINE.read_bytes()), ENGINE)


def test_what_is_installed_is_removed_again(prefix: Path) -> None:
    (prefix / "bin/of-another-package").touch()
    remove(prefix, Path("/"))
    assert sorted(prefix.rglob("*")) == [prefix / "bin", prefix / "bin/of-another-package"]


def test_removing_what_is_not_installed_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tools.dist", "uninstall", "--prefix", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert LIST in done.stderr


def plain_files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]


def assert_no_folder_of_this_machine(content: bytes, file: Path) -> None:
    for path in (str(ROOT), CARGO):
        at = content.find(path.encode() + b"/")
        assert at < 0, f"{file}: {content[at : at + 120]!r}: build it with `make`"
