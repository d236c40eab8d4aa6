"""The progress bar: the runs under way and the time left, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fairhaul.printable import printable

if TYPE_CHECKING:
    from fairhaul.runs import Progress


def described(seen: Progress) -> str:
    """Name the runs under way, and mark those whose figures are being computed."""
    figured = set(seen.figured)
    words = [f"{one} (figures)" if one in figured else one for one in seen.running]
    return f"{seen.finished}/{seen.runs} runs; {'; '.join(words)}"


@contextmanager
def progress() -> Iterator[Callable[[Progress], None] | None]:
    """Give a function that moves the bar, or None if standard error is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar
    from rich.table import Column

    rest = Column(ratio=1, no_wrap=True, overflow="ellipsis")
    columns = (
        BarColumn(bar_width=20),
        TextColumn("{task.percentage:3.0f} %"),
        TimeRemainingColumn(elapsed_when_finished=True),
        TextColumn("{task.description}", markup=False, table_column=rest),
    )
    with Bar(*columns, console=Console(stderr=True), expand=True, transient=True) as bar:
        task = bar.add_task("", total=None)

        def on_progress(seen: Progress) -> None:
            bar.update(
                task,
                # The last hundredth is left to the figures of the last runs.
                completed=0.99 * seen.reached_s if seen.finished < seen.runs else seen.reached_s,
                total=seen.total_s,
                description=printable(described(seen)),
            )

        yield on_progress
