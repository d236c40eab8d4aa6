"""The claims of the paper on XCP beside TCP, in runs short enough for the suite.

Where a claim does not hold here, the test states what does; `docs/papers/xcp-tcp.md` says why.
"""

from __future__ import annotations

import json
from functools import cache, partial

import numpy as np
import polars as pl
import pytest

from fairhaul.papers import reproduce
from fairhaul.papers.experiment import Found
from fairhaul.papers.run import CHOSEN
from fairhaul.papers.xcp_tcp import PAPER
from fairhaul.papers.xcp_tcp.floor import ABOVE, ALWAYS, allowed
from fairhaul.papers.xcp_tcp.over_time import CAPTION_5, FIG_1, FIG_2, FIG_3, FIG_4, SLOW, TEXT_5
from fairhaul.papers.xcp_tcp.setting import ADAPTIVE, FAR, LITERAL, NEAR, RATE, TEN_TCP, TWO_TCP
from fairhaul.papers.xcp_tcp.shares import TCP, XCP, by_second, phases, there
from fairhaul.papers.xcp_tcp.short import MEAN, PLAIN
from fairhaul.record import Record

from . import short

found = partial(short.found, PAPER)


def flow(name: str, controller: str, start_s: float) -> dict[str, object]:
    start = {"law": "uniform", "from_s": start_s, "to_s": start_s + 1}
    return {"name": name, "controller": controller, "start": start, "packet_bytes": 1000}


def record(duration_s: float, rows: dict[str, list[object]] | None = None) -> Record:
    scenario = {
        "duration_s": duration_s,
        "links": [{"rate_bps": 8e6}],
        "flows": [flow("x", "xcp", 0), flow("t[0]", "reno", 10), flow("t[1]", "reno", 10)],
    }
    none = pl.DataFrame()
    series = none if rows is None else pl.DataFrame(rows)
    meta = {"scenario": scenario}
    return Record(meta=meta, flow_series=series, link_series=none, transfer=none, event=none)


def test_a_new_phase_begins_where_flows_arrive() -> None:
    alone, all_three = phases(record(40))
    assert (alone.start_s, alone.end_s, alone.new, alone.due(XCP)) == (0, 10, XCP, 100)
    assert (all_three.start_s, all_three.end_s, all_three.new) == (10, 40, TCP)
    # [XCP-TCP, eq. 2]: one of three.
    assert all_three.due(XCP) == pytest.approx(100 / 3)
    assert str(all_three) == "10 to 40 s: 1 XCP, 2 TCP"
    # What arrives after the end is in no phase.
    assert [str(phase) for phase in phases(record(8))] == ["0 to 8 s: 1 XCP"]


def test_a_share_counts_headers() -> None:
    # 1 MB/s. In the first second XCP has 250 packets with 940 B of payload, and one of TCP 500
    # with 960 B: a quarter of the link and a half.
    rows: dict[str, list[object]] = {
        "t_s": [0.0, 0.5, 0.0, 1.0],
        "flow": ["x", "x", "t[0]", "t[1]"],
        "delivered_bytes": [150 * 940, 100 * 940, 500 * 960, 100 * 960],
    }
    shares = by_second(record(2, rows))
    assert shares[XCP] == pytest.approx([25, 0])
    assert shares[TCP] == pytest.approx([50, 10])


def test_a_share_is_there_once_it_stays() -> None:
    # Means over 5 s are 10 from the tenth second on, and have to be near 10 for ten of them.
    share = np.where(np.arange(40) >= 10, 10.0, 0.0)
    assert there(share, 10) == 10
    assert there(share, 9.5) == 10
    assert there(share, 8) is None
    # The tenth mean is of the seconds 19 to 23, of which the last has none.
    assert there(np.where(np.arange(40) < 23, share, 0.0), 10) is None
    assert there(np.where(np.arange(40) < 24, share, 0.0), 10) == 10
    assert there(share[:14], 10) is None


def test_the_floor_bounds_the_window_of_newreno() -> None:
    # (1.5 / 1e-4)^0.5 = 122.5 packets of 8000 bits: 9.8 Mbit/s of 100 at 100 ms, 49 at 20 ms.
    assert allowed(2, FAR) == pytest.approx(19.6, abs=0.05)
    assert allowed(2, NEAR) == pytest.approx(98.0, abs=0.05)
    assert allowed(10, NEAR) == 100
