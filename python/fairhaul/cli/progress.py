"""The progress bar: what is running and the time left, on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fairhaul.printable import printable

if TYPE_CHECKING:
    from fairhaul.runs import Progress


@contextmanager
def progress() -> Iterator[Callable[[Progress], None] | None]:
    """Give a function that moves the bar; nothing where nobody would see it."""
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

        def watch(seen: Progress) -> None:
            what = f"{seen.finished}/{seen.runs} runs; {'; '.join(seen.running)}"
            bar.update(
                task, completed=seen.reached_s, total=seen.total_s, description=printable(what)
            )

        yield watch
