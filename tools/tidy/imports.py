"""Dependencies between crates: the tables of `ARCHITECTURE.md` list what each manifest may import.

A row is `` | `crate` | `import`, `import` | ... | ``. Crates have the names of their folders.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import NamedTuple

from tools.tidy.layers import line_of
from tools.tidy.tree import Tree

PAGE = "ARCHITECTURE.md"

TABLES = {
    "### Allowed imports": ("dependencies", "build-dependencies"),
    "### Allowed in tests only": ("dev-dependencies",),
}
"""The headings of the tables, and the sections of a manifest that they apply to."""

ADVICE = "remove it, or change the row in the same commit and give the reason there"


class Row(NamedTuple):
    """What a crate may import, and the line that says so."""

    line: int
    allowed: set[str]


def imports(tree: Tree) -> Iterator[str]:
    """Every manifest imports only what its row allows, and every crate has a row."""
    manifests = {
        path.split("/")[1]: text
        for path, text in tree.below("crates", "/Cargo.toml")
        if path.count("/") == 2
    }
    for heading, sections in TABLES.items():
        rows = _rows(tree.get(PAGE, ""), heading)
        for name in sorted(manifests.keys() | rows.keys()):
            row, manifest = rows.get(name), manifests.get(name)
            if row is None:
                yield f'{PAGE}:1: the crate `{name}` has no row under "{heading}": add one'
            elif manifest is None:
                yield f"{PAGE}:{row.line}: there is no crates/{name}: remove the row"
            else:
                for imported in sorted(_imported(manifest, sections) - row.allowed):
                    place = f"crates/{name}/Cargo.toml:{_line(manifest, imported)}: `{imported}`"
                    yield f'{place} is not in the row under "{heading}" in {PAGE}: {ADVICE}'


def _line(manifest: str, imported: str) -> int:
    """The first line about dependencies that names the import."""
    name = re.compile(rf"(?<![\w-])(?:fairhaul-)?{re.escape(imported)}(?![\w-])")
    found = name.search(manifest, manifest.find("dependencies"))
    return line_of(manifest, found.start()) if found else 1


def _imported(manifest: str, sections: tuple[str, ...]) -> set[str]:
    """The names of imported crates and libraries, for all targets."""
    content = tomllib.loads(manifest)
    return {
        (value.get("package", key) if isinstance(value, dict) else key).removeprefix("fairhaul-")
        for part in (content, *content.get("target", {}).values())
        for section in sections
        for key, value in part.get(section, {}).items()
    }


def _rows(page: str, heading: str) -> dict[str, Row]:
    """The rows of the first table after the heading."""
    table = re.search(rf"^{heading}\n(?:(?!\||#).*\n)*((?:\|.*\n)+)", page, re.MULTILINE)
    rows: dict[str, Row] = {}
    if table is None:
        return rows
    for row in re.finditer(r"^\| *`(.+?)`.*?\|(.*?\|.*?)\|", table[1], re.MULTILINE):
        line = line_of(page, table.start(1) + row.start())
        rows[row[1]] = Row(line, set(re.findall("`(.+?)`", row[2])))
    return rows
