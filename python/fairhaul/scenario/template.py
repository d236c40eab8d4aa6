"""The crate of a controller in Rust, and a transport stack in C, as beginnings of one's own."""

from __future__ import annotations

import re
import tempfile
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairhaul import _core
from fairhaul._core import ScenarioError, __version__

NAME = re.compile(r"[a-z][a-z0-9_-]*")
CRATES = "fairhaul"
"""The folder with the crates that the controller needs."""

HOME = Path(__file__).parent / "controller"
"""The files of the crate, as templates."""
STACK = Path(__file__).parent / "stack"
"""The files of the transport stack, as templates, and the header of the interface."""
HEADER = "fairhaul_stack.h"


def library_of(name: str) -> str:
    """Give the path of the library that the crate is compiled to, from its folder."""
    return f"target/release/lib{name.replace('-', '_')}.so"


def new_controller(name: str, folder: Path) -> Path:
    """Write a new crate into `folder / name`, whole or not at all, and give its path.

    Raises:
        ScenarioError: the name cannot be that of a crate, or the folder is there already.
    """
    words = {
        "name": name,
        "title": "".join(part.capitalize() for part in re.split(r"[-_]", name)),
        "crates": CRATES,
        "library": library_of(name),
    }
    files = {
        str(file.relative_to(HOME).with_suffix("")): _filled(file.read_text("utf-8"), words)
        for file in HOME.rglob("*.j2")
    }
    files[".gitignore"] = "/target\n*-report\n"
    files |= {f"{CRATES}/{path}": text for path, text in _crates().items()}
    return _written(name, folder, files)


def new_stack(name: str, folder: Path) -> Path:
    """Write a new transport stack into `folder / name`, whole or not at all, and give its path.

    Raises:
        ScenarioError: the name cannot be that of a library, or the folder is there already.
    """
    words = {"name": name, "library": f"lib{name}.so"}
    filled = {
        file: _filled((STACK / f"{file}.j2").read_text("utf-8"), words)
        for file in ("stack.c", "Makefile", "first.toml")
    }
    filled[f"{name}.c"] = filled.pop("stack.c")
    header = (STACK / HEADER).read_text("utf-8")
    return _written(name, folder, filled | {HEADER: header, ".gitignore": "*.so\n*-report\n"})


def _written(name: str, folder: Path, files: Mapping[str, str]) -> Path:
    """Write files into `folder / name`, whole or not at all, and give its path."""
    if not NAME.fullmatch(name) or name in {"fairhaul", "target", "test", "core", "std"}:
        raise ScenarioError(f"{name}: wanted a name with lower-case letters, digits, - and _")
    target = folder / name
    if target.exists():
        raise ScenarioError(f"{target}: it is there already; nothing was changed")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=folder) as made:
        whole = Path(made) / name
        for path, text in files.items():
            (whole / path).parent.mkdir(parents=True, exist_ok=True)
            (whole / path).write_text(text, encoding="utf-8")
        whole.rename(target)
    return target


def _filled(text: str, words: Mapping[str, str]) -> str:
    import jinja2

    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    return environment.from_string(text).render(words)


def _crates() -> dict[str, str]:
    """The sources of the crates that a controller needs, with manifests that need no workspace."""
    sources = dict(_core.sources())
    shared = tomllib.loads(sources.pop("Cargo.toml"))["workspace"]
    for path, text in sources.items():
        if path.endswith("Cargo.toml"):
            sources[path] = _manifest(tomllib.loads(text), shared)
    return sources


def _manifest(given: dict[str, Any], shared: dict[str, Any]) -> str:
    """Write the manifest of one of these crates: its name, its edition and what it depends on."""
    lines = [
        "[package]",
        f'name = "{given["package"]["name"]}"',
        f'version = "{__version__}"',
        f'edition = "{shared["package"]["edition"]}"',
        f'license = "{shared["package"]["license"]}"',
        "publish = false",
        "",
        "[dependencies]",
    ]
    for name, wanted in given.get("dependencies", {}).items():
        own = isinstance(wanted, dict) and wanted.get("workspace")
        found = shared["dependencies"][name] if own else wanted
        if isinstance(found, dict) and found.get("optional"):
            continue
        if isinstance(found, dict):
            lines.append(f'{name} = {{ path = "../{Path(found["path"]).name}" }}')
        else:
            lines.append(f'{name} = "{found}"')
    lines += ["", "[features]", "load = []"] if "load" in given.get("features", {}) else []
    return "\n".join([*lines, ""])
