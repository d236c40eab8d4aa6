"""The output of the bench: printed rows, and a file."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fairhaul.files.files import replace
from tools.bench import Row

SCHEMA = 1
SIGNS = {"least": ">=", "most": "<="}
VERDICTS = {None: "", True: "yes", False: "NO"}


def number(value: float) -> str:
    """Write a figure with as many digits as its precision justifies."""
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 20 else f"{value:.2f}" if value >= 0.1 else f"{value:.4f}"


def line(row: Row) -> str:
    """Lay out a row: the workload, the figure, its value, its target, and whether it is reached."""
    if row.measured is None:
        return f"{row.load:28}  {row.figure:34}  not measured: {row.why}"
    target = "" if row.target is None else f"{SIGNS[row.bound]} {number(row.target)}"
    cells = (
        f"{row.load:28}  {row.figure:34}",
        f"{number(row.measured):>9} {row.unit:12}  {target:>9}",
        VERDICTS[row.reached],
    )
    return "  ".join(cells).rstrip()


def head() -> str:
    """Give the names of the columns."""
    return f"{'workload':28}  {'figure':34}  {'measured':>9} {'':12}  {'target':>9}  reached"


def machine() -> dict[str, Any]:
    """Describe the machine."""
    info = Path("/proc/cpuinfo")
    text = info.read_text(encoding="utf-8") if info.is_file() else ""
    models = [
        line.partition(": ")[2] for line in text.splitlines() if line.startswith("model name")
    ]
    return {"cpu": models[0] if models else platform.machine(), "cores": os.cpu_count()}


def write(rows: Sequence[Row], file: Path) -> None:
    """Write all rows as JSON: the whole file, or nothing if that fails."""
    file.parent.mkdir(parents=True, exist_ok=True)
    entries = [{**asdict(row), "reached": row.reached} for row in rows]
    text = json.dumps({"schema": SCHEMA, "machine": machine(), "rows": entries}, indent=2)
    replace(file, f"{text}\n".encode())
