"""Settings of Sphinx, which reads them by their names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes

from fairhaul import __version__
from tools.site.accessible import adapt
from tools.site.citations import definitions
from tools.site.notebooks import NotebookParser
from tools.site.pages import HOME, addition, opening, titled
from tools.site.terms import define

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "Fairhaul"
version = release = __version__
html_title = f"Fairhaul {__version__}"
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_extra_path = ["start"]
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
html_search_scorer = str(Path(__file__).with_name("scorer.js"))

root_doc = HOME
include_patterns = [
    "docs/**",
    *("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"),
]
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_click"]

# Anchors of headings are those of the forge.
myst_heading_anchors = 4
# What single backticks in docstrings mean.
default_role = "code"
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 88
# Options begin with two hyphens, which are no dash.
smartquotes = False


def setup(app: Sphinx) -> None:
    """Register notebooks as pages, and what the site adds to pages."""
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(NotebookParser)
    app.connect("source-read", add)
    app.connect("doctree-read", set_colons)
    app.connect("doctree-read", define)
    app.connect("html-page-context", adapt, priority=900)  # after the theme


def add(_app: Sphinx, page: str, source: list[str]) -> None:
    """Add to a page what only the site has: titles in links, navigation, a reference."""
    if not source[0].startswith("{"):  # a notebook
        text = opening(source[0]) if page == HOME else source[0]
        source[0] = titled(text) + definitions(text) + addition(page)


def set_colons(_app: Sphinx, page: nodes.document) -> None:
    """Set a colon between a parameter and its meaning, where Sphinx writes two hyphens."""
    for text in list(page.findall(nodes.Text)):
        if text == " -- ":
            text.parent.replace(text, nodes.Text(": "))
