"""What comes after the engine takes time in proportion to what it recorded.

A record that is eight times as large may take at most twenty times the processor time, the least of
several measurements; a quadratic part would take 64 times. The limit is between the two because a
larger record leaves the caches, and other programs use the machine. Both are measured in turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from fairhaul.answers.cases import Case
from fairhaul.answers.outcome import outcome_of
from fairhaul.cli import show
from fairhaul.measures.measures import measure
from fairhaul.record.integrity import NUMBERS
from fairhaul.record.record import Record, write_files

TIMES = 3
FACTOR, MOST = 8, 20


@dataclass(frozen=True, kw_only=True)
class Size:
    """The size of a record."""

    flows: int = 4
    bins: int = 4
    links: int = 1
    events: int = 0
    transfers: int = 0


# Large enough for every part of the work to outweigh what it costs to begin it.
SIZES = {
    "flows": Size(flows=250),
    "bins": Size(bins=10_000),
    "links": Size(links=500),
    "events": Size(events=10_000),
    "transfers": Size(transfers=10_000),
}


def made(size: Size) -> Record:
    """A record of no run: half of the flows share transfers in pairs, and all goodputs differ."""
    chance = np.random.default_rng(1)
    flows = [_flow(index, size) for index in range(size.flows)]
    names = [flow["name"] for flow in flows]
    rates = {"rate_bps": 1e9, "capacity_packets": 5, "capacity_s": None}
    links = [{"name": f"L{index}", **rates} for index in range(size.links)]
    scenario = {"title": "T", "duration_s": 9.0, "warmup_s": 1.0, "flows": flows, "links": links}
    meta = {"engine": "sim", "version": "0", "seed": 1, "packets": 1, "cpu_s": 1.0, "variant": {}}

    def some(rows: int) -> list[str]:
        return [names[index] for index in chance.integers(0, len(names), rows)]

    def numbers(table: str, rows: int) -> dict[str, Any]:
        return {column: chance.uniform(1, 9, rows) for column in NUMBERS[table]}

    def series(kind: str, words: list[str]) -> pl.DataFrame:
        starts = np.tile(np.linspace(0, 9, size.bins, endpoint=False), len(words))
        columns = numbers(f"{kind}_series", len(starts)) | {"t_s": starts}
        of = pl.Series(kind, np.repeat(words, size.bins).tolist(), dtype=pl.Categorical)
        return pl.DataFrame(columns).with_columns(of)

    kinds = chance.choice(["reduction", "timeout", "undone", "mode"], size.events).tolist()
    words = {"kind": pl.String, "flow": pl.String}
    event = {**numbers("event", size.events), "kind": kinds, "flow": some(size.events)}
    transfer = {**numbers("transfer", size.transfers), "flow": some(size.transfers)}
    return Record(
        meta={**meta, "scenario": scenario},
        flow_series=series("flow", names),
        link_series=series("link", [f"L{index}" for index in range(size.links)]),
        event=pl.DataFrame(event, schema_overrides=words),
        transfer=pl.DataFrame(transfer, schema_overrides=words),
    )


def _flow(index: int, size: Size) -> dict[str, Any]:
    is_connection = index % 4 == 1
    return {
        "name": f"F{index}",
        "group": f"F{index - is_connection}",
        "lead": index - 1 if is_connection else None,
        "role": "measured",
        "controller": "reno",
        "traffic": {"kind": "short" if index % 2 else "bulk"},
        "rtt_s": 0.1,
        "packet_bytes": 1000,
        "forward": [{"rate_bps": 1e6 + index}, {"link": index % size.links}],
        "reverse": [],
        "max_window": None,
        "send_buffer_bytes": None,
        "receive_buffer_bytes": None,
    }


def ratio(work: Callable[..., object], large: object, small: object, *rest: object) -> float:
    """How many times as long `work` takes on `large` as on `small`, by the least processor time."""
    took: list[list[float]] = [[], []]
    for _ in range(TIMES):
        for value, times in zip((large, small), took, strict=True):
            begun = time.process_time()
            work(value, *rest)
            times.append(time.process_time() - begun)
    return min(took[0]) / min(took[1])


def large_and_small(name: str, size: Size) -> tuple[Record, Record]:
    """Two records, of which the first has `FACTOR` times as many of `name`."""
    return made(replace(size, **{name: FACTOR * getattr(size, name)})), made(size)


@pytest.mark.parametrize("name", SIZES)
def test_figures_take_time_in_proportion_to_the_record(name: str) -> None:
    assert ratio(measure, *large_and_small(name, SIZES[name])) < MOST


@pytest.mark.parametrize("name", SIZES)
def test_files_take_time_in_proportion_to_the_record(name: str, tmp_path: Path) -> None:
    assert ratio(write_files, *large_and_small(name, SIZES[name]), tmp_path / "out") < MOST


def test_tables_take_time_in_proportion_to_their_rows(capsys: pytest.CaptureFixture[str]) -> None:
    large, small = (
        Case(meta=record.meta, runs=[measure(record)])
        for record in large_and_small("flows", Size(flows=60))
    )
    assert ratio(lambda case: show.console().print(outcome_of([case])), large, small) < MOST
    assert capsys.readouterr().out
