"""`fairhaul flows --record`: its files, and what `fairhaul explain` reads in them."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import fairhaul
from fairhaul import cli
from fairhaul.files import files
from fairhaul.host import flows as api
from fairhaul.host import recording
from fairhaul.host.process import Refused
from fairhaul.host.recording import COLUMNS, Recording, new_recording, schema
from tests.captures import RECEIVER, SENDER, Transfer, pcap

ROOT = Path(__file__).parents[1]
# Fields of `tcp_info`, in their order, and how many of them the lengths of a reply have.
NEWER = (
    *("delivered", "delivered_marked", "sent_bytes", "retransmitted_bytes"),
    *("peer_window_bytes", "own_window_bytes", "timeouts", "received_marked"),
)
LENGTHS = {192: 0, 232: 5, 240: 6, 248: 7, 280: 8}
BEGIN_S = 1e9


def flow(cookie: int = 7, **more: Any) -> dict[str, Any]:
    """A flow as `fairhaul-host` reports it from a reply of 192 bytes."""
    return {
        "namespace": "",
        "cookie": cookie,
        "local": "192.0.2.1:40000",
        "remote": "[2001:db8::2]:5201",
        "controller": "cubic",
        "cwnd": 100,
        "ssthresh": None,
        "mss": 1448,
        "rtt_ms": 40.0,
        "min_rtt_ms": 40.0,
        "pacing_rate_bps": None,
        "acked_bytes": 0,
        "sent": 1,
        "retransmitted": 0,
        "uid": 1000,
        "mark": None,
        "delivery_rate_bps": 8e6,
        "app_limited": False,
        "unsent_bytes": 0,
        "busy_s": 0.0,
        "receive_window_s": 0.0,
        "send_buffer_s": 0.0,
        **dict.fromkeys(NEWER),
        "rate_bps": None,
        "recent": None,
        "limits": None,
        "bounds": None,
    } | more


def look(second: float, *found: dict[str, Any]) -> Any:
    """A look at some time after the first one."""
    return {"unix_s": BEGIN_S + second, "flows": list(found)}


def rows(directory: Path) -> pl.DataFrame:
    """Read a recording as the documentation says."""
    return pl.read_parquet(directory / "*.parquet")


def test_every_look_is_in_the_files_when_it_is_written(tmp_path: Path) -> None:
    made = Recording(directory=tmp_path, rows_per_file=4)
    for second in range(5):
        made.add(look(second, flow(1, acked_bytes=second), flow(2)))
        assert rows(tmp_path).height == 2 * (second + 1)
    # Two looks of two rows fill a file of four.
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        *(f"flows-00000{number}.parquet" for number in (1, 2, 3)),
    ]
    assert made.size_bytes == sum(file.stat().st_size for file in tmp_path.iterdir())
    found = rows(tmp_path).filter(cookie=1)
    assert found["acked_bytes"].to_list() == [0, 1, 2, 3, 4]
    assert found["unix_s"].to_list() == [BEGIN_S + second for second in range(5)]
    ends = found.select("local_address", "local_port", "peer_address", "peer_port").row(0)
    assert ends == ("192.0.2.1", 40000, "2001:db8::2", 5201)


def test_a_failure_leaves_the_looks_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = new_recording(tmp_path / "new")
    made.add(look(0, flow()))

    def broken(self: Path, _: bytes) -> int:
        self.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", broken)
    with pytest.raises(OSError, match="No space left"):
        made.add(look(1, flow()))
    assert rows(tmp_path / "new").height == 1


def test_a_kill_loses_at_most_the_look_that_is_written(tmp_path: Path) -> None:
    program = (
        "import itertools, sys; from pathlib import Path; "
        "from fairhaul.host.recording import new_recording; "
        "from tests.test_recording import flow, look\n"
        "made = new_recording(Path(sys.argv[1]))\n"
        "for second in itertools.count():\n"
        "    made.add(look(second, flow()))\n"
        "    print(second, flush=True)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "kept")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        for _ in range(7):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        written = 7 + len(process.stdout.read().split())
    found = rows(tmp_path / "kept")["unix_s"].to_list()
    assert len(found) >= written
    assert found == [BEGIN_S + second for second in range(len(found))]


@pytest.mark.parametrize(("length", "present"), LENGTHS.items())
def test_fields_that_a_reply_lacks_are_missing_and_not_zero(
    tmp_path: Path, length: int, present: int
) -> None:
    given = {key: at + 1 for at, key in enumerate(NEWER[:present])}
    Recording(directory=tmp_path).add(look(0, flow(**given)))
    (row,) = rows(tmp_path).select(NEWER).rows(named=True)
    assert row == dict.fromkeys(NEWER) | given, length


def test_the_page_has_every_column() -> None:
    page = (ROOT / "docs/monitoring.md").read_text()
    section = page.partition("## As a series")[2].partition("\n## ")[0]
    table = "".join(re.findall(r"^\| (`.*?) \|", section, re.MULTILINE))
    assert set(re.findall(r"`(\w+)`", table)) == {"unix_s", *COLUMNS}
    assert list(schema()) == ["unix_s", *COLUMNS]


def test_a_recording_ends_when_it_is_full_or_its_time_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def follow(on_look: api.OnLook, **_: Any) -> None:
        for second in range(100):
            on_look(look(second, flow()))

    monkeypatch.setattr(api, "follow", follow)
    monkeypatch.setattr(recording, "MOST_BYTES", 1)
    assert cli.status_of(["flows", "--record", str(tmp_path / "full")]) == 0
    assert rows(tmp_path / "full").height == 1
    assert "the recording is full" in capsys.readouterr().err
    monkeypatch.setattr(recording, "MOST_BYTES", 1 << 30)
    arguments = ["--record", str(tmp_path / "short"), "--duration", "1s", "--interval", "2"]
    assert cli.status_of(["flows", *arguments]) == 0
    assert rows(tmp_path / "short").height == 1


def test_a_directory_with_files_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes").touch()
    with pytest.raises(Refused, match="is not an empty directory"):
        new_recording(tmp_path)
    assert cli.status_of(["flows", "--record", str(tmp_path)]) == 2
    assert cli.status_of(["flows", "--duration", "5s"]) == 2
    assert "--duration requires" in capsys.readouterr().err


def test_a_recording_is_for_its_owner_alone(tmp_path: Path) -> None:
    assert new_recording(tmp_path / "new").directory.stat().st_mode & 0o777 == 0o700


def recorded(directory: Path, looks: list[Any]) -> Path:
    """Record looks in a directory."""
    made = new_recording(directory)
    for one in looks:
        made.add(one)
    return directory


def test_the_clocks_between_looks_say_what_limits_over_time(tmp_path: Path) -> None:
    # 10 s in which the window limits for 0.9 s of each second, and 10 s in which nothing is sent.
    busy = [
        flow(acked_bytes=1_000_000 * t, sent=700 * t + 1, busy_s=float(t), receive_window_s=0.9 * t)
        for t in range(11)
    ]
    idle = [busy[-1]] * 10
    looks = [look(second, one) for second, one in enumerate(busy + idle)]
    place = recorded(tmp_path / "kept", looks)
    (of,) = fairhaul.explain(place).connections
    assert (of.source, of.receiver, of.ports) == ("flows", "2001:db8::2", (40000, 5201))
    assert (of.data_bytes, of.duration_s) == (10_000_000, 20)
    # 9 of 20 s, 10 of 20 s, and the rest of the busy time has no evidence.
    assert of.limits["receive_window"] == pytest.approx(0.45)
    assert of.limits["application"] == pytest.approx(0.5)
    assert of.limits["unknown"] == pytest.approx(0.05)
    first, *_, last = of.periods
    assert first.limits["receive_window"] == pytest.approx(0.9)
    assert last.limits["application"] == 1
    assert sum(part.duration_s for part in of.periods) == pytest.approx(20)
    # A file of the recording is told by its content, too.
    file = (place / "flows-000001.parquet").rename(tmp_path / "other.name")
    assert fairhaul.explain(file).connections[0].limits == of.limits


def test_a_recording_beside_a_capture_is_of_the_same_connection(tmp_path: Path) -> None:
    capture = tmp_path / "one.pcap"
    transfer = Transfer(packets=3000, window=40, gap_s=0.0012).run(lambda *_: 0.0)
    capture.write_bytes(pcap([transfer]))
    ends: dict[str, Any] = {"local": f"{SENDER}:{transfer.port}", "remote": f"{RECEIVER}:443"}
    looks = [
        look(t, flow(**ends, acked_bytes=500_000 * t, busy_s=float(t), limits={"pacing cap": 1.0}))
        for t in range(8)
    ]
    place = recorded(tmp_path / "kept", looks)
    (alone,) = fairhaul.explain(capture).connections
    (of,) = fairhaul.explain([place, capture]).connections
    assert (of.source, of.controller, of.not_separated) == ("capture", "cubic", None)
    # What the headers leave open is the pacing cap.
    assert of.limits["pacing"] >= alone.limits["pacing"] + alone.limits["unknown"] - 1e-9
    assert of.limits["unknown"] == 0


@pytest.mark.parametrize(
    ("more", "limit"),
    [
        ({"app_limited": True}, "application"),
        ({"limits": {"pacing cap": 1.0}}, "pacing"),
        ({"retransmitted": 5}, "congestion_window"),
        ({"retransmitted": 5, "controller": "bbr"}, "path"),
        ({"rtt_ms": 60.0}, "path"),
        ({}, "unknown"),
    ],
)
def test_what_the_clocks_leave_open_is_judged_by_the_later_look(
    tmp_path: Path, more: dict[str, Any], limit: str
) -> None:
    later = flow(acked_bytes=1_000_000, sent=700, busy_s=1.0, **more)
    place = recorded(tmp_path / "kept", [look(0, flow()), look(1, later)])
    (of,) = fairhaul.explain(place).connections
    assert of.main == limit
    assert of.limits[of.main] == 1


def test_no_recording_is_an_error_that_says_what_is_wanted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.status_of(["explain", str(tmp_path)]) == 2
    assert "holds no recording" in capsys.readouterr().err
    other, damaged = tmp_path / "other.parquet", tmp_path / "damaged.parquet"
    pl.DataFrame({"a": [1]}).write_parquet(other)
    place = recorded(tmp_path / "kept", [look(0, flow())])
    content = (place / "flows-000001.parquet").read_bytes()
    damaged.write_bytes(content[:-40])
    for file, word in ((other, "has no column 'unix_s'"), (damaged, "is damaged")):
        assert cli.status_of(["explain", str(file)]) == 2
        assert word in capsys.readouterr().err
    # A connection with one look alone has no time.
    done = fairhaul.explain(place)
    assert not done.connections
    assert "one connection with a single look" in done.notes[0]
    assert files.read(place / "flows-000001.parquet", 1 << 20) == content
