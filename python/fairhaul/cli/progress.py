"""The progress of runs: a bar on a terminal; elsewhere a line now and then, if requested."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from fairhaul.text.durations import left_text
from fairhaul.text.printable import printable

if TYPE_CHECKING:
    from fairhaul.runs.runs import OnProgress, Progress

Show = Callable[[float, Callable[[], str]], None]

# Without a terminal.
LINE_EVERY_S = 60.0
# On a terminal; shorter runs have no bar, which takes as long to load.
BAR_AFTER_S = 0.3


def described(state: Progress) -> str:
    """Name the runs under way, and mark those whose figures are being computed."""
    figured = set(state.figured)
    words = [f"{name} (figures)" if name in figured else name for name in state.running]
    return "; ".join([state.counted, *words])


def _lines(name: str) -> Show:
    """Print a line every `LINE_EVERY_S` seconds."""
    begun_s = last_s = time.monotonic()

    def show(part: float, text: Callable[[], str]) -> None:
        nonlocal last_s
        if time.monotonic() < last_s + LINE_EVERY_S:
            return
        last_s = time.monotonic()
        spent_s = time.monotonic() - begun_s
        line = f"fairhaul: {name}: {text()}, {100 * part:.0f} %{left_text(spent_s, part)}"
        print(printable(line), file=sys.stderr, flush=True)

    return show


@contextmanager
def progress(lines: str = "") -> Iterator[OnProgress | None]:
    """Give a function that moves the bar of runs.

    If standard error is no terminal, it prints a line with the name `lines` from time to time;
    without that name there is no function.
    """
    terminal = sys.stderr.isatty()

    def text(state: Progress) -> str:
        return described(state) if terminal else state.counted

    with shown_progress(lines) as show:
        if show is None:
            yield None
            return
        move = show

        def on_progress(state: Progress) -> None:
            # On a terminal the last hundredth is left to the figures of the last runs.
            unfinished = terminal and state.finished != state.runs
            finished = 1.0 if terminal else state.part
            move(0.99 * state.part if unfinished else finished, lambda: text(state))

        yield on_progress


@contextmanager
def shown_progress(lines: str = "") -> Iterator[Show | None]:
    """Give a function that moves a bar: it takes the part that is done, and a text."""
    if not sys.stderr.isatty():
        yield _lines(lines) if lines else None
        return
    with ExitStack() as stack:
        begun_s = time.monotonic()
        move: Show | None = None

        def show(part: float, text: Callable[[], str]) -> None:
            nonlocal move
            if time.monotonic() < begun_s + BAR_AFTER_S:
                return
            if move is None:
                move = stack.enter_context(_bar())
            move(part, text)

        yield show


@contextmanager
def _bar() -> Iterator[Show]:
    """Show a bar, and give the function that moves it."""
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

        def move(part: float, text: Callable[[], str]) -> None:
            bar.update(task, completed=part, total=1.0, description=printable(text()))

        yield move
