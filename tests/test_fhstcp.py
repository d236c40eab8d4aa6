"""The claims of the FHSTCP paper, in runs short enough for the suite.

Where a claim does not hold here, the test states what does; `docs/papers/fhstcp.md` says why.
"""

from __future__ import annotations

import json
from functools import cache, partial

import polars as pl
import pytest

from fairhaul.record.record import Record
from fairhaul.studies.papers import paper_of, reproduce
from fairhaul.studies.papers.measured import time_to_fill
from fairhaul.studies.papers.outcome import CHOSEN, remarks
from fairhaul.studies.papers.results import Results

from . import short

results_of = partial(short.results, paper_of("fhstcp"))


def every(_: tuple[str, ...]) -> bool:
    return True


@cache
def figure3() -> Results:
    return results_of(
        "figure3",
        2,
        every,
        {"bottleneck.rate": "200 Mbit/s", "duration": "140 s", "warmup": "40 s"},
    )


def test_fhstcp_is_fairer_than_hstcp_and_stcp_at_every_time_scale() -> None:
    # [FHSTCP, Fig. 3]; standard TCP, too, is less fair, since its exponent is 2.
    run = figure3()
    for scale in ("1", "2", "5", "10", "20", "50", "100"):
        ours = run.mean(("fhstcp",), scale)
        assert ours > 0.8
        assert run.mean(("reno",), scale) < ours
        # One flow alone has 1/3; synchronised losses give HighSpeed TCP 0.367 and more.
        assert 1 / 3 < run.mean(("scalable",), scale) < run.mean(("highspeed",), scale) < 0.6


def test_fhstcp_loses_together_and_stcp_starves_apart() -> None:
    run = figure3()
    assert min(run.mean(("fhstcp",), f"{name} reduces in") for name in ("F1", "F2", "F3")) > 0.75
    # The long flow has next to nothing in the queue, so few drops are its own.
    assert run.mean(("scalable",), "F3 reduces in") < 0.5


def test_two_flows_share_as_the_inverse_of_their_rounds_under_fhstcp_alone() -> None:
    # [FHSTCP, 2]: the ratio of throughputs is the ratio of rounds. A queue of up to 20 ms that
    # both wait in brings rounds closer than propagation says, so ours may be as low as
    # (40 n + 20) / 60 at n times 40 ms: 2.3 at 3, 4.3 at 6; the seeds scatter around that.
    of = {"1": {"fhstcp"}, "3": {"fhstcp", "reno", "highspeed"}}
    of["6"] = {*of["3"], "scalable"}
    run = results_of(
        "rtt", 1, lambda key: key[1] in of.get(key[0], ()), {"bottleneck.rate": "200 Mbit/s"}
    )
    for n in (1, 3, 6):
        ours = run.mean((str(n), "fhstcp"), "ratio")
        assert 0.6 * (40 * n + 20) / 60 < ours < 1.25 * n
        assert n == 1 or run.mean((str(n), "reno"), "ratio") > ours
    # Losses together: 3 to the power of 5.56 for HighSpeed TCP is out of reach in two minutes.
    assert run.mean(("3", "highspeed"), "ratio") > 10 * run.mean(("3", "fhstcp"), "ratio")
    assert run.mean(("6", "highspeed"), "ratio") > 100
    assert run.mean(("6", "scalable"), "ratio") > 100


def test_shares_lie_between_flows_that_lose_apart_and_flows_that_lose_together() -> None:
    # F1/F3 is 1.66 in [FHSTCP, Table 1], 1.16 where losses are independent, 2.5 where they
    # coincide. Ours is at the upper end, as its losses nearly coincide. It takes hundreds of
    # seconds: in two minutes at 1 Gbit/s single seeds are still anywhere from 0.7 to 5.7.
    longer = {"duration": "300 s", "warmup": "100 s", "bottleneck.rate": "200 Mbit/s"}
    run = results_of("sensitivity", 2, lambda key: key == ("as in Table 1",), longer)
    assert 1.1 < run.mean(("as in Table 1",), "F1/F3") < 2.5
    assert 0.8 < run.mean(("as in Table 1",), "fairness index") < 0.95


def test_the_background_loses_less_than_one_in_a_thousand() -> None:
    # [FHSTCP, Table 1], c = 10: 7e-5 to 8e-4. Each long-lived flow, at 1000 and 622 Mbit/s.
    keep = ("as in Table 1", "622 Mbit/s")
    run = results_of(
        "sensitivity", 1, lambda key: key[0] in keep, {"duration": "100 s", "warmup": "40 s"}
    )
    for name in keep:
        assert max(run.values((name,), "most background loss")) < 1e-3


def test_one_fhstcp_flow_fills_a_link_sooner_on_long_rounds_and_later_on_short() -> None:
    # "keeping the advantages of HSTCP" [FHSTCP]: true of utilisation and of long rounds. The factor
    # is 0.2 at 20 ms, where FHSTCP takes several times as long, and longer than standard TCP.
    brief = {"duration": "150 s", "warmup": "100 s", "bottleneck.rate": "200 Mbit/s"}
    run = results_of("advantages", 1, every, brief)
    for ms in ("20 ms", "80 ms", "200 ms"):
        assert run.mean((ms, "fhstcp"), "utilisation") > 90
    fill = {key: run.mean(key, "time to fill") for key in run.runs if key != ("200 ms", "reno")}
    assert fill["200 ms", "fhstcp"] < 0.7 * fill["200 ms", "highspeed"]
    assert fill["80 ms", "fhstcp"] < 1.5 * fill["80 ms", "highspeed"]
    assert fill["20 ms", "fhstcp"] > 2 * fill["20 ms", "highspeed"]
    assert fill["20 ms", "fhstcp"] > fill["20 ms", "reno"]
    assert run.estimate(("200 ms", "reno"), "time to fill") is None


def test_the_factor_makes_it_fair_and_the_blocks_change_little() -> None:
    # [FHSTCP, 2] gives fairness to the factor: true. It has the blocks take back the factor's
    # bursts: a DropTail queue that every variant fills drops about as many with them as without.
    length = {"duration": "140 s", "warmup": "40 s", "bottleneck.rate": "200 Mbit/s"}
    run = results_of("ablation", 2, every, length)
    fair = {name: run.mean((name,), "fairness index") for (name,) in run.runs}
    assert min(fair["both"], fair["factor only"]) > 0.8
    assert max(fair["neither"], fair["blocks only"]) < 0.6
    drops = {name: run.mean((name,), "drops per loss event") for (name,) in run.runs}
    # From one seed to the next the ratio varies by a third; over twelve seeds it is 1.18.
    assert 0.7 < drops["both"] / drops["factor only"] < 1.7
    # 20 ms at 200 Mbit/s are 500 packets.
    assert all(450 < run.mean(key, "queue peak") <= 500 for key in run.runs)


def test_fhstcp_beside_a_standard_flow_takes_what_its_factor_says() -> None:
    # [FHSTCP, 3] wants standard TCP left alone at p = 1e-3. Below 38 packets growth is c x RTT
    # times standard TCP's, so the window is about its root: 0.32, 0.55, 1 and 1.73 times as
    # large, and it is FHSTCP that starves on short rounds. At 1e-3 and 300 ms its window passes
    # 38 packets, where a(w) exceeds 1, and it takes more than that.
    run = results_of("friendliness", 2, lambda key: key[0] in {"1e-2", "1e-3"})
    for p in ("1e-2", "1e-3"):
        for ms, root in (("10 ms", 0.32), ("30 ms", 0.55), ("100 ms", 1.0)):
            assert run.mean((p, ms), "ratio") == pytest.approx(root, rel=0.25)
    assert run.mean(("1e-2", "300 ms"), "ratio") == pytest.approx(1.73, rel=0.25)
    assert 1.7 < run.mean(("1e-3", "300 ms"), "ratio") < 3.2


def test_a_link_is_filled_once_it_was_busy_for_a_second() -> None:
    # Busy from 2.0 s on: at 2.9 s the last second was busy for 0.9 s.
    ticks = [tenth / 10 for tenth in range(40)]
    busy = [0.1 if tenth >= 20 else 0.0 for tenth in range(40)]
    link = pl.DataFrame({"t_s": ticks, "link": ["wire"] * 40, "busy_s": busy})
    meta = {"scenario": {"duration_s": 4.0, "links": [{"name": "wire"}]}}
    none = pl.DataFrame()
    record = Record(meta=meta, flow_series=none, link_series=link, transfer=none, event=none)
    assert time_to_fill(record) in (pytest.approx(2.9), pytest.approx(3.0))


def test_experiments_are_chosen_and_explained() -> None:
    slower = {"bottleneck.rate": "20 Mbit/s", "duration": "20 s", "warmup": "5 s"}
    done = reproduce("fhstcp", quick=True, seeds=2, only=["ablation", "figure3"], overrides=slower)
    titles = [table.title for table in done.tables]
    assert titles[0].startswith("Figure 3")
    assert titles[2].startswith("Ablation")
    assert all("synchronisation" in title for title in titles[1::2])
    assert "HighSpeed" in " ".join(remarks(done)[CHOSEN])
    assert "figure3: 2 seeds of 20 s" in done.how
    assert json.loads(json.dumps(done.to_dict(), allow_nan=False))["values"]["claims"][0]["numbers"]
    with pytest.raises(ValueError, match="did you mean 'figure3'"):
        reproduce("fhstcp", only=["figure4"])
