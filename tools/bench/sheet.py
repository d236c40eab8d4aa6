"""What the bench prints, and the file that it writes."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fairhaul.files import replace
from tools.bench import Row

SCHEMA = 1
SIGNS = {"least": ">=", "most": "<="}
VERDICTS = {None: "", True: "yes", False: "NO"}


def number(value: float) -> str:
    """Write a figure with as many digits as it is good for."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 20 else f"{value:.2f}" if value >= 0.1 else f"{value:.4f}"


def line(row: Row) -> str:
    """Lay out a row: of what, the figure, what was seen, what is wanted, whether it was reached."""
    wanted = "" if row.wanted is None else f"{SIGNS[row.bound]} {number(row.wanted)}"
    cells = (
        f"{row.load:28}  {row.figure:34}",
        f"{number(row.seen):>9} {row.unit:12}  {wanted:>9}",
        VERDICTS[row.reached],
    )
    return "  ".join(cells).rstrip()


def head() -> str:
    """Give the names of the columns."""
    return f"{'of':28}  {'figure':34}  {'seen':>9} {'':12}  {'wanted':>9}  reached"


def machine() -> dict[str, Any]:
    """Say what the figures were seen on."""
    info = Path("/proc/cpuinfo")
    text = info.read_text(encoding="utf-8") if info.is_file() else ""
    models = [
        line.partition(": ")[2] for line in text.splitlines() if line.startswith("model name")
    ]
    return {"cpu": models[0] if models else platform.machine(), "cores": os.cpu_count()}


def write(rows: Sequence[Row], file: Path) -> None:
    """Write all rows as JSON: the whole file, or nothing where that fails."""
    file.parent.mkdir(parents=True, exist_ok=True)
    entries = [{**asdict(row), "reached": row.reached} for row in rows]
    text = json.dumps({"schema": SCHEMA, "machine": machine(), "rows": entries}, indent=2)
    replace(file, f"{text}\n".encode())
