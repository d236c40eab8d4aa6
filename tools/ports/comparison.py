"""Has Linux in simulated time record the calls of an eBPF object, which are then repeated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairhaul import Scenario
from fairhaul.host import process as host
from fairhaul.host.host_run import written
from fairhaul.linux import run as linux


@dataclass(kw_only=True)
class Compared:
    """What the comparison of a port over some paths has found."""

    port: str
    operations: dict[str, int] = field(default_factory=dict)
    """Calls of each operation."""
    values: int = 0
    """Values that were compared."""
    changed: int = 0
    """Values that the calls changed."""
    differences: int = 0
    first: str | None = None
    """The first difference, as a sentence."""
    outside: int = 0
    """Bytes of sockets that the calls changed, and that are in none of the compared fields."""

    @property
    def calls(self) -> int:
        """All calls."""
        return sum(self.operations.values())

    def add(self, found: Any) -> None:
        """Add what was found over a path."""
        for name, count in found["operations"].items():
            self.operations[name] = self.operations.get(name, 0) + count
        self.values += found["values"]
        self.changed += found["changed"]
        self.differences += found["differences"]
        self.first = self.first or found["first"]
        self.outside += found["outside"]


def found_in(scenario: Scenario, record: Path | None = None) -> Any:
    """Compare the calls of the only eBPF object of a scenario.

    Args:
        scenario: all flows with an eBPF object have the same one, with any parameters.
        record: a file for the record of the run.

    Raises:
        Refused: there is no program of Linux here, or it cannot run the scenario.
        RunError: the run failed.
    """
    request = {
        "do": "linux_calls",
        "program": str(linux.chosen().path),
        "memory_mb": linux.memory_mb(scenario),
        "scenario": written(scenario),
    }
    return host.ask(request | ({"record": str(record)} if record else {}))


def table(compared: Sequence[Compared]) -> str:
    """Lay the results out as a table of Markdown."""
    rows = [
        "| port | calls | operations | values compared | values changed | differences |",
        "|---|---|---|---|---|---|",
    ]
    for one in compared:
        operations = ", ".join(
            f"`{name}` {count:,}" for name, count in sorted(one.operations.items())
        )
        rows.append(
            f"| `{one.port}` | {one.calls:,} | {operations} | {one.values:,} "
            f"| {one.changed:,} | {one.differences} |"
        )
    return "\n".join(rows)
