"""The wheel in an empty environment without a compiler, as a user of the package installs it."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

from fairhaul import _core
from fairhaul.host import process as host
from tests.kernel_host import without_ports
from tools.bench.cost import with_rust

ROOT = Path(__file__).parents[1]

COMPARE = (
    *("compare", "fhstcp", "reno", "--rate", "5Mbit/s", "--rtt", "20ms,40ms", "--buffer", "20ms"),
    *("--size", "1GB", "--against", "reno", "--json"),
)

ENGINE = ROOT / "python" / "fairhaul" / "studio" / "engine.wasm.gz"


def test_the_wheel_runs_where_there_is_no_compiler(tmp_path: Path) -> None:
    wheel = _build(tmp_path / "wheel")
    names = zipfile.ZipFile(wheel).namelist()
    folders = {name.split("/")[1] for name in names if "/" in name}
    assert "studies" in folders
    assert not folders & {"gallery", "bench", "tools"}
    # Everything of ours that goes into Linux as a program.
    for file in (ROOT / "python/fairhaul/linux/kernel").iterdir():
        assert f"fairhaul/linux/kernel/{file.name}" in names
    home = tmp_path / "empty"
    venv.create(home, with_pip=True)
    there = home / ("Scripts" if os.name == "nt" else "bin")
    bare = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "VIRTUAL_ENV", "CC"}}
    bare["PATH"] = str(there)
    for tool in ("cc", "gcc", "clang", "cargo", "rustc"):
        assert shutil.which(tool, path=bare["PATH"]) is None

    def call(*command: str | Path) -> str:
        done = subprocess.run(
            command, cwd=tmp_path, env=bare, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    # `--only-binary`: a dependency that would have to be compiled is refused.
    install = ("install", "-q", "--only-binary", ":all:", "-c", ROOT / "requirements.lock")
    call(there / "python", "-m", "pip", *install, wheel)
    place = call(there / "python", "-c", "import fairhaul; print(fairhaul.__file__)")
    assert Path(place.strip()).is_relative_to(home)
    found = json.loads(call(there / "fairhaul", *COMPARE))["values"]
    assert found["stationary"]
    assert [row["controller"] for row in found["controllers"]] == ["fhstcp", "reno"]
    # The papers and their scenarios are in the wheel, too.
    papers = "from fairhaul.studies.papers import PAPERS, paper_of; print(*map(paper_of, PAPERS))"
    assert "Table 1: the factor c" in call(there / "python", "-c", papers)
    # So are the examples of the documentation.
    example = Path(place.strip()).parent / "scenarios/examples/slow-start.toml"
    assert "hystart++" in call(there / "fairhaul", "run", example)
    # So are the board for Grafana, and the library that writes the metrics.
    board = "from fairhaul.host import export; print(export.DASHBOARD.read_text())"
    assert json.loads(call(there / "python", "-c", board))["uid"] == "fairhaul-flows"
    call(there / "python", "-c", "import prometheus_client")
    # So is the studio, if its engine could be built.
    if ENGINE.is_file():
        call(there / "fairhaul", "studio", "--no-open", "--out", tmp_path / "studio.html")
    # So are the eBPF ports, and the program that installs them, if it could be built.
    if without_ports() is not None:
        return
    ports = json.loads(call(there / "fairhaul", "kernel", "list", "--json"))["ports"]
    sources = (ROOT / "crates/ports/bpf").glob("*.bpf.c")
    assert [one["name"] for one in ports] == sorted(s.name.removesuffix(".bpf.c") for s in sources)


def test_what_is_built_holds_no_path_of_the_machine() -> None:
    built = [Path(_core.__file__)] + ([host.PROGRAM] if host.PROGRAM.is_file() else [])
    cargo = os.environ.get("CARGO_HOME", str(Path.home() / ".cargo"))
    contents = [(file, file.read_bytes()) for file in built]
    if ENGINE.is_file():
        contents.append((ENGINE, gzip.decompress(ENGINE.read_bytes())))
    for file, content in contents:
        for path in (str(ROOT), cargo):
            at = content.find(path.encode() + b"/")
            assert at < 0, f"{file}: {content[at : at + 120]!r}: build it with `make`"


def _build(out: Path) -> Path:
    """Build the wheel: after `make` has built the extension nothing is left to compile."""
    options = ("--release", "--locked", "--interpreter", sys.executable, "--out", str(out))
    command = [sys.executable, "-m", "maturin", "build", *options]
    done = subprocess.run(
        command, cwd=ROOT, env=with_rust(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = out.glob("*.whl")
    return wheel
