"""The program that needs root: what is said of one that ends too soon."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairhaul import RunError
from fairhaul.host import host_run, kernel
from fairhaul.host import process as host
from fairhaul.runs import lab
from fairhaul.scenario.read import read_one

from .conftest import SMALL


def test_a_program_that_ends_before_it_reads_is_an_error_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "ends"
    program.write_text("#!/bin/sh\nexec <&-\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setattr(host, "PROGRAM", program)
    # More than a pipe holds, so that the process has ended before all of it is written.
    with pytest.raises(RunError, match=r"ended without an answer \(status 3\)"):
        host.ask({"do": "x" * 1_000_000})


def test_the_record_of_a_run_has_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    places = []

    def ask(request: Any, *_: object, descriptors: list[int], **__: object) -> None:
        assert request["record"] == f"/proc/self/fd/{descriptors[0]}"
        places.append(Path(request["record"]).readlink())
        raise RunError("it was not run")

    monkeypatch.setattr(host_run, "ask", ask)
    monkeypatch.setattr(host_run, "written", str)
    with pytest.raises(RunError):
        lab.Run(read_one(SMALL)).run()
    assert [str(place) for place in places] == ["/memfd:record (deleted)"]


def test_numbers_of_numpy_reach_the_kernel_as_those_of_python(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Any] = []

    def ask(request: Any, *_: object) -> dict[str, Any]:
        asked.append(json.loads(json.dumps(request)))
        return {}

    monkeypatch.setattr(kernel, "ask", ask)
    kernel.install("fhstcp", parameters={"low_window": np.int64(38), "x": np.float64(0.5)})
    kernel.change("fh_fhstcp", {"c": "20/s", "blocks": np.True_})
    limits: Any = {"packets": np.int64(10), "share": np.float64(0.01)}
    kernel.watch(limits=limits, interval_s=np.float64(5))
    assert asked[0]["ports"][0]["set"] == {"low_window": "38", "x": "0.5"}
    assert asked[1]["set"] == {"c": "20/s", "blocks": "true"}
    assert asked[2]["limits"] == {"packets": 10, "share": 0.01}
