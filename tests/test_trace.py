"""Evidence per packet, held against the record and against other people's tools."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest

from tests.conftest import SMALL, Fairhaul

LOSSY = SMALL.replace("[[flow]]", "loss = 0.01\n[[flow]]", 1)


@pytest.fixture
def traced(fairhaul: Fairhaul, tmp_path: Path) -> Path:
    """Run a lossy scenario and trace it in every format; give the directory."""
    file = tmp_path / "lossy.toml"
    file.write_text(LOSSY)
    for form in ("pcapng", "qlog", "csv"):
        done = fairhaul(
            "run", str(file), "--trace", "near", "--format", form, "--out", str(tmp_path / form)
        )
        assert done.returncode == 0, done.stderr
    return tmp_path


def test_the_trace_counts_what_the_record_counts(traced: Path) -> None:
    table = pl.read_csv(traced / "csv" / "near.csv").filter(~pl.col("opens"))
    series = pl.read_parquet(traced / "csv" / "flow_series.parquet").filter(
        pl.col("flow").cast(str) == "near"
    )
    seen = dict(table.group_by("what").len().iter_rows())
    assert seen["sent"] == series["sent"].sum()
    assert seen["dropped"] == series["lost"].sum() > 0
    assert table.filter(what="sent")["again"].sum() == series["retransmitted"].sum()
    assert seen["received"] * 960 == series["delivered_bytes"].sum()
    assert table["t_s"].is_sorted()


def test_wireshark_finds_no_error_in_the_tcp_that_it_sees(traced: Path) -> None:
    tshark = shutil.which("tshark")
    if tshark is None:
        pytest.skip("tshark is not installed (Debian: tshark)")
    capture = traced / "pcapng" / "near.pcapng"

    def count(condition: str) -> int:
        command = [
            tshark,
            "-r",
            str(capture),
            "-Y",
            condition,
            "-T",
            "fields",
            "-e",
            "frame.number",
        ]
        return len(subprocess.run(command, capture_output=True, check=True).stdout.split())

    assert count("tcp.analysis.retransmission") > 0, "this path loses packets"
    assert count("tcp.options.sack") > 0
    assert count("_ws.malformed || _ws.expert.severity == error") == 0
    assert count("tcp.analysis.lost_segment || tcp.analysis.ack_lost_segment") == 0
    assert count("tcp.analysis.window_full || tcp.analysis.zero_window") == 0
    table = pl.read_csv(traced / "csv" / "near.csv")
    assert count("tcp") == table.filter(pl.col("what").is_in(["sent", "ack_received"])).height


def test_the_log_tells_every_packet_of_the_connection(traced: Path) -> None:
    log = json.loads((traced / "qlog" / "near.qlog").read_text())
    events = log["traces"][0]["events"]
    table = pl.read_csv(traced / "csv" / "near.csv").filter(~pl.col("opens"))
    sent = [event for event in events if event["name"] == "transport:packet_sent"]
    assert len(sent) == table.filter(what="sent").height
    times = [event["time"] for event in events]
    assert times == sorted(times)
    acknowledged = [event for event in events if event["name"] == "transport:packet_received"]
    assert any(len(event["data"]["frames"][0]["acked_ranges"]) > 1 for event in acknowledged)


def test_a_flow_that_is_not_there_leaves_no_file(fairhaul: Fairhaul, tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    done = fairhaul("run", str(file), "--trace", "neer", "--out", str(tmp_path / "out"))
    assert done.returncode == 2
    assert "did you mean 'near'?" in done.stderr
    assert not (tmp_path / "out").exists()
    assert fairhaul("run", str(file), "--trace", "near").returncode == 2
