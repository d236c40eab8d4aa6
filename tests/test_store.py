"""The store of results: nothing is lost, nothing damaged is used, no old result is taken."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from fairhaul.store import Result, Store, StoreError, Writer, identity, key_of
from fairhaul.store import store as module
from fairhaul.store.journal import Journal
from fairhaul.store.rows import line_of
from fairhaul.store.sql import rows_of


def result(key: str, **changed: object) -> Result:
    fields: dict[str, object] = {
        "key": key,
        "scenario": "s",
        "seed": "1",
        "engine": "sim",
        "build": "b",
        "of": "figures",
        "session": "x",
        "title": "t",
        "variant": json.dumps({"bottleneck.rate": "1 Gbit/s"}),
        "cpu_s": 0.5,
        "packets": 7,
        "schema": 3,
        "value": json.dumps({"fairness": {"jain": 0.5}, "flows": [{"name": "f", "share": 0.25}]}),
    }
    return Result(**(fields | changed))  # type: ignore[arg-type]


def add(directory: Path, *keys: str) -> None:
    with Writer(directory, "test") as writer:
        for key in keys:
            writer.add(result(key), lambda: '{"resolved": true}')


def keys_of(directory: Path) -> set[str]:
    return {each.key for each in Store(directory).results()}


def test_what_is_added_is_read_again(tmp_path: Path) -> None:
    place = tmp_path / "s"
    add(place, "a", "b")
    add(place, "c")
    store = Store(place)
    assert len(store) == 3
    assert "a" in store
    assert "d" not in store
    assert list(store.results(["b", "d"])) == [result("b")]
    assert list(store.rows("scenario")) == [{"digest": "s", "resolved": '{"resolved": true}'}]
    assert {row["command"] for row in store.rows("session")} == {"test"}
    assert not list((place / "journals").iterdir())


def test_a_journal_of_a_process_that_was_killed_counts_and_becomes_a_part(tmp_path: Path) -> None:
    place = tmp_path / "s"
    add(place, "a")
    journal = Journal(place / "journals")
    journal.append("result", result("b").row())
    journal.close()
    # The process was killed while it wrote a line.
    with journal.path.open("ab") as file:
        file.write(line_of("result", result("c").row())[:-20])
    assert keys_of(place) == {"a", "b"}
    assert Store(place).damaged == []
    add(place)
    assert not list((place / "journals").iterdir())
    assert keys_of(place) == {"a", "b"}


def test_the_journal_of_a_running_process_is_read_and_left_alone(tmp_path: Path) -> None:
    place = tmp_path / "s"
    with Writer(place) as one:
        one.add(result("a"), str)
        with Writer(place) as other:
            assert "a" in other.store
            other.add(result("b"), str)
        assert len(list((place / "journals").iterdir())) == 1
        one.add(result("c"), str)
    assert keys_of(place) == {"a", "b", "c"}


def test_a_damaged_part_is_named_and_not_used(tmp_path: Path) -> None:
    place = tmp_path / "s"
    add(place, "a")
    add(place, "b")
    part = next(p for p in (place / "parts").glob("result-*") if "a" in Store(place))
    content = bytearray(part.read_bytes())
    content[len(content) // 2] ^= 1
    part.write_bytes(content)
    store = Store(place)
    assert store.damaged == [f"parts/{part.name}"]
    assert len(store) == 1
    add(place, "a", "b")
    assert Store(place).damaged == []
    assert keys_of(place) == {"a", "b"}
    assert part.with_suffix(".damaged").exists()


def test_a_damaged_line_of_a_journal_is_not_used(tmp_path: Path) -> None:
    place = tmp_path / "s"
    add(place)
    journal = Journal(place / "journals")
    for key in ("a", "b"):
        journal.append("result", result(key).row())
    journal.close()
    journal.path.write_bytes(journal.path.read_bytes().replace(b'"key":"a"', b'"key":"x"'))
    assert keys_of(place) == {"b"}
    assert Store(place).damaged == [f"journals/{journal.path.name}"]


def test_a_large_journal_becomes_parts_while_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LARGEST_JOURNAL", 3000)
    add(tmp_path / "s", *(f"k{i}" for i in range(20)))
    assert len(list((tmp_path / "s" / "parts").glob("result-*"))) > 1
    assert len(Store(tmp_path / "s")) == 20


def test_a_line_that_cannot_be_written_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "s"
    with Writer(place) as writer:
        writer.add(result("a"), str)
        # Only a part of the line fits on the disk.
        write = os.write
        monkeypatch.setattr("os.write", lambda file, line: write(file, line[:10]))
        with pytest.raises(OSError, match="No space left"):
            writer.add(result("b"), str)
        monkeypatch.undo()
        writer.add(result("c"), str)
    assert keys_of(place) == {"a", "c"}


def test_a_key_depends_on_all_that_makes_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    first = key_of("s", 1, "sim", "figures")
    others = {
        key_of("t", 1, "sim", "figures"),
        key_of("s", 2, "sim", "figures"),
        key_of("s", 1, "lab", "figures"),
        key_of("s", 1, "sim", "cells"),
        key_of("s", 1, "sim", "figures", "another build"),
    }
    monkeypatch.setattr(identity, "build", lambda: "0.2.0")
    others.add(key_of("s", 1, "sim", "figures"))
    assert len(others) == 6
    assert first not in others


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("mine")
    with pytest.raises(StoreError, match="exists and is not a store"):
        Writer(tmp_path)
    with pytest.raises(StoreError, match=r"it has no store\.json"):
        Store(tmp_path)
    place = tmp_path / "s"
    add(place, "a")
    (place / "store.json").write_text('{"store": "fairhaul", "schema": 99}')
    with pytest.raises(StoreError, match="schema 99"):
        Store(place)
    (place / "store.json").write_text("{")
    with pytest.raises(StoreError, match="damaged"):
        Store(place)


def test_sql_reads_parts_in_place_and_journals(tmp_path: Path) -> None:
    place = tmp_path / "s"
    add(place, "a")
    with Writer(place) as writer:
        writer.add(result("b", value=json.dumps({"flows": [{"name": "f", "share": 0.75}]})), str)
        store = Store(place)
        query = 'SELECT "bottleneck.rate", count(*), avg(share) FROM flows GROUP BY ALL'
        assert rows_of(store, query) == (
            ["bottleneck.rate", "count_star()", 'avg("share")'],
            [("1 Gbit/s", 2, 0.5)],
        )
        _, rows = rows_of(store, "SELECT key, jain FROM runs ORDER BY key")
        assert rows == [("a", 0.5), ("b", None)]
        with pytest.raises(StoreError, match="syntax error"):
            rows_of(store, "SELEC")
