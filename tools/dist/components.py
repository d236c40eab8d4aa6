"""What a release contains of others: crates, libraries in C, a script, and Python packages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from tools import ROOT
from tools.bench.cost import with_rust
from tools.dist import Architecture, text_of
from tools.dist.programs import STACKS, copyright_of

PROGRAMS = {
    ".": ("fairhaul-py", "fairhaul-host", "fairhaul-linux", "fairhaul-web"),
    "stacks": tuple(f"fairhaul-stack-{name}" for name in STACKS),
}
"""The crates of the built files, by the folder of their workspace."""

LICENCE_FILE = re.compile(r"(?i)(licen[cs]e|copying|notice|unlicense|copyright)")


@dataclass(frozen=True, kw_only=True)
class Component:
    """A part of a release that others wrote."""

    name: str
    version: str
    kind: str
    licence: str
    texts: tuple[str, ...]

    @property
    def purl(self) -> str:
        """The package URL."""
        return f"pkg:{self.kind}/{self.name}@{self.version}"


def linked(architecture: Architecture) -> list[Component]:
    """What the files of a wheel are built from."""
    found = [*crates(architecture), _uplot(), _rust()]
    for package, name, licence in (
        ("libelf-dev", "elfutils", "GPL-2.0-or-later OR LGPL-3.0-or-later"),
        ("zlib1g-dev", "zlib", "Zlib"),
    ):
        version, text = copyright_of(architecture, package)
        found.append(
            Component(name=name, version=version, kind="deb/debian", licence=licence, texts=(text,))
        )
    return sorted(found, key=lambda one: one.purl)


def installed(site: Path) -> list[Component]:
    """The Python packages in a folder, except Fairhaul itself."""
    found = [_python(one) for one in distributions(path=[str(site)])]
    return sorted((one for one in found if one.name != "fairhaul"), key=lambda one: one.purl)


def crates(architecture: Architecture) -> list[Component]:
    """The crates of others that are linked into the programs, and libbpf, which one of them contains."""
    found = [one for workspace in PROGRAMS for one in _linked_into(workspace, architecture)]
    others = list({(one["name"], one["version"]): one for one in found}.values())
    (source,) = (one for one in others if one["name"] == "libbpf-sys")
    return [*map(_crate, others), _libbpf(source)]


def _linked_into(workspace: str, architecture: Architecture) -> list[dict[str, Any]]:
    """The packages of others that are linked into the programs of a workspace."""
    command = ("cargo", "metadata", "--format-version", "1", "--locked")
    filtered = (*command, "--filter-platform", architecture.triple)
    metadata = json.loads(text_of(filtered, ROOT / workspace, with_rust()))
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    waiting = [key for key, package in packages.items() if package["name"] in PROGRAMS[workspace]]
    reached: set[str] = set()
    while waiting:
        key = waiting.pop()
        if key not in reached and not _is_macro(packages[key]):
            reached.add(key)
            waiting += [
                dependency["pkg"]
                for dependency in nodes[key]["deps"]
                if any(kind["kind"] is None for kind in dependency["dep_kinds"])
            ]
    return [packages[key] for key in reached if packages[key]["source"] is not None]


def _is_macro(package: dict[str, Any]) -> bool:
    """Whether a crate runs in the compiler and is not linked."""
    return any("proc-macro" in target["kind"] for target in package["targets"])


def _crate(package: dict[str, Any]) -> Component:
    folder = Path(package["manifest_path"]).parent
    return Component(
        name=package["name"],
        version=package["version"],
        kind="cargo",
        licence=(package["license"] or "").replace("/", " OR "),
        texts=tuple(_texts(folder.iterdir())),
    )


def _libbpf(source: dict[str, Any]) -> Component:
    folder = Path(source["manifest_path"]).parent / "libbpf"
    return Component(
        name="libbpf/libbpf",
        version=source["version"].partition("+v")[2],
        kind="github",
        licence="LGPL-2.1-only OR BSD-2-Clause",
        texts=tuple(_texts(folder.iterdir())),
    )


def _uplot() -> Component:
    folder = ROOT / "python/fairhaul/studio/uplot"
    version = re.search(r"\(v([\d.]+)\)", (folder / "uPlot.iife.min.js").read_text())
    assert version is not None, "the script opens with its version"
    text = (folder / "LICENSE").read_text()
    return Component(name="uplot", version=version[1], kind="npm", licence="MIT", texts=(text,))


def _rust() -> Component:
    """The standard library of Rust, which every program contains."""
    version = text_of(["rustc", "--version"], ROOT, with_rust()).split()[1]
    return Component(
        name="rust-lang/rust",
        version=version,
        kind="github",
        licence="Apache-2.0 OR MIT",
        texts=((ROOT / "LICENSE-APACHE").read_text(),),
    )


def _python(one: Distribution) -> Component:
    metadata = one.metadata
    classifiers = metadata.get_all("Classifier") or []
    named = [line.split(" :: ")[-1] for line in classifiers if line.startswith("License ::")]
    short = (metadata["License"] if "License" in metadata else "").strip()
    if not short or "\n" in short:
        short = ", ".join(named)
    files = (Path(str(one.locate_file(file))) for file in one.files or [])
    info = (file for file in files if ".dist-info" in str(file))
    return Component(
        name=canonicalize_name(metadata["Name"]),
        version=one.version,
        kind="pypi",
        licence=metadata["License-Expression"] if "License-Expression" in metadata else short,
        texts=tuple(_texts(info)),
    )


def _texts(files: Iterator[Path]) -> Iterator[str]:
    """The texts of the licences among some files, each once."""
    known = set()
    for file in sorted(files):
        if LICENCE_FILE.search(file.name) and file.suffix not in {".py", ".rs"} and file.is_file():
            text = file.read_text(encoding="utf-8", errors="replace").strip()
            if text not in known:
                known.add(text)
                yield text
