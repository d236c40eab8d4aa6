"""The program that needs root: what is said of one that ends too soon."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairhaul import RunError, host


def test_a_program_that_ends_before_it_reads_is_an_error_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "ends"
    program.write_text("#!/bin/sh\nexec <&-\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setattr(host, "PROGRAM", program)
    # More than a pipe holds, so that the process has gone before all of it is written.
    with pytest.raises(RunError, match=r"ended without an answer \(status 3\)"):
        host.ask({"do": "x" * 1_000_000})
