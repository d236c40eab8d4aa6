"""The rules of axe-core on an open page, for levels A and AA of WCAG 2.1.

A package of the development environment carries the script; nothing of it is in a release. Its
digest is fixed, because it runs with the rights of the tests.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.studio.browser import Page

SHA256 = "84494fec757e4710dc751c8d7a636e457f4532f08f85c86dc9070133fbff53bc"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
# A frame is a page of its own, which has its own test.
OPTIONS = {"runOnly": {"type": "tag", "values": TAGS}, "iframes": False}


@cache
def script() -> str:
    """The script of axe-core."""
    text = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    assert hashlib.sha256(text.encode()).hexdigest() == SHA256
    return text


def violations(page: Page) -> list[str]:
    """Say which rules the page breaks, and where."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(f"{script()}; 0")
    found = page.evaluate(
        f"axe.run(document, {json.dumps(OPTIONS)}).then(({{ violations, passes }}) => "
        "({ passed: passes.length, broken: violations.map((it) => "
        "[it.id, it.help, it.nodes.length, it.nodes.slice(0, 3).map((at) => at.html)]) }))"
    )
    assert found["passed"] > 5, "axe-core has judged the page"
    return [f"{rule}: {text} ({count} times, {at})" for rule, text, count, at in found["broken"]]
