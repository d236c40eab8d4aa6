"""The table of simulated captures, the prediction of their second halves, and other traffic."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import fairhaul
from fairhaul.jobs.store import build_of
from fairhaul.scenario.read import read_one
from tests.test_what_if import capture
from tools.explanation.drawn_paths import CAUSES, draw
from tools.explanation.drawn_rows import rows
from tools.explanation.halves import Halves
from tools.explanation.simulated import judged


def test_a_seed_draws_the_same_paths_with_all_causes() -> None:
    paths = draw(20, 45)
    assert paths == draw(20, 45)
    assert [of.cause for of in paths[:4]] == list(CAUSES)
    assert sum(of.pause_s is not None for of in paths) == 4
    for of in paths:
        (link, *_) = read_one(of.scenario()).described["links"]
        assert link["rate_bps"] == pytest.approx(of.link_bps, abs=1)


def test_a_policed_path_is_found_and_its_second_half_predicted(tmp_path: Path) -> None:
    # 12 s at 4 Mbit/s are 6 MB: three chunks of 2 MB.
    path = replace(
        draw(1, 45)[0],
        controller="cubic",
        rate_bps=4e6,
        rtt_s=0.05,
        burst_bytes=60_000,
        faster=4.0,
        duration_s=12.0,
        pause_s=None,
    )
    by = build_of(judged)
    found = judged(path, tmp_path, by)
    assert judged(path, tmp_path, by) == found
    table = {row[0]: row[1:3] for row in rows([(path, found)])}
    assert table["captures policed"] == ["1", "1"]
    assert table["policers: rate within 5 %, where reached"] == ["1", "1"]
    assert table["policers: burst within a factor of 1.5, where reached"] == ["1", "1"]
    assert table["second half predicted within 10 %"] == ["1", "1"]
    assert table["false alarms, captures: other traffic"] == ["0", "1"]


def test_a_prediction_is_right_within_10_percent() -> None:
    of = Halves(first_bps=1.2e6, second_bps=1e6, predicted_bps=1.09e6, declined=None)
    assert of.is_right
    assert not of.is_steady
    assert not replace(of, predicted_bps=1.11e6).is_right
    assert not replace(of, predicted_bps=None, declined="the application limits").is_right


def test_other_traffic_is_the_rate_without_the_own_part(tmp_path: Path) -> None:
    bottleneck = {"queue": {"kind": "droptail", "capacity": "2 bdp"}}
    on_off = {"kind": "onoff", "rate": "10 Mbit/s", "on": "1 s", "off": "1 s"}
    others = {"name": "others", "rtt": "60 ms", "controller": "cubic", "count": 2}
    file = capture(tmp_path / "shared.pcapng", bottleneck, beside=[others | {"traffic": on_off}])
    (of,) = fairhaul.explain(file).connections
    cross = of.path.cross_bps
    assert cross is not None
    assert cross.high is None
    # 20.24 Mbit/s of frames, without what the connection had.
    own_bps = (of.goodput_bps or 0) * 1518 / 1460
    assert 0.3 * (20.24e6 - own_bps) < cross.low < 20.24e6 - own_bps
    alone = fairhaul.explain(capture(tmp_path / "alone.pcapng", bottleneck)).connections[0]
    assert alone.path.cross_bps is None
