"""The bench: its workloads are what they say, its rows judge, its file is whole or not there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools import ROOT
from tools.bench import Row, cost, peers, sheet
from tools.bench.loads import AIMS, COUNTED, FLOW_SERIES, MANY, RATE_SERIES, W5, W6, WORKLOADS, Load

SERIES = [load for row in (*RATE_SERIES.values(), *FLOW_SERIES.values()) for load in row]


@pytest.mark.parametrize("load", [*WORKLOADS, W6, *SERIES, MANY], ids=lambda load: load.name)
def test_the_first_threshold_is_a_share_of_the_bdp(load: Load) -> None:
    found = load.described()
    link, flows = found["links"][0], found["flows"]
    mean_rtt_s = sum(flow["rtt_s"] for flow in flows) / len(flows)
    bdp = link["rate_bps"] * mean_rtt_s / 8000
    assert link["capacity_packets"] == pytest.approx(bdp, rel=1e-3)
    for flow in flows:
        assert flow["initial_ssthresh"] * len(flows) == pytest.approx(bdp, rel=1e-3)
        assert flow["forward"][0]["rate_bps"] == 10 * link["rate_bps"]
        assert flow["start"] == {"law": "uniform", "from_s": 0.0, "to_s": 1.0}


@pytest.mark.parametrize("load", [W5, COUNTED[-1]], ids=["whole", "scaled down"])
def test_two_fast_flows_lose_packets_soon_after_slow_start(load: Load) -> None:
    # Slow start ends when 96 % of what path and queue hold is outstanding.
    assert load.name == "W5"
    found = load.described()
    link, flows = found["links"][0], found["flows"]
    bdp = link["rate_bps"] * flows[0]["rtt_s"] / 8000
    assert link["capacity_packets"] == pytest.approx(bdp, rel=1e-3)
    assert sum(flow["initial_ssthresh"] for flow in flows) == pytest.approx(0.96 * 2 * bdp)


def test_a_workload_of_a_fast_path_has_no_target() -> None:
    assert set(AIMS) == {load.name for load in WORKLOADS}


def test_a_peer_gets_every_flow_of_a_workload() -> None:
    text, seconds = peers.described(WORKLOADS[1])
    lines = text.splitlines()
    assert seconds == 100
    # 1 Gbit/s for the mean of 80, 140, 200 and five times 140 ms is 17500 packets.
    assert lines[0] == "link 1000000000 0.02 17500 10000000000 1000"
    assert lines[1] == "flow highspeed 0.08 0.0625 2187.5"
    assert [line.split()[1] for line in lines[1:]] == ["highspeed"] * 3 + ["reno"] * 5


@pytest.mark.parametrize(("bound", "reached"), [("least", (False, True)), ("most", (True, False))])
def test_a_row_reports_whether_its_target_is_reached(
    bound: str, reached: tuple[bool, bool]
) -> None:
    for measured, expected in zip((1.0, 3.0), reached, strict=True):
        one = {"part": "p", "load": "l", "figure": "f", "measured": measured, "target": 2.0}
        row = Row(**one, bound=bound)  # type: ignore[arg-type]
        assert row.reached is expected
        assert sheet.line(row).endswith("yes" if expected else "NO")


def test_a_figure_that_could_not_be_measured_says_why() -> None:
    row = Row(part="p", load="W1", figure="htsim", measured=None, why="HTSIM names no folder")
    assert row.reached is None
    assert sheet.line(row).endswith("  not measured: HTSIM names no folder")


def test_a_folder_that_is_no_checkout_of_htsim_is_refused(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tools.bench", "peers", "--htsim", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"bench: HTSIM={tmp_path} is not a checkout of {peers.HTSIM_SOURCE}\n"


def test_the_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    rows = [Row(part="p", load="l", figure="f", measured=1.5, unit="x", target=2)]
    file = tmp_path / "out" / "bench.json"
    sheet.write(rows, file)
    [entry] = json.loads(file.read_text())["rows"]
    assert (entry["measured"], entry["target"], entry["reached"]) == (1.5, 2, True)
    before = file.read_text()
    with pytest.raises(TypeError):
        sheet.write([Row(part="p", load="l", figure="f", measured=object())], file)  # type: ignore[arg-type]
    assert [path.name for path in file.parent.iterdir()] == ["bench.json"]
    assert file.read_text() == before


def test_a_profile_is_added_up_by_the_file_of_each_line() -> None:
    # 5 and 7 on lines of a.rs, 3 on one of b.rs that the compiler put into it; what was
    # called is c.rs, whose 11 are at its own lines and are not counted twice.
    profile = """\
fl=(1) src/a.rs
fn=(1) one
10 5
fi=(2) src/b.rs
+3 3
fe=(1)
cfi=(3) src/c.rs
cfn=(2) two
calls=1 20
-2 11
* 7

fl=(3)
fn=(2)
20 11
"""
    found = cost.per_file(profile)
    assert found == {"src/a.rs": 12, "src/b.rs": 3, "src/c.rs": 11}


def test_a_module_is_its_file_and_its_folder() -> None:
    paths = [
        "crates/a/src/ledger.rs",
        "a/src/ledger/bins.rs",
        "b/src/ledger.rs",
        "a/src/ledgers.rs",
    ]
    inside = [cost.in_module(path, "a/src/ledger") for path in paths]
    assert inside == [True, True, False, False]
