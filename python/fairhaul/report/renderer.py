"""The renderer: a process that draws charts while this one goes on.

The converter takes half a second to get ready, and nothing else of its process runs while it works.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from fairhaul.figures import look
from fairhaul.record.libraries import require_libraries

# A drawing waits here while this process is busy, and the next is drawn.
PIPE_BYTES = 1 << 20


class Renderer:
    """Draws charts; it ends with its context."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def start(self) -> subprocess.Popen[str]:
        """Get ready to draw; otherwise the first chart has to wait for that.

        Raises:
            ScenarioError: vl-convert is not installed.
        """
        if self._process is None:
            require_libraries()
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
                pipesize=PIPE_BYTES,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                start_new_session=True,  # an interrupt ends it through our context
            )
        return self._process

    def draw(self, charts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
        """Begin to draw `charts` as `look.svg` does; give each when it is drawn.

        Raises:
            ValueError: one cannot be drawn.
            OSError: the process has ended.
        """
        if not charts:
            return iter(())
        orders = self.start().stdin
        assert orders is not None
        print(
            json.dumps([look.without_pointer(chart) for chart in charts]), file=orders, flush=True
        )
        return (self._drawn() for _ in charts)

    def _drawn(self) -> str:
        answers = self.start().stdout
        assert answers is not None
        line = answers.readline()
        if not line:
            raise OSError("the process that draws charts has ended")
        drawn, reason = json.loads(line)
        if drawn is None:
            raise ValueError(reason)
        return str(drawn)


def _answer(chart: Mapping[str, Any]) -> tuple[str | None, str]:
    try:
        return look.svg(chart), ""
    except ValueError as error:
        return None, str(error)


def main() -> None:
    """Get ready, then read lines of charts, and for each write its drawing or why there is none.

    The process that asks may be killed at any time; that is not a failure.
    """
    look.svg({"data": {"values": []}, "mark": "point"})
    try:
        for line in sys.stdin:
            if not line.endswith("\n"):
                return  # whoever wrote it was killed amid the line
            for chart in json.loads(line):
                print(json.dumps(_answer(chart)), flush=True)
    except BrokenPipeError:
        # What is left in the buffer would fail once more at the end of this process.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
