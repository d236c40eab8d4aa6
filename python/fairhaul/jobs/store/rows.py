"""The rows of a store: sessions, scenarios and results, and how a journal writes them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fairhaul._core import ScenarioError
from fairhaul.files import files

Row = Mapping[str, Any]

# Each table with its columns; all of them are texts but those in `WHOLE` and `NUMBERS`.
TABLES: Mapping[str, tuple[str, ...]] = {
    "session": (
        *("id", "began", "command", "version", "build", "python", "machine", "kernel"),
        *("processor", "cores", "git"),
    ),
    "scenario": ("digest", "resolved"),
    "result": (
        *("key", "scenario", "seed", "engine", "build", "of", "session"),
        *("title", "variant", "cpu_s", "packets", "schema", "value"),
    ),
}
WHOLE = ("cores", "packets", "schema")
NUMBERS = ("cpu_s",)
KINDS: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys(WHOLE, int),
    **dict.fromkeys(NUMBERS, (int, float)),
}
# More than any journal has.
LARGEST_JOURNAL = 1 << 30
# The column that identifies a row of a table.
IDENTITY = {"session": "id", "scenario": "digest", "result": "key"}

# Of the SHA-256 of a line, so many hexadecimal digits stand before it.
DIGITS = 16


@dataclass(frozen=True, kw_only=True)
class Result:
    """What one run gave.

    `value` is JSON: the figures of the run, or what else `of` names. `seed` is a text, because a
    seed may exceed what databases can hold as a number.
    """

    key: str
    scenario: str
    seed: str
    engine: str
    build: str
    of: str
    session: str
    title: str
    variant: str
    cpu_s: float
    packets: int
    schema: int
    value: str

    def decoded(self) -> Any:
        """Give the value as Python has it.

        Raises:
            ScenarioError: another program has written the value.
        """
        try:
            return json.loads(self.value)
        except (ValueError, RecursionError):
            raise ScenarioError(
                f"the value of result {self.key!r} of {self.title!r} is not JSON: the store was "
                "changed by another program"
            ) from None

    def row(self) -> Row:
        """Give the row of the table `result`."""
        return asdict(self)


def line_of(table: str, row: Row) -> bytes:
    """Write a row as a line of a journal, with the digest of the line in front."""
    text = json.dumps({"table": table, **row}, ensure_ascii=False, separators=(",", ":"))
    return f"{_digest(text)} {text}\n".encode()


def rows_of(journal: Path) -> tuple[list[tuple[str, Row]], int]:
    """Read a journal: its rows with their tables, and the number of lines that are damaged.

    The last line of a process that was killed may be incomplete; it does not count as damaged.
    """
    content = files.read(journal, LARGEST_JOURNAL)
    lines = content.split(b"\n")
    rows = [_row_of(line) for line in lines[:-1]]
    return [row for row in rows if row is not None], rows.count(None)


def _row_of(line: bytes) -> tuple[str, Row] | None:
    try:
        digest, _, text = line.decode().partition(" ")
        if digest != _digest(text):
            return None
        row = json.loads(text)
        table = row.pop("table")
        return (table, row) if _is_row(table, row) else None
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return None


def _is_row(table: str, row: Row) -> bool:
    """Whether it is a row of a table of ours: its columns, each with a value of its kind."""
    return set(row) == set(TABLES[table]) and all(
        isinstance(value, KINDS.get(column, str)) for column, value in row.items()
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def by_table(rows: list[tuple[str, Row]]) -> Iterator[tuple[str, list[Row]]]:
    """Group rows by their table, each row once."""
    for table, column in IDENTITY.items():
        own = {row[column]: row for name, row in rows if name == table}
        if own:
            yield table, list(own.values())
