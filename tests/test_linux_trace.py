"""The packet trace of a run in Linux, compared with its record and with that of the simulator."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fairhaul.record.record import Record, write_record
from fairhaul.record.trace import traced
from fairhaul.record.trace import write as write_trace
from fairhaul.runs.runs import for_each
from fairhaul.scenario.read import read_one
from tests.linux_program import needs_linux
from tests.test_linux_engine import same

LOSSY: Mapping[str, Any] = {
    "title": "A lossy path",
    "duration": "5 s",
    "warmup": "0 s",
    "packet": "1500 B",
    "profile": "linux-tcp",
    "bottleneck": {
        "rate": "10 Mbit/s",
        "delay": "10 ms",
        "queue": {"kind": "droptail", "capacity": "1 bdp"},
        "loss": 0.005,
        "duplicate": 0.002,
    },
    "flow": [
        {"name": "near", "rtt": "40 ms", "controller": "reno"},
        {"name": "far", "rtt": "60 ms", "controller": "cubic", "start": "0.5 s"},
    ],
}
# The kernel's clock has whole nanoseconds.
SAME_S = 2e-9
# How late a poll is at most.
POLL_S = 1e-6
SHORT = {"kind": "short", "rate": "10 /s", "size": "50 kB"}


def recorded(engine: str = "linux", trace: str | None = "near", **flow: Any) -> Record:
    """Run the scenario with some keys of the first flow changed, or removed."""
    first, *others = LOSSY["flow"]
    changed = {key: value for key, value in {**first, **flow}.items() if value is not None}
    scenario = read_one({**LOSSY, "flow": [changed, *others]})
    (record,) = for_each([scenario], lambda _, record: record, trace=trace, engine=engine)  # type: ignore[arg-type]
    return record


@pytest.fixture(scope="module")
def lossy() -> Record:
    """The record of the scenario as it is."""
    return recorded()


@pytest.fixture(scope="module")
def short() -> Record:
    """That of transfers whose packets are not all full."""
    return recorded(traffic=SHORT)


def rows(record: Record, *what: str) -> pl.DataFrame:
    """Give the rows of these events, without those that open connections."""
    return traced(record, "near").rows.filter(pl.col("what").is_in(what), ~pl.col("opens"))


def check_counts(record: Record) -> None:
    """Compare the packets in a trace with the counters of its flow."""
    series = record.flow_series.filter(pl.col("flow").cast(pl.String) == "near")
    assert rows(record, "sent").height == series["sent"].sum() > 0
    assert rows(record, "sent")["again"].sum() == series["retransmitted"].sum() > 0
    assert rows(record, "dropped").height == series["lost"].sum() > 0
    assert rows(record, "received")["payload"].sum() == series["delivered_bytes"].sum()
    # Every packet arrived or was dropped, except those that were on their way at the end.
    copied = series["copied"].sum()
    left = rows(record, "sent").height + copied - rows(record, "received", "dropped").height
    assert 0 <= left < 200
    # What receivers have acknowledged is the payload that arrived in order.
    offset = traced(record, "near").offset
    acknowledged = rows(record, "ack_sent").group_by("connection").agg(pl.col("number").max())
    in_order = sum(offset(connection, number) for connection, number in acknowledged.iter_rows())
    assert in_order == series["goodput_bytes"].sum()
    assert record.trace is not None
    assert record.trace["t_s"].is_sorted()


@needs_linux
def test_the_packets_and_the_recoveries_are_those_of_the_record(lossy: Record) -> None:
    check_counts(lossy)
    taken, sent = rows(lossy, "ack_received"), rows(lossy, "sent")
    again = sent.filter("again")["t_s"]
    of_flow = lossy.event.filter(pl.col("flow").cast(pl.String) == "near")
    events = of_flow.select("t_s", pl.col("kind").cast(pl.String), "value").rows()
    ends = {t_s for t_s, kind, _ in events if kind == "recovered"}
    last_sent, counts = -1, {"reduction": 0, "recovered": 0}
    for event, kind, window in events:
        counts[kind] += 1
        # A sample is taken as a packet arrives, and shows what the packet before it has done; if
        # none arrives, the next poll shows it, which is every 10 ms.
        is_poll = abs(event - round(event, 2)) < POLL_S
        assert is_poll or (taken["t_s"] - event).abs().to_numpy().min() < SAME_S
        cause = taken.filter(pl.col("t_s") < event - SAME_S).row(-1, named=True)
        assert cause["cwnd_packets"] == window
        if kind == "recovered":
            # All that was sent before the reduction has arrived.
            whole = taken.filter(pl.col("number") > last_sent)
            assert cause["t_s"] == whole["t_s"][0]
        else:
            last_sent = sent.filter(pl.col("t_s") < cause["t_s"])["number"].to_numpy().max()
            # Where one recovery follows another, the packet has been retransmitted in the first.
            assert event in ends or ((cause["t_s"] <= again) & (again <= event)).any()
    assert counts["reduction"] >= 5
    assert counts["reduction"] - counts["recovered"] in {0, 1}


@needs_linux
def test_transfers_whose_packets_are_not_full_have_their_bytes(short: Record) -> None:
    check_counts(short)
    sizes = rows(short, "sent")["payload"]
    assert (sizes <= 1448).all()
    assert (sizes < 1448).any()
    assert rows(short, "sent")["connection"].n_unique() > 20


@needs_linux
def test_the_record_is_the_same_with_a_trace_and_the_trace_every_time(
    lossy: Record, tmp_path: Path
) -> None:
    records = {"without": recorded(trace=None), "with": lossy, "again": recorded()}
    for name, record in records.items():
        write_record(record, tmp_path / name)
        if record.trace is not None:
            write_trace(record, "near", "csv", tmp_path / f"{name}.csv")
    assert same(tmp_path / "without", tmp_path / "with")
    assert (tmp_path / "with.csv").read_bytes() == (tmp_path / "again.csv").read_bytes()


@needs_linux
def test_the_trace_has_the_form_of_the_simulators(lossy: Record) -> None:
    records = {"sim": recorded("sim"), "linux": lossy}
    sim, linux = (record.trace for record in records.values())
    assert sim is not None and linux is not None  # noqa: PT018
    assert linux.schema == sim.schema
    for what in sim["what"].cast(pl.String).unique():
        counts = [rows(record, what).height for record in records.values()]
        # Another sender on the same path: as many packets, within the spread of its losses.
        assert counts[1] == pytest.approx(counts[0], rel=0.5, abs=20), what
    opening = {
        engine: traced(record, "near").rows.filter("opens")["what"].to_list()
        for engine, record in records.items()
    }
    assert opening["linux"] == opening["sim"] == ["sent", "received", "ack_sent", "ack_received"]
    first = {
        engine: rows(record, "sent").head(10)["number", "again", "ecn", "cwr"]
        for engine, record in records.items()
    }
    assert first["linux"].equals(first["sim"])
    acknowledged = rows(records["linux"], "ack_received")
    # Of the last one nothing is known but what the last poll says.
    assert acknowledged["cwnd_packets"].null_count() <= 1
    assert (acknowledged["cwnd_packets"].drop_nulls() >= 1).all()
    # A hundred polls in each second, and about 830 packets with 420 acknowledgements.
    assert acknowledged["srtt_s"].count() > 300
    assert acknowledged["srtt_s"].is_between(0.04, 0.2).all()
    assert any(acknowledged["sack"] != "")


@needs_linux
@pytest.mark.parametrize("name", ["lossy", "short"])
def test_wireshark_finds_no_error_in_what_linux_sends(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    tshark = shutil.which("tshark")
    if tshark is None:
        pytest.skip("tshark is not installed (Debian: tshark)")
    record = request.getfixturevalue(name)
    capture = tmp_path / "near.pcapng"
    write_trace(record, "near", "pcapng", capture)
    command = [tshark, "-r", str(capture), "-T", "fields", "-e", "ip.len"]

    def lengths(condition: str) -> list[int]:
        done = subprocess.run([*command, "-Y", condition], capture_output=True, check=True)
        return [int(line) for line in done.stdout.split()]

    at_sender = traced(record, "near").rows.filter(pl.col("what").is_in(["sent", "ack_received"]))
    assert lengths("tcp") == at_sender["bytes"].to_list()
    assert lengths("tcp.analysis.retransmission") != []
    assert lengths("_ws.malformed || _ws.expert.severity == error") == []
    assert lengths("tcp.analysis.lost_segment || tcp.analysis.ack_lost_segment") == []


@needs_linux
def test_datagrams_are_numbered_in_the_order_in_which_they_were_sent(tmp_path: Path) -> None:
    record = recorded(controller=None, traffic={"kind": "cbr", "rate": "2 Mbit/s"})
    series = record.flow_series.filter(pl.col("flow").cast(pl.String) == "near")
    sent = rows(record, "sent")
    assert sent["number"].to_list() == list(range(sent.height))
    assert sent.height == series["sent"].sum() > 500
    assert rows(record, "dropped").height == series["lost"].sum() > 0
    assert rows(record, "received")["payload"].sum() == series["delivered_bytes"].sum()
    for form in ("pcapng", "qlog"):
        write_trace(record, "near", form, tmp_path / form)
