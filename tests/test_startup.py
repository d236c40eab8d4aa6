"""How soon the command line and the package are there: by imports, and by processor time.

A clock on the wall tells how busy the machine is. What is imported is the same everywhere, and
processor time is compared with that of programs that need the same libraries, so that a slow
machine is slow for both.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

# What takes long to import, and where it is needed.
HEAVY = {"IPython", "jinja2", "matplotlib", "numpy", "pandas", "polars", "vl_convert"}
LOADED = "import sys; print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
CALL = "import sys; from fairhaul.cli import status_of; status_of(sys.argv[1:])"

TIMES = 10

# The most processor time, in seconds, of the help, and of a run of 1 s with one flow, where the
# import of click takes no more than this; on a slower or busy machine all take longer alike.
HELP_S = 0.15
RUN_S = 0.4
CLICK_S = 0.05
BARE = ("-c", "import click")

ONE_FLOW = """\
duration = "1 s"

[bottleneck]
rate  = "100 Mbit/s"
delay = "10 ms"
queue = { kind = "droptail", capacity = "1 bdp" }

[[flow]]
name       = "one"
rtt        = "40 ms"
controller = "cubic"
"""


def _loaded(code: str, *words: str) -> set[str]:
    """Give the packages that are there after `code`."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{LOADED}", *words],
        check=True,
        capture_output=True,
        text=True,
    )
    return set(done.stderr.splitlines()[-1].split())


def _costs_less_than(times: float, command: Sequence[str], bare: Sequence[str]) -> bool:
    """Whether a command takes less processor time than `times` that of another.

    Both take turns until it holds, because other work on the machine may slow one of them.
    """
    costs: tuple[list[float], list[float]] = ([], [])
    for _ in range(TIMES):
        for cost, words in zip(costs, (command, bare), strict=True):
            cost.append(_processor_s(*words))
        if min(costs[0]) < times * min(costs[1]):
            return True
    return False


def _costs_at_most(processor_s: float, *command: str) -> bool:
    """Whether a command takes at most that processor time, once other work does not slow it."""
    return any(
        _processor_s(*command) <= processor_s * max(1.0, _processor_s(*BARE) / CLICK_S)
        for _ in range(TIMES)
    )


def _processor_s(*command: str) -> float:
    """The processor time that a command took, with its modules compiled, as users have them."""
    keeps_compiled = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    with subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=keeps_compiled,
    ) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime


@pytest.mark.parametrize("verb", [(), ("run",), ("compare",)])
def test_help_imports_nothing_heavy_and_costs_little_more_than_what_it_prints_with(
    verb: tuple[str, ...],
) -> None:
    assert not HEAVY & _loaded(CALL, *verb, "--help")
    # What any program costs that has its command line from click.
    assert _costs_less_than(3, ["-m", "fairhaul", *verb, "--help"], BARE)


def test_the_help_and_a_second_of_one_flow_cost_little_processor_time(tmp_path: Path) -> None:
    file = tmp_path / "one.toml"
    file.write_text(ONE_FLOW)
    assert _costs_at_most(HELP_S, "-m", "fairhaul", "--help")
    assert _costs_at_most(RUN_S, "-m", "fairhaul", "run", str(file))


def test_the_package_imports_nothing_heavy_and_costs_little_more_than_python() -> None:
    assert not (HEAVY | {"click", "rich"}) & _loaded("import fairhaul")
    assert _costs_less_than(3, ["-c", "import fairhaul"], ["-c", "import json, pathlib"])


@pytest.mark.parametrize("option", ["--seeds=2", "--json"])
def test_a_small_run_imports_no_more_than_its_figures_need(small: Path, option: str) -> None:
    loaded = _loaded(CALL, "run", str(small), option)
    assert HEAVY & loaded == {"numpy"}
    # Its figures are computed with numpy, and its table on the screen is laid out by rich.
    bare = ["-c", "import click, numpy, rich.console, rich.table"]
    assert _costs_less_than(3, ["-m", "fairhaul", "run", str(small)], bare)


def test_a_mistake_is_reported_without_the_libraries_of_figures(small: Path) -> None:
    assert not (HEAVY | {"rich"}) & _loaded(CALL, "run", str(small), "--set", "duration=soon")
    assert not (HEAVY | {"rich"}) & _loaded(CALL, "list", "controllers")


def test_polars_is_loaded_for_files_and_for_who_reads_a_table(small: Path) -> None:
    assert "polars" in _loaded(CALL, "run", str(small), f"--out={small.parent / 'out'}")
    run = "import fairhaul, sys; record = fairhaul.run(sys.argv[1]).records[0]"
    assert "polars" not in _loaded(run, str(small))
    assert "polars" in _loaded(f"{run}; record.event", str(small))
