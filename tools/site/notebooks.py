"""Notebooks as pages: their text, and their code with no results."""

from __future__ import annotations

import json

from docutils import nodes
from myst_parser.parsers.sphinx_ import MystParser

from tools.site.pages import titled


class NotebookParser(MystParser):
    """Reads a notebook as the Markdown of its cells."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """Read a notebook."""
        super().parse(titled(as_markdown(inputstring)), document)


def as_markdown(notebook: str) -> str:
    """Give the text of the cells, and code in fences."""
    parts = []
    for cell in json.loads(notebook)["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
    return "\n\n".join(parts) + "\n"
