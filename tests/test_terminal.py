"""What the terminal shows: tables at 80 columns, many flows, and a run that is watched."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

import fairhaul as package
from fairhaul.cli import watch
from fairhaul.cli.flow_table import flow_table
from fairhaul.cli.progress import described
from fairhaul.record.record import TABLES
from fairhaul.results import figure_rows
from fairhaul.results.summary import summary
from fairhaul.runs.run_pool import Progress
from fairhaul.statistics.estimate import Estimate, text
from fairhaul.text.digits import Decimals, Scientific
from fairhaul.text.table import Table

from .conftest import SMALL, Fairhaul


def printed(grid: Table, width: int, *, terminal: bool = True) -> list[str]:
    screen = Console(width=width, record=True, file=io.StringIO(), force_terminal=terminal)
    screen.print(grid, crop=False)
    return screen.export_text().splitlines()


def on_a_terminal(*args: str | Path, columns: int = 80, progress: bool = True) -> str:
    """Call the command line on a terminal, and give what it shows."""
    master, slave = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm"}
    process = subprocess.Popen(
        [sys.executable, "-m", "fairhaul", *map(str, args)],
        stdin=slave,
        stdout=slave,
        stderr=slave if progress else subprocess.DEVNULL,
        env=environment,
    )
    os.close(slave)
    shown = b""
    while True:
        try:
            part = os.read(master, 1 << 16)
        except OSError:  # Linux reports the end of a terminal as an error
            break
        if not part:
            break
        shown += part
    os.close(master)
    assert process.wait() == 0
    return shown.decode()


def plain(shown: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)


def test_no_word_and_no_interval_is_broken_at_80_columns() -> None:
    figures = summary(package.run(SMALL, seeds=6).measures)
    flows = figure_rows.tables_of({"sim": figures})[0]
    lines = printed(flows, 80)
    assert max(map(len, lines)) <= 80
    shown = flows.shown(80)
    assert [flows.columns[column] for column in shown[:3]] == ["name", "controller", "Mbit/s"]
    for row in flows.rows:
        assert any(all(row[column] in line for column in shown) for line in lines), row
    text = " ".join(" ".join(lines).split())
    dropped = [name for column, name in enumerate(flows.columns) if column not in shown]
    assert f"Columns that do not fit: {', '.join(dropped)}. A wider terminal or a pipe" in text


def test_columns_are_dropped_by_priority_until_the_others_fit() -> None:
    grid = Table(title="T", columns=["name", "a", "b", "c"], rows=[["one", "1" * 9, "2" * 9, "3"]])
    # With the space behind each: name 6, a and b 11, c 3, of which the last space is not needed.
    assert grid.shown(30) == [0, 1, 2, 3]
    assert [grid.shown(width) for width in (29, 27, 26, 1)] == [[0, 1, 2], [0, 1, 2], [0, 1], [0]]
    # The columns `least` go first, the last of them before all.
    ordered = replace(grid, least=["b", "a"])
    assert [ordered.shown(width) for width in (29, 19, 18)] == [[0, 2, 3], [0, 2, 3], [0, 3]]
    lines = printed(grid, 29)
    assert max(map(len, lines)) <= 29
    assert {"1" * 9, "2" * 9} <= {word for line in lines for word in line.split()}
    assert "Columns that do not fit: c. A" in " ".join(" ".join(lines).split())


def test_a_pipe_has_all_columns() -> None:
    cells = [f"{number:010}" for number in range(40)]
    grid = Table(columns=[f"c{number}" for number in range(40)], rows=[cells])
    line = next(line for line in printed(grid, 80, terminal=False) if cells[0] in line)
    assert line.split() == cells


def test_a_number_that_all_rows_share_is_said_once() -> None:
    rows = [["a", "1", "0", "-"], ["b", "2", "0", "-"]]
    table = Table(columns=["flow", "x", "RTOs", "marks"], rows=rows).condensed()
    assert (table.columns, table.rows) == (["flow", "x"], [["a", "1"], ["b", "2"]])
    assert table.notes == ["In every row: RTOs 0."]
    # Of a single row nothing is gained, and words stay.
    single = Table(columns=["flow", "x"], rows=[["a", "1"]])
    assert single.condensed() is single
    same = Table(columns=["flow", "x", "RTOs"], rows=[["a", "1", "0"], ["b", "1", "0"]]).condensed()
    assert (same.columns, same.notes) == (["flow", "x"], ["In every row: RTOs 0."])
    alike = Table(columns=["flow", "verdict"], rows=[["a", "met"], ["b", "met"]], words=2)
    assert alike.condensed() is alike


def test_a_number_has_the_digits_that_its_interval_justifies() -> None:
    def written(mean: float, half: float, digits: int = 2, scale: float = 1.0) -> str:
        known = Estimate(mean=mean, low=mean - half, high=mean + half, runs=9)
        return text(known, Decimals(digits=digits, scale=scale))

    assert written(6803.29, 392.35) == "6800 [6410, 7200]"
    assert written(46648.7, 10074.4) == "47000 [37000, 57000]"
    assert written(6803.29e6, 392.35e6, scale=1e-6) == "6800 [6410, 7200]"
    assert written(5.8034, 0.0996) == "5.80 [5.70, 5.90]"
    # Never more digits than the form has.
    assert written(5.8034, 0.00012) == "5.80"
    # Both numbers have one exponent.
    loss = Estimate(mean=1.42e-3, low=1.36e-3, high=1.48e-3, runs=9)
    assert text(loss, Scientific()) == "1.42e-3 [1.36e-3, 1.48e-3]"
    wide = Estimate(mean=2.0e-5, low=1.0e-6, high=9.0e-5, runs=9)
    assert text(wide, Scientific()) == "2.0e-5 [0.1e-5, 9.0e-5]"
    assert [Scientific()(value) for value in (0, 1.44e-3, 0.25)] == ["0", "1.4e-3", "2.5e-1"]


def test_of_many_flows_the_ends_and_quantiles_are_printed(small: Path, fairhaul: Fairhaul) -> None:
    small.write_text(SMALL.replace('name       = "far"', 'name       = "far"\ncount = 29'))
    done = fairhaul("run", small, "--set", "duration=6 s")
    assert done.returncode == 0
    names = re.findall(r"^(near|far\[\d+\])  ", done.stdout, re.MULTILINE)
    assert len(names) == 20
    assert names[0] == "near"
    assert names[-1] == "far[28]"
    assert "30 flows: the first 10 and the last 10 are printed. --json prints all" in done.stdout
    found = package.run(small, {"duration": "6 s"}).measures[0]["flows"]
    rates = sorted(flow["goodput_bps"] for flow in found)
    rows = dict(re.findall(r"^(smallest|median|largest) +([\d.]+)", done.stdout, re.MULTILINE))
    assert float(rows["smallest"]) == pytest.approx(rates[0] / 1e6, abs=0.006)
    assert float(rows["largest"]) == pytest.approx(rates[-1] / 1e6, abs=0.006)
    assert float(rows["median"]) == pytest.approx((rates[14] + rates[15]) / 2e6, abs=0.006)


def test_the_words_beside_the_bar_have_no_loose_end() -> None:
    def state(*running: str) -> Progress:
        return Progress(
            reached_s=1, total_s=1, part=1, finished=3, runs=3, running=running, figured=()
        )

    assert described(state()) == "3/3 runs"
    assert described(state("a", "b")) == "3/3 runs; a; b"
    assert described(replace(state("a"), runs=None)) == "3 runs; a", (
        "a search has no number of runs"
    )


def test_a_watched_run_has_the_same_record(small: Path, fairhaul: Fairhaul) -> None:
    for place, more in (("plain", ()), ("watched", ("--watch",))):
        done = fairhaul("run", small, "--out", place, *more)
        assert done.returncode == 0
    for table in TABLES:
        plain_bytes, watched_bytes = (
            (small.parent / place / f"{table}.parquet").read_bytes()
            for place in ("plain", "watched")
        )
        assert plain_bytes == watched_bytes, table
    metas = [package.read_record(small.parent / place).meta for place in ("plain", "watched")]
    same = [{k: v for k, v in meta.items() if k != "cpu_s"} for meta in metas]
    assert same[0] == same[1]
    # Without a terminal, a line for each twentieth.
    lines = done.stderr.splitlines()
    assert len(lines) == watch.LINES
    assert re.fullmatch(r"fairhaul: 20 s: near \d+ %, far \d+ %", lines[-1])


def test_shares_are_those_since_the_last_pause() -> None:
    seen = list(watch.sights(package.Simulation(SMALL)))
    assert len(seen) >= watch.PARTS
    assert seen[-1].now_s == seen[-1].end_s == 20
    for sight in seen[20:]:
        assert sum(sight.shares.values()) == pytest.approx(1)
    assert len({round(sight.shares["near"], 3) for sight in seen}) > 20


def test_a_terminal_shows_bars_while_a_run_goes_on_and_removes_them(small: Path) -> None:
    shown = on_a_terminal("run", small, "--watch")
    before, _, after = shown.rpartition("\x1b[2K")
    assert "share of the packets acknowledged" in plain(before)
    assert "10 of 20 s" in plain(before)
    assert "share of the packets" not in plain(after)
    assert "Jain's index" in plain(after)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (("--seeds", "2"), "one run can be watched, and 2 are planned"),
        (("--engine", "lab", "--seeds", "1"), "only runs of the simulator"),
        (("--trace", "near", "--out", "x"), "--trace cannot be watched"),
    ],
)
def test_what_cannot_be_watched_is_refused(
    small: Path, fairhaul: Fairhaul, more: tuple[str, ...], why: str
) -> None:
    done = fairhaul("run", small, "--watch", *more)
    assert done.returncode == 2
    assert why in done.stderr
    assert not (small.parent / "x").exists()


def test_flows_are_one_table_at_80_columns() -> None:
    flow = {
        **{"controller": "fh_fhstcp", "namespace": "", "rate_bps": 912.4e6, "cwnd": 10_500},
        **{"local": "192.168.100.100:50001", "remote": "192.168.200.200:5201", "bounds": None},
        **{"ssthresh": 2_147_483_647, "rtt_ms": 102.53, "min_rtt_ms": 99.1, "sent": 10_000_000},
        **{"recent": None, "retransmitted": 120, "pacing_rate_bps": 1.2e9},
        "limits": {"receive window": 0.71, "congestion window": 0.29},
    }
    bounds = {"cwnd_min": 9000, "cwnd_max": 11_000, "rtt_min_ms": 99.1, "rtt_max_ms": 120.0}
    table = flow_table("Flows", [flow, {**flow, "bounds": bounds, "limits": None}])
    lines = printed(table, 80)
    heads = [line.split() for line in lines if line.startswith("controller")]
    assert heads == [["controller", "to", "Mbit/s", "RTT", "ms", "retrans", "%"]]
    assert any("912.4  102.53 [99.10, 120.00]" in line for line in lines)
    every = printed(table, 80, terminal=False)
    assert any("10500 [9000, 11000]" in line for line in every)
    assert sum("receive window 71%" in line for line in every) == 1


@pytest.mark.parametrize("words", ["list controllers", "list queues red", "reproduce list"])
def test_a_list_breaks_between_words_alone(words: str, fairhaul: Fairhaul) -> None:
    lines = plain(on_a_terminal(*words.split())).splitlines()
    assert max(map(len, lines)) <= 80
    whole = fairhaul(*words.split()).stdout
    assert len(whole.splitlines()) < len(lines)
    assert " ".join(lines).split() == whole.split()


@pytest.mark.parametrize("group", [[], ["kernel"], ["linux"], ["lab"], ["results"]])
def test_the_help_of_a_group_has_whole_sentences(group: list[str]) -> None:
    text = plain(on_a_terminal(*group, "--help"))
    assert max(map(len, text.splitlines())) <= 80
    assert "..." not in text.partition("Options:")[2]


def test_json_does_not_depend_on_the_width_of_the_terminal(small: Path) -> None:
    narrow, wide = (
        re.sub(
            r'"cpu_s": (\{\s+"mean": )?[\d.e-]+',
            "",
            on_a_terminal("run", small, "--json", columns=columns, progress=False),
        )
        for columns in (40, 200)
    )
    assert narrow == wide
    assert '"schema"' in narrow
