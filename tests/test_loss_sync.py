"""Loss episodes, against events dated by hand."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from fairhaul.measures.loss_sync import episodes
from fairhaul.measures.losses import not_undone
from fairhaul.record.record import Record

EMPTY = pl.DataFrame()


def found(events: list[tuple[float, str, str, float]], **rounds: float) -> Any:
    """The episodes of bulk flows `rounds`, beside a web flow, measured from 1 s on."""
    specs = [{"name": name, "rtt_s": 9.0, "traffic": {"kind": "bulk"}} for name in rounds]
    specs.append({"name": "web", "rtt_s": 9.0, "traffic": {"kind": "web"}})
    flows = [{"name": name, "rtt_mean_s": length} for name, length in rounds.items()]
    flows.append({"name": "web", "rtt_mean_s": 5.0})
    columns = {"t_s": pl.Float64, "kind": pl.String, "flow": pl.String, "value": pl.Float64}
    event = pl.DataFrame(events, schema=columns, orient="row")
    meta = {"scenario": {"warmup_s": 1.0, "flows": specs}}
    record = Record(meta=meta, flow_series=EMPTY, link_series=EMPTY, transfer=EMPTY, event=event)
    return episodes(not_undone(record), flows, meta["scenario"])


def test_a_loss_is_dated_back_by_a_round_of_its_flow() -> None:
    # Both were dropped at 2.0 s, found 0.08 s and 0.20 s later; then "a" alone, dropped at 3.0 s.
    events = [
        (2.08, "reduction", "a", 50.0),
        (2.16, "recovered", "a", 50.0),
        (2.20, "marked", "b", 50.0),
        (3.08, "reduction", "a", 50.0),
    ]
    what = found(events, a=0.08, b=0.2)
    assert (what.count, what.window_s) == (2, 0.2)
    assert what.joined == {"a": 1.0, "b": 0.5}


def test_an_episode_lasts_one_round_of_the_slowest_flow() -> None:
    # Drops at 2.00, 2.15 and 2.25 s: the third is 0.25 s after the first, past the 0.2 s.
    events = [(at + 0.1, "reduction", "a", 1.0) for at in (2.0, 2.15, 2.25)]
    assert found(events, a=0.1, b=0.2).count == 2


def test_a_timeout_is_dated_back_by_its_timer() -> None:
    # Dropped at 2.0 s; the timer of 1.5 s ran out at 3.5 s.
    events = [(2.1, "reduction", "a", 1.0), (3.5, "timeout", "b", 1.5)]
    what = found(events, a=0.1, b=0.1)
    assert what.joined == {"a": 1.0, "b": 1.0}
    assert what.count == 1


def test_what_was_undone_is_no_loss() -> None:
    # "a" reduced and timed out for late packets, undone at 2.9 s; the loss at 3.0 s counts.
    events = [
        (2.1, "reduction", "a", 50.0),
        (2.8, "timeout", "a", 0.4),
        (2.85, "reduction", "b", 50.0),
        (2.9, "undone", "a", 2.1),
        (3.0, "reduction", "a", 50.0),
    ]
    what = found(events, a=0.1, b=0.1)
    assert (what.count, what.joined) == (2, {"a": 0.5, "b": 0.5})


def test_warm_up_and_short_transfers_make_no_episode() -> None:
    events = [(0.5, "reduction", "a", 1.0), (2.0, "timeout", "web", 1.0)]
    assert found(events, a=0.1).to_dict() == {"count": 0, "window_s": pytest.approx(0.1)}
    assert found(events).to_dict() == {"count": 0, "window_s": None}
