"""The notebook under `docs/` runs from top to bottom."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[1] / "docs" / "first-steps.ipynb"


def test_the_notebook_runs_and_keeps_no_outputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(place, str(tmp_path / place.lower()))
    notebook: Any = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    assert not any(cell.get("outputs") for cell in notebook.cells)
    NotebookClient(notebook, timeout=60, resources={"metadata": {"path": tmp_path}}).execute()
    said = [
        output.get("text") or output["data"]["text/plain"]
        for cell in notebook.cells
        for output in cell.get("outputs", ())
    ]
    assert all(cell.outputs for cell in notebook.cells[4:] if cell.cell_type == "code")
    assert "near" in said[0]
    assert said[1].endswith("\nstationary\n")
    assert any("c = 20: Jain's index" in text for text in said)
    assert any("harms 2 reno" in text for text in said)
    assert 'did you mean "fhstcp"?' in said[-1]
