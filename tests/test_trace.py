"""Evidence per packet, held against the record and against other people's tools."""

from __future__ import annotations

import json
import shutil
import struct
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


def test_the_trace_agrees_with_the_record(traced: Path) -> None:
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


def test_marks_stand_in_the_headers_of_a_capture(fairhaul: Fairhaul, tmp_path: Path) -> None:
    tshark = shutil.which("tshark")
    if tshark is None:
        pytest.skip("tshark is not installed (Debian: tshark)")
    file = tmp_path / "marks.toml"
    capable = LOSSY.replace("[[flow]]", "[[flow]]\necn = true")
    file.write_text(capable.replace("capacity =", 'mark = "10 packets", capacity ='))
    for form in ("pcapng", "csv"):
        out = tmp_path / form
        done = fairhaul("run", file, "--trace", "near", "--format", form, "--out", out)
        assert done.returncode == 0, done.stderr
    capture = tmp_path / "pcapng" / "near.pcapng"
    command = [tshark, "-r", str(capture), "-T", "fields"]
    fields = ("ip.src", "ip.dsfield.ecn", "tcp.flags.syn", "tcp.flags.ece", "tcp.flags.cwr")
    command += [part for field in fields for part in ("-e", field)]
    lines = subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()
    told = [
        (source == "192.0.2.1", int(ecn), *(flag in ("1", "True") for flag in flags))
        for source, ecn, *flags in (line.split("\t") for line in lines)
    ]
    table = pl.read_csv(tmp_path / "csv" / "near.csv")
    columns = ("what", "opens", "ecn", "cwr", "ece")
    seen = table.filter(pl.col("what").is_in(["sent", "ack_received"])).select(columns)
    codes = {"Not-ECT": 0, "ECT(0)": 2}
    wanted = [
        # The SYN has both flags, the SYN/ACK one.
        (what == "sent", codes[ecn], opens, ece or opens, cwr or (opens and what == "sent"))
        for what, opens, ecn, cwr, ece in seen.iter_rows()
    ]
    assert told == wanted
    assert table.filter(what="received", ecn="CE").height > 0
    assert table.filter("again")["ecn"].unique().to_list() == ["Not-ECT"]
    assert table["cwr"].sum() > 0
    assert table["ece"].sum() > 0
    command = [tshark, "-r", str(capture), "-Y", "_ws.expert.severity == error"]
    assert subprocess.run(command, capture_output=True, check=True).stdout == b""


def test_congestion_headers_are_not_counted_as_payload(fairhaul: Fairhaul, tmp_path: Path) -> None:
    tshark = shutil.which("tshark")
    if tshark is None:
        pytest.skip("tshark is not installed (Debian: tshark)")
    file = tmp_path / "xcp.toml"
    file.write_text(LOSSY.replace('"reno"', '"xcp"').replace('"droptail"', '"xcp"'))
    for form in ("pcapng", "qlog", "csv"):
        done = fairhaul("run", file, "--trace", "near", "--format", form, "--out", tmp_path / form)
        assert done.returncode == 0, done.stderr
    table = pl.read_csv(tmp_path / "csv" / "near.csv")
    assert table.filter(~pl.col("opens"))["bytes"].unique().sort().to_list() == [60, 1000]
    assert table.filter("opens")["bytes"].unique().to_list() == [40]
    # 20 bytes of IP, 20 of TCP and 20 of XCP leave 940.
    command = [tshark, "-r", str(tmp_path / "pcapng" / "near.pcapng"), "-T", "fields"]
    command += ["-e", "tcp.len", "-e", "tcp.seq"]
    told = subprocess.run([*command, "-Y", "tcp.len > 0"], capture_output=True, check=True)
    segments = [tuple(map(int, line.split())) for line in told.stdout.splitlines()]
    sent = table.filter(~pl.col("opens"), pl.col("what") == "sent")
    assert segments == [(940, 1 + 940 * number) for number in sent["number"]]
    assert sent["again"].sum() > 0
    wrong = "_ws.expert.severity == error || tcp.analysis.lost_segment"
    wrong += " || tcp.analysis.ack_lost_segment"
    assert not subprocess.run([*command, "-Y", wrong], capture_output=True, check=True).stdout
    log = json.loads((tmp_path / "qlog" / "near.qlog").read_text())
    frames = [event["data"].get("frames", [{}])[0] for event in log["traces"][0]["events"]]
    streams = [frame for frame in frames if frame.get("frame_type") == "stream"]
    assert {frame["length"] for frame in streams} == {940}
    assert {frame["offset"] % 940 for frame in streams} == {0}


def test_a_congestion_header_beside_reports_of_losses_leaves_a_capture(
    fairhaul: Fairhaul, tmp_path: Path
) -> None:
    # With time stamps and three SACK blocks it is more than options of TCP can be, 40 bytes.
    file = tmp_path / "lossy.toml"
    file.write_text("""\
duration = "3 s"
[bottleneck]
rate  = "10 Mbit/s"
delay = "5 ms"
loss  = 0.02
queue = { kind = "xcp", capacity = "100 packets" }
[[flow]]
name       = "x"
rtt        = "20 ms"
controller = "xcp"
""")
    done = fairhaul("run", file, "--trace", "x", "--out", "out")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out/x.pcapng").stat().st_size > 100_000


def test_the_log_has_every_packet_of_the_connection(traced: Path) -> None:
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


def test_datagrams_are_not_written_as_tcp(fairhaul: Fairhaul, tmp_path: Path) -> None:
    file = tmp_path / "datagrams.toml"
    traffic = 'traffic = { kind = "cbr", rate = "2 Mbit/s" }'
    file.write_text(LOSSY.replace('controller = "reno"', traffic, 1))
    for form in ("pcapng", "qlog", "csv"):
        done = fairhaul("run", file, "--trace", "near", "--format", form, "--out", tmp_path / form)
        assert done.returncode == 0, done.stderr
    table = pl.read_csv(tmp_path / "csv" / "near.csv")
    sent = table.filter(what="sent")
    packets = _ipv4((tmp_path / "pcapng" / "near.pcapng").read_bytes())
    assert len(packets) == sent.height > 0
    for packet, size, number in zip(packets, sent["bytes"], sent["number"], strict=True):
        head = struct.unpack("!BBHHHBBH4s4s", packet[:20])
        # UDP, and lengths that agree: 20 bytes of IP, 8 of UDP, the rest is payload.
        assert (head[2], head[3], head[6]) == (size, number & 0xFFFF, 17)
        source, target, length, checksum = struct.unpack("!HHHH", packet[20:])
        assert (target, length, checksum) == (5001, size - 20, 0)
        assert source >= 10_000
    log = json.loads((tmp_path / "qlog" / "near.qlog").read_text())
    events = log["traces"][0]["events"]
    frames = [frame for event in events for frame in event["data"].get("frames", [])]
    assert {frame["frame_type"] for frame in frames} == {"datagram"}
    assert {frame["length"] for frame in frames} == {960}
    assert {event["name"] for event in events} == {
        "transport:packet_sent",
        "recovery:packet_lost",
    }


def _ipv4(capture: bytes) -> list[bytes]:
    """Give the captured bytes of every enhanced packet block of a capture."""
    found, at = [], 0
    while at < len(capture):
        kind, length = struct.unpack_from("<II", capture, at)
        if kind == 6:
            (captured,) = struct.unpack_from("<I", capture, at + 20)
            found.append(capture[at + 28 : at + 28 + captured])
        at += length
    return found
