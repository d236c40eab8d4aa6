"""`fairhaul explain`: limits and paths of captures that are made here, of `ss` and of iperf3."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fairhaul
from fairhaul import ScenarioError, cli
from fairhaul.figures.look import svg
from fairhaul.studies.explanation.estimate import share
from fairhaul.studies.explanation.limits import LIMITS
from tests.captures import FRAME, MSS, Transfer, losing, pcap, pcapng, policer, queue
from tools.explanation import captures
from tools.explanation.rows import rows

SS = """\
ESTAB 0 100 192.0.2.1:40000 192.0.2.2:5201
\t cubic wscale:7,7 rto:204 rtt:40.5/1 mss:1448 cwnd:45 bytes_sent:50000000 bytes_acked:49000000 \
segs_out:35000 data_segs_out:34530 delivery_rate 9.8Mbps delivered:34000 busy:40000ms \
rwnd_limited:39000ms(97.5%) minrtt:40
ESTAB 0 0 192.0.2.1:22 192.0.2.3:5555
\t cubic wscale:7,7 rto:204 rtt:4/1 mss:1448 cwnd:10 bytes_sent:4000 bytes_acked:4000 \
data_segs_out:10 delivery_rate 1Mbps delivered:10 app_limited busy:40ms minrtt:3
"""

BBR = """\
ESTAB 0 100 192.0.2.1:4000{at} 192.0.2.2:5201
\t ts sack bbr wscale:7,7 rto:204 rtt:200/1 mss:1448 cwnd:45 bytes_sent:1500000 \
bytes_acked:1000000 data_segs_out:1036 bbr:(bw:4000000bps,mrtt:100,pacing_gain:1,cwnd_gain:2) \
delivery_rate 3000000bps delivered:900 busy:4000ms retrans:0/300 minrtt:100
"""

IPERF3: dict[str, Any] = {
    "start": {
        "connected": [
            {
                "socket": 5,
                "local_host": "192.0.2.1",
                "local_port": 40000,
                "remote_host": "192.0.2.2",
                "remote_port": 5201,
            }
        ],
        "tcp_mss_default": 1448,
        "test_start": {"protocol": "TCP", "reverse": 0},
    },
    "intervals": [
        {
            "streams": [
                {
                    "socket": 5,
                    "seconds": 1.0,
                    "bytes": 12_500_000,
                    "retransmits": 3,
                    "snd_cwnd": 1_000_000,
                    "rtt": 40_000,
                }
            ]
        }
    ]
    * 3,
    "end": {"sender_tcp_congestion": "cubic"},
}


def written(tmp_path: Path, content: bytes | str, name: str = "transfer") -> Path:
    file = tmp_path / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


def explained(tmp_path: Path, *transfers: Transfer) -> list[dict[str, Any]]:
    done = fairhaul.explain(written(tmp_path, pcap(transfers)))
    found: list[dict[str, Any]] = json.loads(json.dumps(done.to_dict()))["connections"]
    for of in found:
        assert list(of["limits"]) == list(LIMITS)
        assert sum(of["limits"].values()) == pytest.approx(1)
        if of["limits_by_data"] is not None:
            assert sum(of["limits_by_data"].values()) == pytest.approx(1)
            after = sum(of["congestion_window_after"].values())
            assert after == pytest.approx(of["limits"]["congestion_window"])
    return found


def cause(of: dict[str, Any]) -> str:
    """Give the main cause of the congestion window."""
    causes: dict[str, float] = of["congestion_window_after"]
    return max(causes, key=causes.__getitem__)


def test_a_policer_is_found_with_its_rate_and_burst_in_frames(tmp_path: Path) -> None:
    bucket = policer(4e6, 60_000)
    (of,) = explained(tmp_path, Transfer(packets=4000, window=60).run(bucket))
    found = of["path"]["policer"]
    assert found["rate_bps"]["value"] == pytest.approx(4e6, rel=0.01)
    assert found["rate_bps"]["low"] <= 4e6 * 1.002
    assert found["rate_bps"]["high"] >= 4e6 * 0.998
    assert found["burst_bytes"]["value"] == pytest.approx(60_000, abs=FRAME)
    assert of["path"]["shaper"] is None
    assert cause(of) == "policer"
    assert of["bytes"] == 4000 * MSS
    assert of["path"]["rtt_s"]["value"] == pytest.approx(0.05, rel=0.02)
    assert {"rate_bps", "buffer_bytes"} <= {one["key"] for one in of["unknown"]}


def test_connections_through_one_policer_are_fitted_together(tmp_path: Path) -> None:
    # Both send in turn: the second begins a quarter of a round trip later.
    bucket = policer(4e6, 60_000)
    events: list[tuple[float, int]] = []

    def noted(now: float, size: int) -> float | None:
        events.append((now, size))
        return bucket(now, size)

    one = Transfer(packets=1500, window=50, port=5001).run(noted)
    before = len(events)
    two = Transfer(packets=1500, window=50, port=5002)
    end_s = max(time for time, _ in one.rows)
    bucket_two = policer(4e6, 60_000)
    two.run(bucket_two)
    two.rows = [(time + end_s + 1.0, row) for time, row in two.rows]
    assert before == len(events)
    both = explained(tmp_path, one, two)
    assert [of["fitted_together"] for of in both] == [2, 2]
    assert both[0]["path"]["policer"] == both[1]["path"]["policer"]
    assert both[0]["path"]["policer"]["rate_bps"]["value"] == pytest.approx(4e6, rel=0.01)


def test_a_queue_that_overflows_is_no_policer(tmp_path: Path) -> None:
    # 60 kB at 8 Mbit/s are 60 ms.
    transfer = Transfer(packets=4000, window=120, gap_s=0.0002, halves=True)
    (of,) = explained(tmp_path, transfer.run(queue(8e6, 60_000)))
    path = of["path"]
    assert path["policer"] is None
    assert path["rate_bps"]["value"] == pytest.approx(8e6, rel=0.02)
    assert path["buffer_bytes"]["value"] == pytest.approx(60_000, rel=0.1)
    assert path["shaper"] is None
    assert cause(of) == "overflow"


def test_a_queue_that_is_never_empty_is_no_shaper(tmp_path: Path) -> None:
    # Only packets of the slow start see the smallest round-trip time.
    file = tmp_path / "path.toml"
    file.write_text(
        'title = "A queue"\nduration = "15 s"\n[bottleneck]\nrate = "20 Mbit/s"\n'
        'delay = "5 ms"\nqueue = { kind = "droptail", capacity = "200 packets" }\n'
        '[[flow]]\nname = "one"\nrtt = "40 ms"\ncontroller = "cubic"\n'
    )
    run = ["run", str(file), "--trace", "one", "--out", str(tmp_path / "run")]
    assert cli.status_of(run) == 0
    path = fairhaul.explain(tmp_path / "run/one.pcapng").connections[0].path
    assert path.shaper is None
    assert path.buffer_bytes is not None
    assert path.buffer_bytes.value == pytest.approx(200 * 1018, rel=0.01)


def test_a_capture_at_the_receiver_shows_a_policer(tmp_path: Path) -> None:
    transfer = Transfer(packets=4000, window=60).run(policer(4e6, 60_000)).at_the_receiver()
    (of,) = explained(tmp_path, transfer)
    assert of["path"]["policer"]["rate_bps"]["value"] == pytest.approx(4e6, rel=0.01)
    assert of["path"]["rtt_s"]["value"] == pytest.approx(0.05, rel=0.02)


def test_a_capture_at_the_receiver_shows_no_policer_behind_a_queue(tmp_path: Path) -> None:
    transfer = Transfer(packets=4000, window=120, gap_s=0.0002, halves=True)
    (of,) = explained(tmp_path, transfer.run(queue(8e6, 60_000)).at_the_receiver())
    assert of["path"]["policer"] is None


def test_a_shaper_lets_a_burst_pass_before_packets_wait(tmp_path: Path) -> None:
    transfer = Transfer(packets=6000, window=200, gap_s=0.0002, halves=True)
    (of,) = explained(tmp_path, transfer.run(queue(8e6, 60_000, burst=100_000)))
    path = of["path"]
    assert path["policer"] is None
    assert path["shaper"]["rate_bps"]["value"] == pytest.approx(8e6, rel=0.02)
    assert path["shaper"]["burst_bytes"]["value"] == pytest.approx(100_000, rel=0.1)


@pytest.mark.parametrize("every", [50, 199])
def test_random_loss_is_no_policer(tmp_path: Path, every: int) -> None:
    # A multiplicative hash of the packet's number decides.
    lost = losing(lambda number: (number * 2654435761 >> 7) % 2**20 < 2**20 // every)
    (of,) = explained(tmp_path, Transfer(packets=4000, halves=True).run(lost))
    assert of["path"]["policer"] is None
    loss = of["path"]["loss"]
    assert loss["low"] <= 1 / every <= loss["high"]
    assert of["limits"]["congestion_window"] > 0.8
    assert cause(of) == "random_loss"


def test_an_outage_is_no_policer(tmp_path: Path) -> None:
    (of,) = explained(tmp_path, Transfer(packets=2000).run(losing(lambda n: 900 < n < 930)))
    assert of["path"]["policer"] is None


def test_pauses_are_those_of_the_application(tmp_path: Path) -> None:
    transfer = Transfer(packets=800, chunk=200, pause_s=0.5).run(losing(lambda _: False))
    (of,) = explained(tmp_path, transfer)
    assert [one["duration_s"] for one in of["pauses"]] == pytest.approx([0.5] * 3, abs=0.01)
    assert of["limits"]["application"] > 0.5
    assert of["limits_by_data"]["application"] < 0.1
    assert of["path"]["loss"]["value"] == 0
    assert 0 < of["path"]["loss"]["high"] < 0.01


def test_the_moments_say_when_each_limit_held(tmp_path: Path) -> None:
    transfer = Transfer(packets=800, chunk=200, pause_s=0.5).run(losing(lambda n: n == 300))
    done = fairhaul.explain(written(tmp_path, pcap([transfer])))
    (of,) = done.connections
    assert of.moments is not None
    parts_s = np.diff(of.moments.edges_s)
    together = np.sum(list(of.moments.limits_s.values()), axis=0)
    assert together == pytest.approx(parts_s)
    assert np.sum(of.moments.lost) == 1
    for limit in LIMITS:
        shares = [part.limits[limit] * part.duration_s for part in of.periods]
        assert sum(shares) / sum(parts_s) == pytest.approx(of.limits[limit])
    held = [
        (start_s, end_s) for limit, start_s, end_s, _ in of.moments.held() if limit == "application"
    ]
    for start_s, took_s in of.pauses:
        middle_s = start_s + took_s / 2
        assert any(begin_s <= middle_s <= end_s for begin_s, end_s in held)
    (figure,) = [one for part in done.outcome().evidence() for one in part.drawn()]
    assert "<svg" in svg(figure.chart)


def test_the_receive_window_limits(tmp_path: Path) -> None:
    # 40 packets of 1448 bytes fill a window of 57,920 bytes.
    transfer = Transfer(packets=2000, window=40, announced=57_920 // 8, scale=3)
    file = written(tmp_path, pcap([transfer.run(losing(lambda _: False))]))
    done = fairhaul.explain(file)
    assert done.connections[0].limits["receive_window"] > 0.6
    answer = done.outcome().answer
    assert answer.startswith("Not the controller: the receiver's window of 57.9 kB allows 9.27 Mb")
    assert "tcp_rmem on the receiver" in answer


@pytest.mark.parametrize("pack", [lzma.compress, gzip.compress, lambda content: content])
@pytest.mark.parametrize("kind", ["pcap", "nanoseconds", "pcapng"])
def test_formats_are_recognised_by_their_content(tmp_path: Path, pack: Any, kind: str) -> None:
    transfer = Transfer(packets=100).run(losing(lambda number: number == 50))
    made = {
        "pcap": pcap([transfer]),
        "nanoseconds": pcap([transfer], nanoseconds=True),
        "pcapng": pcapng(transfer),
    }
    (of,) = fairhaul.explain(written(tmp_path, pack(made[kind]), "capture.txt")).connections
    assert of.data_bytes == 100 * MSS
    assert of.retransmitted == pytest.approx(1 / 101)
    assert of.path.rtt_s is not None
    assert of.path.rtt_s.value == pytest.approx(0.05, rel=0.01)


def test_a_file_that_is_cut_is_used_up_to_the_cut(tmp_path: Path) -> None:
    content = pcap([Transfer(packets=100).run(losing(lambda _: False))])
    done = fairhaul.explain(written(tmp_path, content[: len(content) // 2]))
    assert 0 < done.connections[0].data_bytes < 100 * MSS
    assert "ends within a packet" in done.notes[0]


def test_a_capture_of_one_direction_says_what_is_missing(tmp_path: Path) -> None:
    transfer = Transfer(packets=100).run(losing(lambda _: False))
    transfer.rows = [row for row in transfer.rows if row[1][26:30] == bytes([10, 0, 0, 1])]
    (of,) = explained(tmp_path, transfer)
    assert of["limits"]["unknown"] == 1
    assert of["path"]["rtt_s"] is None
    assert {"limits", "rtt_s", "rate_bps"} <= {one["key"] for one in of["unknown"]}


def test_a_capture_without_its_beginning_is_explained(tmp_path: Path) -> None:
    transfer = Transfer(packets=4000, window=60).run(policer(4e6, 60_000))
    transfer.rows = [row for row in transfer.rows if row[0] > 0.2]
    (of,) = explained(tmp_path, transfer)
    assert of["path"]["policer"]["rate_bps"]["value"] == pytest.approx(4e6, rel=0.01)


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "neither pcap, pcapng"),
        (b"hello", "ss -tin dst ADDRESS"),
        (b"\xd4\xc3\xb2\xa1", "ends within its header"),
        (b'{"intervals": 3}', "not that of `iperf3 --json`"),
        (gzip.compress(b"hello", mtime=0)[:12], "transfer"),
    ],
)
def test_other_files_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, word: str
) -> None:
    assert cli.status_of(["explain", str(written(tmp_path, content))]) == 2
    shown = capsys.readouterr().err
    assert word in shown
    assert "Traceback" not in shown


def test_a_file_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.status_of(["explain", "nothing.pcap"]) == 2
    assert "nothing.pcap" in capsys.readouterr().err


def test_the_clocks_of_ss_say_that_the_window_limits(tmp_path: Path) -> None:
    done = fairhaul.explain(written(tmp_path, SS))
    largest, session = done.connections
    assert largest.limits["receive_window"] == pytest.approx(0.975)
    assert session.main == "application"
    assert "the receiver's window limits these connections" in done.outcome().answer
    rate = largest.path.rate_bps
    assert rate is not None
    assert rate.high is None


def test_connections_of_bbr_together_show_the_rate_of_the_path(tmp_path: Path) -> None:
    text = "".join(BBR.format(at=at) for at in range(3))
    (of, *_) = fairhaul.explain(written(tmp_path, text)).connections
    rate = of.path.rate_bps
    assert rate is not None
    assert rate.high is not None
    # 9 Mbit/s arrive now, and 12 Mbit/s are the sum of what each has reached, as data.
    assert rate.low <= 9e6 * FRAME / MSS <= rate.value <= 12e6 * FRAME / MSS <= rate.high * 1.001
    assert of.path.loss is None
    assert "loss" in of.unknown


def test_a_series_of_ss_gives_the_last_look(tmp_path: Path) -> None:
    text = SS + SS.replace("bytes_sent:50000000", "bytes_sent:60000000")
    largest, *others = fairhaul.explain(written(tmp_path, text)).connections
    assert (largest.data_bytes, len(others)) == (60_000_000, 1)


def test_iperf3_is_read_as_a_whole_and_as_a_stream(tmp_path: Path) -> None:
    events = [
        {"event": "start", "data": IPERF3["start"]},
        *({"event": "interval", "data": of} for of in IPERF3["intervals"]),
        {"event": "end", "data": IPERF3["end"]},
    ]
    whole = fairhaul.explain(written(tmp_path, json.dumps(IPERF3), "whole"))
    stream = fairhaul.explain(written(tmp_path, "\n".join(map(json.dumps, events)), "stream"))
    assert [of.values() for of in whole.connections] == [of.values() for of in stream.connections]
    (of,) = whole.connections
    assert (of.data_bytes, of.controller, of.goodput_bps) == (37_500_000, "cubic", 1e8)
    assert of.path.rtt_s is not None
    assert of.path.rtt_s.value == 0.04
    # 1 MB in 40 ms are 200 Mbit/s, twice what was sent.
    assert "would allow 200 Mbit/s" in of.unknown["limits"]


def test_the_scenario_of_a_policed_path_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, pcap([Transfer(packets=3000, window=60).run(policer(4e6, 60_000))]))
    made = tmp_path / "path.toml"
    assert cli.status_of(["explain", str(file), "--scenario", str(made), "--json"]) == 0
    capsys.readouterr()
    answer = fairhaul.run(made)
    assert isinstance(answer, fairhaul.Answer)
    (flow,) = answer.summary["flows"]
    assert flow["goodput_bps"]["mean"] == pytest.approx(4e6 * MSS / FRAME, rel=0.1)


def test_a_scenario_needs_a_rate(tmp_path: Path) -> None:
    transfer = Transfer(packets=100).run(losing(lambda _: False))
    transfer.rows = [row for row in transfer.rows if row[1][26:30] == bytes([10, 0, 0, 1])]
    done = fairhaul.explain(written(tmp_path, pcap([transfer])))
    with pytest.raises(ScenarioError, match="rate of the path is not known"):
        done.scenario()


def test_addresses_can_be_replaced(tmp_path: Path) -> None:
    text = json.dumps(fairhaul.explain(written(tmp_path, SS), anonymous=True).to_dict())
    assert "192.0.2" not in text
    assert "host-1" in text


def test_a_report_and_markdown_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["explain", str(written(tmp_path, SS)), "--out", str(tmp_path / "out")]
    assert cli.status_of([*args, "--report", "--markdown"]) == 0
    capsys.readouterr()
    assert (tmp_path / "out" / "report.html").exists()
    assert "receive window" in (tmp_path / "out" / "report.md").read_text()


def test_a_share_has_the_interval_of_wilson() -> None:
    # 10 of 100: centre (0.1 + 0.0192) / 1.0384 = 0.1148, half width 0.0596.
    of = share(10, 100)
    assert of.value == 0.1
    assert of.low == pytest.approx(0.0552, abs=1e-4)
    assert of.high == pytest.approx(0.1744, abs=1e-4)
    assert share(0, 100).low == 0


def test_the_name_of_a_capture_is_its_truth() -> None:
    name = (
        "C=5-L=2000000-CD1=1500-CD2=1000-ID=0-PCIR=10000000-PBC=100000-RTT=100-RTTV=0-RTTC=0%-"
        "LOSS=0%-XT=1-TCP=cubic-T=1-CP1=16402-CP2=16403.pcap.xz"
    )
    of = captures.truth_of(Path(name))
    assert (of.policed_bps, of.burst_bytes, of.connections, of.reaches) == (10e6, 100_000, 3, False)
    assert of.pauses_s == {16402: 1.5, 16403: 1.0}


def test_the_table_counts_what_was_found(tmp_path: Path) -> None:
    name = "C=5-CD=500-PCIR=4000000-PBC=60000-RTT=50-LOSS=0%-TCP=cubic-T=1-CP=443.pcap"
    transfer = Transfer(packets=5 * 1000, window=60, chunk=1000, pause_s=0.5)
    file = written(tmp_path, pcap([transfer.run(policer(4e6, 60_000))]), name)
    assert captures.captures(tmp_path) == [file]
    found = {row[0]: row[1:3] for row in rows([captures.judged(file)])}
    assert found["captures policed, one connection"] == ["1", "1"]
    assert found["chunks: one connection, rate reached"] == ["5", "5"]
    assert found["rate within 5 %, where reached"] == ["1", "1"]
    assert found["all pauses within 10 % or 50 ms"] == ["1", "1"]
