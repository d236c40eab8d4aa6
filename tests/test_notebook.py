"""The notebooks under `docs/` run from top to bottom."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

DOCS = Path(__file__).parents[1] / "docs"
EACH = sorted((DOCS / "notebooks").glob("*.ipynb"))
# Comparisons whose budget is smaller here.
BUDGETS = {
    "transfers": ('budget="20s"', 'budget="6s"'),
    "first-steps": ('against="2xreno",', 'against="2xreno", budget="6s",'),
}


@pytest.fixture
def executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], Any]:
    """Run a notebook that is stored without outputs."""
    for place in ("JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(place, str(tmp_path / place.lower()))

    def run(file: Path) -> Any:
        notebook: Any = nbformat.read(file, as_version=4)  # type: ignore[no-untyped-call]
        assert not any(cell.get("outputs") for cell in notebook.cells)
        if file.stem in BUDGETS:
            given, smaller = BUDGETS[file.stem]
            (compares,) = (cell for cell in notebook.cells if given in cell.source)
            compares.source = compares.source.replace(given, smaller)
        NotebookClient(notebook, timeout=60, resources={"metadata": {"path": tmp_path}}).execute()
        return notebook

    return run


@pytest.mark.parametrize("file", EACH, ids=lambda file: file.stem)
def test_a_notebook_shows_tables_and_figures(file: Path, executed: Callable[[Path], Any]) -> None:
    outputs = [
        output["data"]
        for cell in executed(file).cells
        for output in cell.get("outputs", ())
        if "data" in output
    ]
    assert any("<table>" in data.get("text/html", "") for data in outputs)
    assert any(data.get("image/svg+xml", "").startswith("<svg") for data in outputs)


def test_there_is_a_notebook_for_each_kind_of_user() -> None:
    assert [file.stem for file in EACH] == ["routers", "sweeps", "teach", "transfers"]


def test_the_first_steps_say_what_they_should(executed: Callable[[Path], Any]) -> None:
    notebook = executed(DOCS / "first-steps.ipynb")
    outputs = [
        output.get("text") or output["data"]["text/plain"]
        for cell in notebook.cells
        for output in cell.get("outputs", ())
    ]
    # On a busy machine a run takes long enough for a line of progress.
    said = [text for text in outputs if not text.startswith("\r")]
    assert all(cell.outputs for cell in notebook.cells[4:] if cell.cell_type == "code")
    assert "near" in said[0]
    assert said[1].endswith("\nstationary\n")
    assert any("c = 20: Jain's index" in text for text in said)
    assert any("harms 2 reno" in text for text in said)
    assert 'did you mean "fhstcp"?' in said[-1]
