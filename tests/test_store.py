"""The store of results: nothing is lost, nothing damaged is used, no old result is taken."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from pathlib import Path
from typing import Any

import pytest

from fairhaul import ScenarioError, cli
from fairhaul.jobs.store import Result, Store, StoreError, Writer, key_of, parts, rows
from fairhaul.jobs.store import store as module
from fairhaul.jobs.store.journal import Journal
from fairhaul.jobs.store.rows import Row, line_of
from fairhaul.jobs.store.sql import pieces_of
from tools import ROOT


def rows_of(store: Store, query: str) -> tuple[list[str], list[Sequence[Any]]]:
    """The columns and all rows of a query."""
    columns, pieces = pieces_of(store, query)
    return columns, [row for piece in pieces for row in piece]


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


def test_a_key_depends_on_all_that_makes_a_result() -> None:
    others = {
        key_of("t", 1, "sim", "figures", "a build"),
        key_of("s", 2, "sim", "figures", "a build"),
        key_of("s", 1, "lab", "figures", "a build"),
        key_of("s", 1, "sim", "cells", "a build"),
        key_of("s", 1, "sim", "figures", "another build"),
    }
    assert len(others) == 5
    assert key_of("s", 1, "sim", "figures", "a build") not in others


def test_a_journal_has_its_name_only_once_it_is_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "s"
    add(place)
    real = fcntl.flock

    def late(file: int, how: int) -> None:
        # Another process opens the store after the journal was created, and before it is locked.
        monkeypatch.setattr("fcntl.flock", real)
        add(place, "other")
        real(file, how)

    monkeypatch.setattr("fcntl.flock", late)
    add(place, "a", "b")
    assert keys_of(place) == {"a", "b", "other"}


def test_a_file_that_cannot_be_locked_is_an_error_except_where_there_are_no_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "s"
    add(place)

    def failing(number: int) -> Callable[[int, int], None]:
        def flock(_: int, __: int) -> None:
            raise OSError(number, os.strerror(number))

        return flock

    monkeypatch.setattr("fcntl.flock", failing(errno.EIO))
    with pytest.raises(OSError, match="Input/output"):
        add(place, "a")
    assert not list((place / "journals").iterdir())
    monkeypatch.setattr("fcntl.flock", failing(errno.ENOLCK))
    add(place, "a")
    assert keys_of(place) == {"a"}


def test_the_lock_is_held_until_the_journal_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "s"
    write = parts.write_part

    def slow(folder: Path, table: str, own: Sequence[Row]) -> Path:
        # Another process opens the store while this one makes parts of its journal.
        monkeypatch.setattr(parts, "write_part", write)
        add(place, "b")
        return write(folder, table, own)

    monkeypatch.setattr(parts, "write_part", slow)
    add(place, "a")
    assert keys_of(place) == {"a", "b"}
    assert not list((place / "journals").iterdir())


def test_a_journal_that_is_taken_over_while_it_is_read_is_read_under_its_new_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "s"
    add(place)
    journal = Journal(place / "journals")
    journal.append("result", result("a").row())
    journal.close()
    read = rows.rows_of

    def late(path: Path) -> object:
        monkeypatch.setattr(module, "rows_of", read)
        path.rename(path.with_name("0.jsonl"))
        return read(path)

    monkeypatch.setattr(module, "rows_of", late)
    assert keys_of(place) == {"a"}


def test_processes_that_open_a_store_at_once_lose_nothing(tmp_path: Path) -> None:
    place = tmp_path / "s"
    code = (
        "import sys; from pathlib import Path; from tests.test_store import add\n"
        "for number in range(12): add(Path(sys.argv[1]), f'{sys.argv[2]}-{number}')"
    )
    add(place)
    command = [sys.executable, "-c", code, str(place)]
    processes = [
        subprocess.Popen([*command, str(number)], cwd=ROOT, stderr=subprocess.PIPE, text=True)
        for number in range(3)
    ]
    assert [process.communicate()[1] for process in processes] == ["", "", ""]
    assert keys_of(place) == {f"{process}-{number}" for process in range(3) for number in range(12)}
    assert not list((place / "journals").iterdir())


def test_what_another_program_left_in_a_store_is_named_and_not_used(tmp_path: Path) -> None:
    place = tmp_path / "s"
    add(place, "a")
    (written,) = (place / "parts").glob("result-*")
    digest = written.stem.rpartition("-")[2]
    (written.with_name(f"other-{digest}.parquet")).write_bytes(written.read_bytes())
    (written.with_name(f"session-{digest}.parquet")).write_bytes(written.read_bytes())
    text = b"no table"
    no_table = written.with_name(f"result-{hashlib.sha256(text).hexdigest()[:32]}.parquet")
    no_table.write_bytes(text)
    written.with_name("x.parquet").symlink_to("/dev/zero")
    os.mkfifo(written.with_name("y.parquet"))
    os.mkfifo(place / "journals" / "pipe.jsonl")
    lines = [line_of("nosuch", {"key": "b"}), line_of("result", {"key": "c"})]
    lines += [line_of("result", {**result("d").row(), "packets": "many"}), line_of("result", {})]
    lines.append(line_of("result", {**result("e").row(), "more": 1}))
    (place / "journals" / "0.jsonl").write_bytes(b"".join(lines))
    store = Store(place)
    assert len(store) == 1
    assert len(store.damaged) == 7
    add(place, "f")
    assert keys_of(place) == {"a", "f"}


def test_a_value_that_is_not_json_is_named(tmp_path: Path) -> None:
    place = tmp_path / "s"
    with Writer(place) as writer:
        writer.add(result("a", value="no JSON"), str)
    (found,) = Store(place).results()
    with pytest.raises(ScenarioError, match="the value of result 'a' of 't' is not JSON"):
        found.decoded()


def test_a_mark_that_is_a_device_or_a_pipe_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "store.json").symlink_to("/dev/zero")
    with pytest.raises(StoreError, match="damaged"):
        Store(tmp_path)


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
        _, found = rows_of(store, "SELECT key, jain FROM runs ORDER BY key")
        assert found == [("a", 0.5), ("b", None)]
        with pytest.raises(StoreError, match="syntax error"):
            rows_of(store, "SELEC")


def test_a_query_reads_its_store_and_nothing_else(tmp_path: Path) -> None:
    place = tmp_path / "s"
    add(place, "a")
    (part,) = (place / "parts").glob("result-*")
    before = part.read_bytes()
    for query in (
        f"COPY (SELECT 1) TO '{tmp_path}/x.csv'",
        f"COPY (SELECT 1) TO '{part}'",
        f"EXPLAIN ANALYZE COPY (SELECT 1) TO '{part}'",
        f"ATTACH '{tmp_path}/x.db'",
        "INSTALL httpfs",
        "SET threads = 1",
        "SELECT 1; SELECT 2",
        "",
    ):
        with pytest.raises(StoreError, match="one SELECT"):
            rows_of(Store(place), query)
    for query in (
        "SELECT * FROM read_text('/etc/hostname')",
        "SELECT * FROM read_csv('/etc/passwd')",
        f"SELECT * FROM glob('{tmp_path}/*')",
        f"SELECT * FROM '{tmp_path}/x.parquet'",
    ):
        with pytest.raises(StoreError, match=r"(?i)permission|disabled"):
            rows_of(Store(place), query)
    assert part.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s"]


def test_a_query_that_does_not_end_is_interrupted(tmp_path: Path) -> None:
    place = tmp_path / "s"
    add(place, "a")
    code = (
        "import sys; from fairhaul import cli; import duckdb; print('begun', flush=True)\n"
        "cli.main(sys.argv[1:])"
    )
    for query in (
        "SELECT count(*) FROM range(100000000000000)",
        "SELECT * FROM range(1000000000000)",
    ):
        process = subprocess.Popen(
            [sys.executable, "-c", code, "results", "sql", str(place), query, "--csv"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        # Nobody reads more, so a query with many rows waits for its reader soon.
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        asked = time.monotonic()
        _, said = process.communicate(timeout=20)
        assert (process.returncode, said.strip()) == (130, "fairhaul: interrupted")
        assert time.monotonic() - asked < 5


@pytest.mark.timeout(120)
def test_an_interrupt_that_comes_before_a_query_begins_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "s"
    add(place, "a")
    first = iter([True])

    def interrupted(*args: Any, **how: Any) -> Any:
        if next(first, False):
            raise KeyboardInterrupt
        return wait(*args, **how)

    monkeypatch.setattr("fairhaul.jobs.store.sql.wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        rows_of(Store(place), "SELECT count(*) FROM range(100000000000000)")


def test_a_table_shows_the_first_rows_of_many(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "s"
    add(place, "a")
    assert cli.status_of(["results", "sql", str(place), "SELECT * FROM range(1000000000000)"]) == 0
    out, said = capsys.readouterr()
    assert "999" in out
    assert "1000 rows; --csv prints all" in said
