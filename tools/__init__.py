"""Programs for those who work on Fairhaul: they need a checkout, and are not in the wheel."""

from __future__ import annotations

import csv
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def names(kind: str = "controllers") -> list[str]:
    """Name the controllers, or the queues, in the order of the catalogue."""
    from fairhaul.scenario.listings import catalogue

    lists: Mapping[str, Any] = catalogue()
    return [entry["name"] for entry in lists[kind]]


def seconds(length: str) -> float:
    """Read a time such as 90s, 10m or 8h; in seconds.

    Raises:
        ValueError: it is none.
    """
    found = re.fullmatch(r"([\d.]+)([smh])", length)
    if found is None:
        raise ValueError(f"{length}: wanted a time such as 90s, 10m or 8h")
    return float(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]]


def csv_rows(file: Path) -> list[dict[str, str]]:
    """Read a table that is kept, each row by the names in its head; empty where there is none."""
    if not file.is_file():
        return []
    with file.open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


def commit() -> str:
    """Give the commit of the checkout, 12 digits."""
    command = ["git", "rev-parse", "--short=12", "HEAD"]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


def publish(name: str, text: str) -> None:
    """Replace what docs/search.md has between the comments of a name."""
    page = ROOT / "docs" / "search.md"
    before, start, rest = page.read_text(encoding="utf-8").partition(f"<!-- {name} -->\n")
    _, end, after = rest.partition(f"<!-- end of {name} -->\n")
    assert end, f"{page} has no place for {name}"
    page.write_text(f"{before}{start}\n{text}\n\n{end}{after}", encoding="utf-8")
