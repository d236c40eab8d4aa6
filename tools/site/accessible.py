"""What the theme lacks for readers with a keyboard or a screen reader."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from tools.site.pages import HOME

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

# A figure alone in its paragraph; the link shows it alone, and scrolls to it on a narrow page.
FIGURE = re.compile(r'<p>(<img [^>]*src="([^"]+)"[^>]*>)</p>')

# What scrolls sideways on a narrow page must be reachable to scroll.
SCROLLS = {
    "<pre>": '<pre tabindex="0">',
    '<div class="table-wrapper': (
        '<div tabindex="0" role="region" aria-label="Table" class="table-wrapper'
    ),
}


def adapt(
    _app: Sphinx, page: str, _template: str, context: dict[str, Any], _doc: nodes.document | None
) -> None:
    """Adapt a page, before its template is filled; the home page has no table of contents."""
    context["furo_hide_toc"] = context.get("furo_hide_toc", False) or page == HOME
    navigation = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = navigation.replace(
        'role="heading"', 'role="heading" aria-level="2"'
    )
    if body := context.get("body"):
        for plain, reachable in SCROLLS.items():
            body = body.replace(plain, reachable)
        context["body"] = FIGURE.sub(r'<p class="picture"><a href="\2">\1</a></p>', body)
