"""Metrics in a file of node_exporter's textfile collector."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairhaul.export.destination import Update
from fairhaul.export.state import Exported, collector
from fairhaul.host import Line


@contextmanager
def writing(path: Path, most_flows: int) -> Iterator[Update]:
    """Give a function that takes events and writes the file at each look, whole or not at all.

    The file is removed at the end: node_exporter would repeat its last values forever.
    """
    from prometheus_client import CollectorRegistry, write_to_textfile

    state, registry = Exported(most_flows=most_flows), CollectorRegistry()
    registry.register(collector(state))

    def update(line: Line) -> None:
        state.update(line)
        if "flows" in line:
            write_to_textfile(str(path), registry)

    try:
        yield update
    finally:
        path.unlink(missing_ok=True)
