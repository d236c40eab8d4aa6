"""Judge the figures of scenarios: standard input has their texts, each after its length.

`crates/fuzz` asks for this; `tests/test_fuzz.py` holds the kept scenarios to the same.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import fairhaul
from fairhaul.runs.runs import run
from fairhaul.scenario import memory
from fairhaul.scenario.read import read_one

KEPT = Path(__file__).parent.parent / "crates" / "fuzz" / "kept"
TRACES = ("steps.csv", "opportunities.txt")

# Figures that are shares, by their paths.
SHARES = {
    "flows": ("share", "link_share", "loss_rate", "loss_sync"),
    "groups": ("share", "link_share", "loss_rate"),
    "links": ("utilization", "drop_rate", "mark_rate"),
}
AMOUNTS = {
    "flows": (
        "goodput_bps",
        "throughput_bps",
        "cwnd_mean",
        "retransmits",
        "loss_events",
        "timeouts",
    ),
    "links": ("queue_mean_packets", "queue_mean_s"),
}
# Sums of fractions are rounded.
ROUNDING = 1e-9


def wrong(figures: dict[str, Any]) -> list[str]:
    """Say which figures lie outside of their bounds."""
    found = _outside(figures, SHARES, 1) + _outside(figures, AMOUNTS, math.inf)
    fairness = figures["fairness"]
    indices = {"jain": fairness.get("jain"), **fairness.get("jain_by_window", {})}
    found += [f"jain ({key}) is {value}" for key, value in indices.items() if not _within(value, 1)]
    return found


def _outside(figures: dict[str, Any], keys: dict[str, tuple[str, ...]], most: float) -> list[str]:
    return [
        f"{key} of {row['name']} is {row[key]}"
        for part, names in keys.items()
        for row in figures.get(part, [])
        for key in names
        if not _within(row.get(key), most)
    ]


# What the process may use that checks the run itself (crates/fuzz/src/check.rs). A window may be so
# large that the packets of a fraction of a second fill the memory of any machine.
MEMORY_BYTES = 1 << 30
# No run takes more than that many times its estimate, except for what takes no time.
MOST_OF_ESTIMATE, SHORT_S = 20, 0.2


def judge(text: str) -> str:
    """Run the scenario of `text`: `fine`, or what is wrong with its figures."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "drawn.toml"
        path.write_text(text)
        for trace in TRACES:
            (path.parent / trace).write_bytes((KEPT / trace).read_bytes())
        try:
            with patch.object(memory, "available_bytes", return_value=MEMORY_BYTES):
                answer = run(path)
            estimated_s = dict(read_one(path).estimate())["seconds"]
        except (fairhaul.ScenarioError, fairhaul.RunError):
            return "fine"  # the check of the run itself says whether that is right
    mistakes = wrong(dict(answer.measures[0]))
    took_s = answer.records[0].meta["cpu_s"]
    if took_s > MOST_OF_ESTIMATE * estimated_s + SHORT_S:
        mistakes.append(f"it took {took_s:.3g} s, and {estimated_s:.3g} s were estimated")
    return "; ".join(mistakes) or "fine"


def _within(value: float | None, most: float) -> bool:
    if value is None:
        return True
    return not math.isnan(value) and -ROUNDING <= value <= most * (1 + ROUNDING)


def main() -> None:
    """Answer each text with a line."""
    while length := sys.stdin.buffer.readline():
        text = sys.stdin.buffer.read(int(length)).decode()
        print(judge(text).replace("\n", " "), flush=True)


if __name__ == "__main__":
    main()
