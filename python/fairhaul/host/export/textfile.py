"""Metrics in a file of node_exporter's textfile collector."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairhaul.files.files import replace
from fairhaul.host.export.address import Update
from fairhaul.host.export.state import Exported, collector
from fairhaul.host.process import Line


@contextmanager
def writing(path: Path, most_flows: int) -> Iterator[Update]:
    """Give a function that takes events and writes the file at each look, whole or not at all.

    The file is removed at the end: node_exporter would repeat its last values forever. If it cannot
    be written for a while, the work of the caller continues, with a warning.

    Raises:
        OSError: the file cannot be written at the beginning.
    """
    from prometheus_client import CollectorRegistry, generate_latest

    state, registry = Exported(most_flows=most_flows), CollectorRegistry()
    registry.register(collector(state))
    replace(path, generate_latest(registry))

    def update(line: Line) -> None:
        state.update(line)
        if "flows" not in line:
            return
        try:
            replace(path, generate_latest(registry))
        except OSError as error:
            warnings.warn(f"the metrics are not written: {path}: {error.strerror}", stacklevel=2)

    try:
        yield update
    finally:
        path.unlink(missing_ok=True)
