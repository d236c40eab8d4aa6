"""What several tests share: a scenario that runs in milliseconds, and the command line."""

from __future__ import annotations

import io
import os
import subprocess
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from fairhaul.cli import status_of

SMALL = """\
title    = "Two flows"
seed     = 1
duration = "20 s"
warmup   = "5 s"
profile  = "plain"

[bottleneck]
rate  = "10 Mbit/s"
delay = "10 ms"
queue = { kind = "droptail", capacity = "20 ms" }

[[flow]]
name       = "near"
rtt        = "40 ms"
controller = "reno"

[[flow]]
name       = "far"
rtt        = "80 ms"
controller = "reno"
start      = "uniform 0 s..1 s"
"""

ENDLESS = """\
duration = "8000000 s"
profile = "plain"

[bottleneck]
rate  = "100 Gbit/s"
delay = "10 ms"
queue = { kind = "droptail", capacity = "10 ms" }

[[flow]]
name       = "one"
controller = "reno"

[[flow]]
name       = "two"
controller = "reno"
"""

# The kernel of the engine `linux` in all tests, whatever others the user has built.
os.environ["FAIRHAUL_KERNEL"] = "6.12"

Fairhaul = Callable[..., subprocess.CompletedProcess[str]]

# Files that take half a minute or more. They begin first, so that none of them is left at the end.
LONG = frozenset(
    {"test_kernel_in_linux", "test_install", "test_studio_page", "test_score", "test_cost"}
    | {"test_tcpeval", "test_fhstcp", "test_cubic_fairness", "test_site", "test_attack"}
    | {"test_printed_commands", "test_notebook", "test_page", "test_advise", "test_cluster"}
)
# Files with tests that wait for the lock of the real kernel, which the tests in real time hold.
WAITING = frozenset({"test_trial", "test_xcp_on_linux", "test_older_kernel"})


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of long files first, and those that wait last."""

    def place(item: pytest.Item) -> int:
        name = item.path.stem
        return 0 if name in LONG else 2 if name in WAITING else 1

    items.sort(key=place)


def called(*args: str | Path) -> subprocess.CompletedProcess[str]:
    """Call the command line in this process."""
    words = list(map(str, args))
    written = io.BytesIO(), io.BytesIO()
    out, err = (io.TextIOWrapper(of, "utf-8", write_through=True) for of in written)
    with redirect_stdout(out), redirect_stderr(err):
        status = status_of(words)
    texts = (of.getvalue().decode() for of in written)
    return subprocess.CompletedProcess(["fairhaul", *words], status, *texts)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The file of a small scenario, in a directory with nothing else."""
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    return file


@pytest.fixture
def fairhaul(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fairhaul:
    """The command line, as a person calls it in an empty directory, but in this process."""
    monkeypatch.chdir(tmp_path)
    return called


@pytest.fixture(scope="session")
def html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The studio on disk."""
    from fairhaul import studio
    from tests.studio.browser import CHROMIUM

    if CHROMIUM is None:
        pytest.skip("there is no chromium")
    try:
        return studio.write(tmp_path_factory.mktemp("studio") / "studio.html")
    except FileNotFoundError:
        pytest.skip("the engine as WebAssembly is not built: make studio")
