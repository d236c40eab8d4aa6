"""Records outside the package: polars takes the engine's columns as they are, pandas the same."""

from __future__ import annotations

import builtins
import hashlib
import itertools
import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import fairhaul as package
from fairhaul import _core
from fairhaul.record.columns import columns_of
from fairhaul.record.integrity import digest, digest_of_meta
from fairhaul.record.record import TABLES, read_record, write_files
from fairhaul.record.series import series

from .conftest import SMALL

PIE = {"bottleneck.queue.kind": "pie"}


def _address(column: pl.Series) -> int:
    """Where the values of a column lie; refused where showing them would need a copy."""
    pointer, _ = column.to_numpy(allow_copy=False).__array_interface__["data"]
    return int(pointer)


def test_polars_takes_the_columns_of_the_engine_without_a_copy() -> None:
    outcome = _core.Run(package.read(SMALL, PIE)[0]).run()
    for table in outcome.tables.values():
        # Had either frame copied, they could not lie at the same place.
        one, other = pl.DataFrame(table), pl.DataFrame(table)
        numbers = [c.name for c in one if c.dtype.is_numeric() and not c.null_count()]
        assert numbers or not len(one)
        for name in numbers:
            assert _address(one[name]) == _address(other[name]), name


def test_a_record_that_is_interrupted_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = package.run(SMALL).records[0]
    write = Path.write_text

    def interrupted(path: Path, text: str, **how: Any) -> None:
        write(path, text[:10], **how)
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_text", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_files(record, tmp_path / "run")
    assert not (tmp_path / "run/meta.json").exists()
    # The same run, made again, leaves nothing of the first.
    monkeypatch.undo()
    write_files(record, tmp_path / "run")
    assert {
        file.name for file in (tmp_path / "run").iterdir() if file.name.startswith(".")
    } == set()
    assert read_record(tmp_path / "run").meta["seed"] == record.meta["seed"]


def test_any_arrow_library_reads_a_record() -> None:
    record = package.run(SMALL).records[0]
    for name, table in record.tables().items():
        assert hasattr(table, "__arrow_c_stream__")
        assert pl.DataFrame(table).equals(table, null_equal=True), name


def test_the_columns_of_a_table_are_those_of_its_frame() -> None:
    # A flow that starts late has no round-trip time before; the queue has gauges.
    overrides = {**PIE, "flow.far.start": "10 s"}
    record = package.run(SMALL, overrides).records[0]
    for name in TABLES:
        own, frame = columns_of(record.raw(name)), columns_of(getattr(record, name))
        assert isinstance(record.raw(name), pl.DataFrame), "a frame replaces the engine's table"
        assert own.numbers.keys() == frame.numbers.keys()
        for column, values in own.numbers.items():
            np.testing.assert_array_equal(values, frame.numbers[column])
        assert own.words.keys() == frame.words.keys()
        for column, words in own.words.items():
            assert words.texts() == frame.words[column].texts()


def test_a_word_that_is_missing_is_empty() -> None:
    frame = pl.DataFrame({"kind": ["b", None, "a", "b"], "flow": ["x"] * 4, "t_s": [0, 1, 2, 3]})
    rows = columns_of(frame.cast({"flow": pl.Categorical})).rows("t_s", "kind", "flow")
    assert list(rows) == [(0, "b", "x"), (1, "", "x"), (2, "a", "x"), (3, "b", "x")]


def test_a_record_that_was_just_made_can_be_pickled() -> None:
    record = package.run(SMALL).records[0]
    again = pickle.loads(pickle.dumps(record))
    assert again.meta == record.meta
    for name, table in record.tables().items():
        assert table.equals(again.tables()[name], null_equal=True), name


def test_a_record_without_gauges_has_an_empty_table_of_them() -> None:
    record = package.run(SMALL).records[0]
    tables: Any = {name: table for name, table in record.tables().items() if name != "gauge"}
    assert package.Record(meta=record.meta, **tables).gauge.columns == record.gauge.columns


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


DCTCP = {"flow.far.controller": "dctcp", "bottleneck.queue.mark": "5 packets"}


def test_what_controllers_hold_stands_in_the_record_by_flow_gauge_and_the_start_of_each_bin(
    tmp_path: Path,
) -> None:
    record = package.run(SMALL, {**DCTCP, "flow.near.controller": "bbr"}).records[0]
    starts = record.flow_series.filter(flow="far")["t_s"].to_list()
    held = {"near": ["rate_bps", "min_rtt_s"], "far": ["alpha"]}
    wanted = [(t, flow, gauge) for flow in held for gauge in held[flow] for t in starts]
    assert record.flow_gauge.select("t_s", "flow", "gauge").rows() == wanted
    alpha = record.flow_gauge.filter(flow="far", gauge="alpha")
    # The flow begins within a second, with an average of 1.
    began = record.transfer.filter(flow="far")["start_s"][0]
    values = dict(zip(alpha["t_s"], alpha["value"], strict=True))
    assert all((value is None) == (t <= began) for t, value in values.items())
    assert next(value for value in values.values() if value is not None) == 1
    assert 0 < values[starts[-1]] < 1
    package.write_record(record, tmp_path / "record")
    again = package.read_record(tmp_path / "record")
    assert again.flow_gauge.equals(record.flow_gauge, null_equal=True)


def test_a_record_of_an_earlier_version_has_no_gauges_of_controllers(tmp_path: Path) -> None:
    record = package.run(SMALL, DCTCP).records[0]
    directory = tmp_path / "record"
    package.write_record(record, directory)
    without = tmp_path / "without"
    shutil.copytree(directory, without)
    (without / "flow_gauge.parquet").unlink()
    with pytest.raises(OSError, match="flow_gauge"):
        package.read_record(without)
    meta = json.loads((without / "meta.json").read_text())
    del meta["digests"]["flow_gauge"]
    (without / "meta.json").write_text(json.dumps(meta))
    earlier = package.read_record(without)
    assert earlier.flow_gauge.is_empty()
    assert earlier.flow_gauge.columns == record.flow_gauge.columns
    assert earlier.gauge.equals(record.gauge)
    # A table that is there needs its digest.
    shutil.copy(directory / "flow_gauge.parquet", without)
    with pytest.raises(ValueError, match="flow_gauge is damaged"):
        package.read_record(without)


def seal(directory: Path, **altered: Any) -> None:
    """Give the record in `directory` the digests of what is there, with parts of `meta` altered."""
    meta = json.loads((directory / "meta.json").read_text()) | altered
    del meta["digests"]
    digests = {name: digest((directory / f"{name}.parquet").read_bytes()) for name in TABLES}
    digests["meta"] = digest_of_meta(meta)
    (directory / "meta.json").write_text(json.dumps(meta | {"digests": digests}))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record in a directory, not to be altered."""
    directory = tmp_path_factory.mktemp("records") / "record"
    package.write_record(package.run(SMALL, {"duration": "6 s"}).records[0], directory)
    return directory


def test_every_single_bit_that_is_flipped_in_a_record_is_found(
    written: Path, tmp_path: Path
) -> None:
    chance = np.random.default_rng(1)
    for name in ("meta.json", *(f"{table}.parquet" for table in TABLES)):
        content = (written / name).read_bytes()
        for bit in chance.integers(0, 8 * len(content), 40):
            copy = tmp_path / f"{name}-{bit}"
            shutil.copytree(written, copy)
            flipped = bytearray(content)
            flipped[bit // 8] ^= 1 << (bit % 8)
            (copy / name).write_bytes(flipped)
            try:
                again = package.read_record(copy)
            except ValueError:
                continue
            # Only the layout of meta.json may be altered without harm: its numbers are the same.
            assert name == "meta.json"
            assert again.meta == package.read_record(written).meta


def test_a_digest_is_that_of_sha256sum(written: Path) -> None:
    digests = json.loads((written / "meta.json").read_text())["digests"]
    for name in TABLES:
        content = (written / f"{name}.parquet").read_bytes()
        assert digests[name] == hashlib.sha256(content).hexdigest()


def test_a_record_of_other_flows_than_its_tables_is_refused(written: Path, tmp_path: Path) -> None:
    copy = tmp_path / "fewer"
    shutil.copytree(written, copy)
    scenario = json.loads((copy / "meta.json").read_text())["scenario"]
    seal(copy, scenario={**scenario, "flows": scenario["flows"][:1]})
    with pytest.raises(ValueError, match="'far', a flow of another run"):
        package.read_record(copy)


def test_a_series_is_not_laid_out_by_its_height_alone() -> None:
    record = package.run(SMALL, {"duration": "6 s"}).records[0]
    scenario = record.meta["scenario"]
    table = record.flow_series
    other_order = pl.concat([table.filter(flow="far"), table.filter(flow="near")])
    by_time = table.sort("t_s")
    renamed = {**scenario, "flows": [*scenario["flows"][:1], {"name": "third"}]}
    for wrong, of in (
        (other_order, scenario),
        (by_time, scenario),
        (table.head(-1), scenario),
        (table.head(0), scenario),
        (table, renamed),
    ):
        with pytest.raises(ValueError, match="series"):
            series(wrong, 2, of)
    with pytest.raises(ValueError, match="series"):
        series(table, 1, {**scenario, "flows": scenario["flows"][:1]})


def test_a_missing_pandas_is_reported_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    record = package.run(SMALL).records[0]
    real = builtins.__import__

    def without_pandas(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "pandas":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    with pytest.raises(ImportError, match=r"fairhaul\[pandas\]"):
        record.to_pandas()


def test_the_event_table_has_every_mode_of_a_controller() -> None:
    told = (
        package.run(SMALL, {"flow.near.controller": "ghstcp"}).records[0].event.filter(kind="mode")
    )
    modes = told["value"].to_list()
    assert modes[0] == 1.0
    assert all(one != other for one, other in itertools.pairwise(modes))
    assert set(modes) <= {0.0, 1.0}
    assert not package.run(SMALL).records[0].event.filter(kind="mode").height
