"""Joins the modules of the page into one script, because a page on disk cannot import files.

Every module becomes a function that gives what it exports; imports become the names of these.
"""

from __future__ import annotations

import re
from importlib.resources import files

PARTS = files("fairhaul.studio") / "parts"
IMPORT = re.compile(r'^import \{ (.+) \} from "\./(\w+)\.mjs";$', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class) (\w+))", re.MULTILINE)


def bundle(entry: str) -> str:
    """Give the script of the module `entry` and of all that it imports."""
    modules: list[str] = []
    _add(entry, modules, ())
    return '"use strict";\n' + "\n".join(_wrapped(name) for name in modules)


def _add(name: str, modules: list[str], importing: tuple[str, ...]) -> None:
    """Append `name` after the modules that it imports."""
    if name in importing:
        raise ValueError(f"modules import each other: {' -> '.join([*importing, name])}")
    for _, imported in IMPORT.findall(_source(name)):
        _add(imported, modules, (*importing, name))
    if name not in modules:
        modules.append(name)


def _source(name: str) -> str:
    return (PARTS / f"{name}.mjs").read_text(encoding="utf-8")


def _wrapped(name: str) -> str:
    source = _source(name)
    exported = EXPORT.findall(source)
    body = EXPORT.sub("", IMPORT.sub(r"const { \1 } = module_\2;", source))
    return f"const module_{name} = (() => {{\n{body}\nreturn {{ {', '.join(exported)} }};\n}})();"
