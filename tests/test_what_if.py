"""`fairhaul explain --what-if`: captures by the simulator, and what changes would bring."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import fairhaul
from fairhaul import cli
from fairhaul.jobs.values import Running
from fairhaul.record.record import Record
from fairhaul.record.trace import write
from fairhaul.runs.runs import for_each
from fairhaul.scenario.read import read_one
from fairhaul.studies.explanation.what_if import what_if
from tests.captures import Transfer, losing, pcap


def capture(
    file: Path, bottleneck: dict[str, Any], beside: Sequence[dict[str, Any]] = (), **flow: Any
) -> Path:
    """Trace one flow over 40 ms for 10 s."""
    of = read_one(
        {
            "duration": "10 s",
            "packet": "1500 B",
            "bottleneck": {
                "rate": "20 Mbit/s",
                "delay": "10 ms",
                "queue": {"kind": "droptail", "capacity": "1 bdp"},
                **bottleneck,
            },
            "flow": [{"name": "t", "rtt": "40 ms", "controller": "cubic", **flow}, *beside],
        }
    )

    def written(_: int, record: Record) -> None:
        write(record, "t", "pcapng", file)

    for_each([of], written, trace="t")
    return file


def test_a_larger_window_brings_more_where_the_window_limits(tmp_path: Path) -> None:
    # 57,920 B in 50 ms are 9.27 Mbit/s.
    made = Transfer(packets=8000, gap_s=2e-5, announced=57_920, scale=0)
    file = tmp_path / "w.pcap"
    file.write_bytes(pcap([made.run(losing(lambda _: False))]))
    done = fairhaul.explain(file, what_if=True)
    found = done.what_if
    assert found is not None
    assert found.now is not None
    assert found.now.goodput_bps.mean == pytest.approx(9.2e6, rel=0.05)
    # The link is only known to carry what the window allowed.
    assert found.assumed_bps is not None
    best = found.changes[0]
    assert best.what.startswith("a window of the receiver")
    assert best.times.mean > 2
    assert "would bring up to" in done.outcome().answer
    others = [change for change in found.changes if change.what in ("reno", "bbr")]
    assert [change.times.mean for change in others] == pytest.approx([1, 1], abs=0.1)


def test_a_constant_flight_is_simulated_as_a_limit_that_is_not_known(tmp_path: Path) -> None:
    # The trace does not show the window of 29,200 B: 5.84 Mbit/s in 40 ms.
    file = capture(tmp_path / "w.pcapng", {}, receive_buffer="29200 B")
    found = fairhaul.explain(file, what_if=True).what_if
    assert found is not None
    assert found.refit is not None
    assert found.refit.simulated.goodput_bps == pytest.approx(5.58e6, rel=0.05)
    assert found.changes[0].what == "a larger send buffer, if that limits"


def test_a_cap_below_a_policer_ends_its_losses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policer = {"policer": {"rate": "5 Mbit/s", "burst": "20 kB"}}
    file = capture(tmp_path / "p.pcapng", policer)
    assert cli.status_of(["explain", str(file), "--what-if", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["values"]["what_if"]
    assert found["declined"] is None
    cap = next(of for of in found["changes"] if of["change"].startswith("a pacing cap"))
    assert found["now"]["loss_rate"] > 0.01
    assert cap["loss_rate"] < 0.002
    # The rate counts frames, 18 bytes more than the packets of the scenario.
    rate = found["refit"]["path"]["rate_bps"]
    assert rate["low"] <= rate["value"] <= rate["high"]
    assert rate["value"] == pytest.approx(5e6 * 1518 / 1500, rel=0.02)


def test_nothing_is_said_where_the_path_is_not_known() -> None:
    assert what_if([], Running()).declined == "no connection carries data, so there is no path"
