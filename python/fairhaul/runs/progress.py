"""A line of progress that a notebook shows while runs take long."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from fairhaul.text.durations import left_text

if TYPE_CHECKING:
    from fairhaul.runs.run_pool import OnProgress, Progress

# Shorter runs show no progress.
SHOWN_AFTER_S = 1.0
SHOWN_EVERY_S = 0.5
WIDTH = 60


def progress() -> OnProgress | None:
    """Give a function that shows a line of progress, if this is a notebook; otherwise nothing."""
    if not _is_notebook():
        return None
    begun_s = shown_s = time.monotonic()

    def on_progress(state: Progress) -> None:
        nonlocal shown_s
        now_s = time.monotonic()
        is_last = state.finished == state.runs
        if now_s < begun_s + SHOWN_AFTER_S or (now_s < shown_s + SHOWN_EVERY_S and not is_last):
            return
        shown_s = now_s
        line = f"{state.counted}, {100 * state.part:.0f} %"
        line += left_text(now_s - begun_s, state.part)
        print(f"\r{line:{WIDTH}}", end="\n" if is_last else "", file=sys.stderr, flush=True)

    return on_progress


def _is_notebook() -> bool:
    """Whether the code runs in the kernel of a notebook, and not in a terminal."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")
