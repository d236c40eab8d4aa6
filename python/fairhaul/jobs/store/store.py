"""A store that is open: reading results by their keys, and adding results."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from fairhaul._core import ScenarioError
from fairhaul.files import files
from fairhaul.files.files import NotAFile
from fairhaul.jobs.store import parts
from fairhaul.jobs.store.job import Job
from fairhaul.jobs.store.journal import Journal, orphans
from fairhaul.jobs.store.parts import Damaged
from fairhaul.jobs.store.rows import IDENTITY, TABLES, Result, Row, by_table, rows_of
from fairhaul.jobs.store.session import session

if TYPE_CHECKING:
    from fairhaul.record.record import Record

SCHEMA = 1
MARK = "store.json"
PARTS, JOURNALS, RECORDS = "parts", "journals", "records"
LARGEST_MARK = 100_000
# A journal of this size becomes parts while the store is being written.
LARGEST_JOURNAL = 64_000_000


class StoreError(ScenarioError):
    """A directory is not a store, or of a newer schema; or a query of a store is wrong."""


class Store:
    """A store that is read.

    `damaged` names the files of which something is not what was written. Nothing of a damaged part
    is used, and no damaged line of a journal.
    """

    def __init__(self, directory: Path) -> None:
        """Find what the store holds.

        Raises:
            StoreError: `directory` is not a store that this version reads.
        """
        self.directory = directory
        self.damaged: list[str] = []
        _check_mark(directory)
        self._where: dict[str, dict[str, Path | Row]] = {table: {} for table in TABLES}
        # Journals first: one that becomes a part meanwhile is then found there.
        self._read_journals(directory / JOURNALS)
        for part in sorted((directory / PARTS).glob("*.parquet")):
            self._index(part)

    def _read_journals(self, folder: Path) -> None:
        """Read all journals; again where one has got a new name meanwhile."""
        read: set[Path] = set()
        while left := sorted(set(folder.glob("*.jsonl")) - read):
            for journal in left:
                read.add(journal)
                try:
                    rows, damaged = rows_of(journal)
                except FileNotFoundError:
                    continue
                except NotAFile:
                    rows, damaged = [], 1
                self._take(rows)
                self.damaged += [f"{JOURNALS}/{journal.name}"] if damaged else []

    def _take(self, rows: list[tuple[str, Row]]) -> None:
        for table, row in rows:
            self._where[table].setdefault(row[IDENTITY[table]], row)

    def _index(self, part: Path) -> None:
        table = part.name.partition("-")[0]
        try:
            identities = parts.identities(part, table)
        except Damaged:
            self.damaged.append(f"{PARTS}/{part.name}")
            return
        for identity in identities:
            self._where[table].setdefault(identity, part)

    def __contains__(self, key: object) -> bool:
        """Whether the store has the result `key`."""
        return key in self._where["result"]

    def __len__(self) -> int:
        """Give the number of results."""
        return len(self._where["result"])

    def identities(self, table: str) -> Collection[str]:
        """Give the identities of the rows of a table: of results their keys."""
        return self._where[table].keys()

    def parts(self, table: str) -> list[Path]:
        """Give the parts of a table; damaged ones are not among them."""
        places = self._where[table].values()
        return sorted({place for place in places if isinstance(place, Path)})

    def journal_rows(self, table: str) -> list[Row]:
        """Give the rows of a table that are not in a part yet."""
        return [place for place in self._where[table].values() if not isinstance(place, Path)]

    def column(self, table: str, name: str) -> list[str]:
        """Give a column of a table, in no certain order."""
        found = [str(row[name]) for row in self.journal_rows(table)]
        for part in self.parts(table):
            found += parts.column_of(part.read_bytes(), name)
        return found

    def record(self, key: str) -> Record | None:
        """Give the record that was kept with a result; None if there is none, or it is damaged."""
        from fairhaul.record.record import read_record

        try:
            return read_record(self.directory / RECORDS / key)
        except (OSError, ValueError):
            return None

    def results(self, keys: Collection[str] | None = None) -> Iterator[Result]:
        """Give the results with these keys, or all; in no certain order, each once."""
        return (Result(**row) for row in self.rows("result", keys))

    def rows(self, table: str, wanted: Collection[str] | None = None) -> Iterator[Row]:
        """Give the rows of a table with these identities, or all; each once."""
        where = self._where[table]
        own = where if wanted is None else {key: where[key] for key in wanted if key in where}
        by_part: dict[Path, list[str]] = {}
        for identity, place in own.items():
            if isinstance(place, Path):
                by_part.setdefault(place, []).append(identity)
            else:
                yield place
        for part, identities in by_part.items():
            yield from parts.rows_of(part, IDENTITY[table], identities)


class Writer:
    """Adds results to a store; they are kept from the moment they are added.

    It is a context manager: at its end the journal of this process becomes parts. A store that it
    made for runs that were refused is removed.
    """

    def __init__(self, directory: Path, command: str = "") -> None:
        """Open the store in `directory`, or make one; `command` describes what writes to it.

        Journals of processes that were killed become parts. Damaged parts get a name that is not
        read again, so that their results are computed again.

        Raises:
            StoreError: the directory exists and is something else.
            OSError: it cannot be written.
        """
        self._made = [place for place in (directory, *directory.parents) if not place.exists()]
        self._is_new = _make(directory)
        self._directory = directory
        for journal in orphans(directory / JOURNALS):
            self._pack(journal)
        self.store = Store(directory)
        """The store as it was found."""
        for name in self.store.damaged:
            file = directory / name
            if file.suffix == ".parquet":
                file.replace(file.with_suffix(".damaged"))
        self._keys = set(self.store.identities("result"))
        self._scenarios = set(self.store.identities("scenario"))
        self._lock = threading.Lock()
        self._journal = Journal(directory / JOURNALS)
        self._session = session(command)
        self._journal.append("session", self._session)

    @property
    def session(self) -> str:
        """The identity of this session, for the results that it adds."""
        return str(self._session["id"])

    def __contains__(self, key: object) -> bool:
        """Whether the store has the result `key`, found or added."""
        return key in self._keys

    def __enter__(self) -> Writer:
        """Give the writer."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Make parts of the journal. If that fails, it stays, and the next writer does it."""
        try:
            self._pack(self._journal.path)
        except OSError:
            if kind is None:
                raise
        finally:
            # Only now: who gets the lock finds no journal.
            self._journal.close()
        if self._is_new and not self._keys and kind is not None and issubclass(kind, ScenarioError):
            self._remove()

    def _remove(self) -> None:
        """Remove the store and the directories made for it, if no other process uses it."""
        with suppress(OSError):
            for folder in (JOURNALS, PARTS):
                (self._directory / folder).rmdir()
            for file in self._directory.iterdir():
                file.unlink()
            for place in self._made:
                place.rmdir()

    def add_record(self, key: str, record: Record) -> None:
        """Keep the record of a run, completely or not at all, before its result is added.

        Raises:
            OSError: it could not be written.
        """
        from fairhaul.record.record import write_record

        place = self._directory / RECORDS / key
        if not place.exists():
            with suppress(FileExistsError):  # another process has written the same
                write_record(record, place)

    def keep(self, job: Job, made: Mapping[str, Any], value: Any) -> None:
        """Add the result of a job, from any thread; the arguments are those of `Job.result`.

        Raises:
            OSError: it could not be written; nothing of it is in the store.
        """
        self.add(job.result(made, value, self.session), job.scenario.describe)

    def add(self, result: Result, resolved: Callable[[], str]) -> None:
        """Add a result, and the scenario that it is of, from any thread.

        Args:
            result: the result.
            resolved: gives the scenario as `describe` does; called where the store lacks it.

        Raises:
            OSError: it could not be written; nothing of it is in the store.
        """
        with self._lock:
            if result.scenario not in self._scenarios:
                self._journal.append(
                    "scenario", {"digest": result.scenario, "resolved": resolved()}
                )
                self._scenarios.add(result.scenario)
            self._journal.append("result", result.row())
            self._keys.add(result.key)
            if self._journal.size > LARGEST_JOURNAL:
                full, self._journal = self._journal, Journal(self._directory / JOURNALS)
                self._journal.append("session", self._session)
                self._pack(full.path)
                full.close()

    def _pack(self, journal: Path) -> None:
        """Make parts of a journal, and remove it; a crash in between leaves both, which is well."""
        rows, _ = rows_of(journal)
        if any(table == "result" for table, _ in rows):
            for table, own in by_table(rows):
                parts.write_part(self._directory / PARTS, table, own)
        journal.unlink(missing_ok=True)


def _make(directory: Path) -> bool:
    """Make an empty store, unless there is one; gives whether it made one."""
    if (directory / MARK).exists():
        return False
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        what = "exists and is not a store of results" if directory.is_dir() else "is a file"
        raise StoreError(f"{directory} {what}")
    for folder in (PARTS, JOURNALS):
        (directory / folder).mkdir(parents=True, exist_ok=True)
    text = json.dumps({"store": "fairhaul", "schema": SCHEMA}) + "\n"
    files.replace(directory / MARK, text.encode())
    return True


def _check_mark(directory: Path) -> None:
    try:
        mark: Mapping[str, object] = json.loads(files.read(directory / MARK, LARGEST_MARK))
        schema = mark["schema"]
    except FileNotFoundError:
        raise StoreError(f"{directory} is not a store of results: it has no {MARK}") from None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise StoreError(f"{directory / MARK} is damaged") from None
    if not isinstance(schema, int) or not 1 <= schema <= SCHEMA:
        raise StoreError(
            f"{directory} has schema {schema!r}, but this version reads schemas up to {SCHEMA}"
        )


def is_store(directory: Path) -> bool:
    """Whether `directory` is a store."""
    return (directory / MARK).is_file()
