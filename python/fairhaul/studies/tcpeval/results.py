"""The results of a suite in its directory: a suite that was interrupted goes on where it was."""

from __future__ import annotations

import hashlib
import json
import threading
from pathlib import Path

from fairhaul import _core
from fairhaul.files.files import replace
from fairhaul.studies.tcpeval.cases import Case, Figures

FILE = "results.json"


class Results:
    """The figures of the runs so far, in a file that is written anew after each run."""

    def __init__(self, out: Path) -> None:
        """Read what the directory has; results of another version are ignored."""
        self._file = out / FILE
        self._lock = threading.Lock()
        self._kept: dict[str, dict[str, object]] = {}
        out.mkdir(parents=True, exist_ok=True)
        if self._file.is_file():
            kept = json.loads(self._file.read_text(encoding="utf-8"))
            if kept.get("version") == _core.__version__:
                self._kept = kept["runs"]

    @property
    def figures(self) -> dict[str, Figures]:
        """The figures of each run, by the name of its case."""
        return {name: dict(run["figures"]) for name, run in self._kept.items()}  # type: ignore[call-overload]

    def has(self, case: Case) -> bool:
        """Say whether the run of this scenario is there."""
        run = self._kept.get(case.name)
        return run is not None and run["scenario"] == _digest(case)

    def add(self, case: Case, figures: Figures) -> None:
        """Keep the figures of a run."""
        with self._lock:
            self._kept[case.name] = {"scenario": _digest(case), "figures": dict(figures)}
            content = {"version": _core.__version__, "runs": self._kept}
            replace(self._file, (json.dumps(content, indent=1) + "\n").encode())


def _digest(case: Case) -> str:
    return hashlib.sha256(case.text.encode()).hexdigest()
