"""Citations as links: `[REMY]` or `[RFC 3649, Table 1]` on a page leads to the list of sources."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from tools import ROOT

LIST = "docs/sources.md"

ROW = re.compile(r"^\| ([^|]+?) \| ([^|]+?) \|", re.MULTILINE)

BRACKETS = re.compile(r"\[([^\[\]`]+)\]")


def definitions(text: str) -> str:
    """Define each citation of a page as a link with the title of its first source."""
    titles = sources()
    cited = {cite for cite in BRACKETS.findall(text) if cite.split(",")[0] in titles}
    lines = (f'[{cite}]: /{LIST} "{titles[cite.split(",")[0]]}"' for cite in sorted(cited))
    return "\n\n" + "\n".join(lines) + "\n"


@cache
def sources() -> Mapping[str, str]:
    """The titles of all sources by key."""
    page = (ROOT / LIST).read_text(encoding="utf-8")
    return {key: title.replace('"', "'") for key, title in ROW.findall(page) if key != "key"}
