"""Where the simulator is wrong: places drawn at random, and searches, kept in the project."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fairhaul.files.files import csv_text
from fairhaul.files.files import replace as write_file
from tools import ROOT

FOLDER = ROOT / "tests" / "doubt"
SEARCHES = FOLDER / "searches.csv"
CONTROLLERS = ("reno", "cubic", "bbr", "bbr3", "fhstcp", "ghstcp", "dctcp", "highspeed")


def write_table(file: Path, head: Sequence[str], rows: Iterator[Sequence[object]]) -> None:
    """Write a table, whole or not at all."""
    file.parent.mkdir(exist_ok=True)
    write_file(file, csv_text([head, *rows]).encode())
