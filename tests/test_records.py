"""Records outside the package: polars takes the engine's columns as they are, pandas the same."""

from __future__ import annotations

import builtins
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import fairhaul as package
from fairhaul import _core
from fairhaul.record import TABLES

from .conftest import SMALL

PIE = {"bottleneck.queue.kind": "pie"}


def _address(column: pl.Series) -> int:
    """Where the values of a column lie; refused where showing them would need a copy."""
    pointer, _ = column.to_numpy(allow_copy=False).__array_interface__["data"]
    return int(pointer)


def test_polars_takes_the_columns_of_the_engine_without_a_copy() -> None:
    outcome = _core.Run(package.read(SMALL, PIE)[0]).run()
    tables = (outcome.flow_series, outcome.link_series, outcome.transfer, outcome.event)
    for table in (*tables, outcome.gauge):
        # Had either frame copied, they could not lie at the same place.
        one, other = pl.DataFrame(table), pl.DataFrame(table)
        numbers = [c.name for c in one if c.dtype.is_numeric() and not c.null_count()]
        assert numbers
        for name in numbers:
            assert _address(one[name]) == _address(other[name]), name


def test_whoever_knows_arrow_takes_a_record() -> None:
    record = package.run(SMALL).records[0]
    for name, table in record.tables().items():
        assert hasattr(table, "__arrow_c_stream__")
        assert pl.DataFrame(table).equals(table, null_equal=True), name


def test_pandas_gets_the_same_numbers() -> None:
    record = package.run(SMALL, {"flow.far.start": "10 s"}).records[0]
    frames = record.to_pandas()
    assert tuple(frames) == TABLES
    for name, table in record.tables().items():
        frame = frames[name]
        assert list(frame.columns) == table.columns
        assert len(frame) == table.height
        for column in table:
            found = frame[column.name].to_numpy()
            if column.dtype.is_numeric():
                np.testing.assert_array_equal(found, column.to_numpy())
            else:
                assert found.tolist() == column.to_list()
    early = frames["flow_series"].query("flow == 'far' and t_s < 9")
    assert early["rtt_s"].isna().all()


def test_gauges_stand_in_the_record_by_link_gauge_and_the_start_of_each_bin(tmp_path: Path) -> None:
    record = package.run(SMALL, PIE).records[0]
    starts = record.link_series.filter(link="bottleneck")["t_s"].to_list()
    links = ["bottleneck", "bottleneck (reverse)"]
    wanted = [(t, link, gauge) for link in links for gauge in ("drop_p", "delay_s") for t in starts]
    assert record.gauge.select("t_s", "link", "gauge").rows() == wanted
    bottleneck = record.gauge.filter(link="bottleneck")
    delays = bottleneck.filter(gauge="delay_s")["value"]
    chances = bottleneck.filter(gauge="drop_p")["value"]
    # Nothing has happened at the start of the first bin; then PIE holds 15 ms, by dropping.
    assert (delays[0], chances[0]) == (0, 0)
    assert 0.005 < float(delays.mean()) < 0.03  # type: ignore[arg-type]
    assert 0 < float(chances.mean()) < 0.2  # type: ignore[arg-type]
    assert record.gauge.filter(link=links[1], gauge="drop_p")["value"].unique().to_list() == [0]
    package.write_record(record, tmp_path / "record")
    assert package.read_record(tmp_path / "record").gauge.rows() == record.gauge.rows()


def test_a_record_without_gauges_is_one_of_none(tmp_path: Path) -> None:
    record = package.run(SMALL).records[0]
    assert record.gauge.is_empty()
    package.write_record(record, tmp_path / "record")
    # Written before there were gauges.
    (tmp_path / "record" / "gauge.parquet").unlink()
    old = package.read_record(tmp_path / "record")
    assert old.gauge.schema == package.run(SMALL).records[0].gauge.schema
    assert old.gauge.is_empty()


def test_a_missing_pandas_is_told_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    record = package.run(SMALL).records[0]
    real = builtins.__import__

    def without_pandas(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "pandas":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    with pytest.raises(ImportError, match=r"fairhaul\[pandas\]"):
        record.to_pandas()


def test_the_event_table_tells_what_a_controller_does_and_each_change_of_it() -> None:
    told = (
        package.run(SMALL, {"flow.near.controller": "ghstcp"}).records[0].event.filter(kind="mode")
    )
    modes = told["value"].to_list()
    assert modes[0] == 1.0
    assert all(one != other for one, other in itertools.pairwise(modes))
    assert set(modes) <= {0.0, 1.0}
    assert not package.run(SMALL).records[0].event.filter(kind="mode").height
