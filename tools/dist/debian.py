"""The Debian package: the layout below `/usr`, with what Debian's tools need to know of it."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click

from tools import ROOT
from tools.dist import DEBIAN_PYTHON, Architecture, call, text_of
from tools.dist.components import installed, linked
from tools.dist.layout import Installation, compressed, lay_out
from tools.dist.licences import text
from tools.dist.private import make, seal
from tools.dist.programs import WORK
from tools.dist.sbom import write
from tools.dist.sources import epoch, version

PACKAGE, FIGURES = "fairhaul", "fairhaul-figures"
"""The second has the large libraries, which only records, figures and pages need."""

LARGE = ("polars*", "_polars*", "vl_convert*")
"""Their files among the packages of Python."""

MOST_MB = {PACKAGE: 50, FIGURES: 65}
"""The most that a package may have, in millions of bytes."""

PROVIDERS = {
    "ld-linux-aarch64.so.1": "libc6 (>= 2.28)",
    "ld-linux-x86-64.so.2": "libc6 (>= 2.28)",
    "libc.so.6": "libc6 (>= 2.28)",
    "libdl.so.2": "libc6 (>= 2.28)",
    "libm.so.6": "libc6 (>= 2.28)",
    "libpthread.so.0": "libc6 (>= 2.28)",
    "librt.so.1": "libc6 (>= 2.28)",
    "libutil.so.1": "libc6 (>= 2.28)",
    "libgcc_s.so.1": "libgcc-s1",
    "libstdc++.so.6": "libstdc++6",
    "libz.so.1": "zlib1g",
}
"""The Debian packages of the shared libraries that the private environment needs."""


def build(architecture: Architecture, wheel: Path, out: Path) -> None:
    """Build the Debian packages, from a wheel and its locked dependencies."""
    root = WORK / "deb" / architecture.debian
    shutil.rmtree(root, ignore_errors=True)
    there = Installation(
        root=root,
        prefix=Path("/usr"),
        python=Path(f"/usr/bin/python{DEBIAN_PYTHON}"),
        python_version=DEBIAN_PYTHON,
    )
    make(there.site, wheel, architecture)
    components = [*linked(architecture), *installed(there.site)]
    seal(there.site)
    bill = WORK / "deb" / "fairhaul.cdx.json"
    write(components, bill)
    extra = {
        "copyright": (ROOT / "scripts/dist/debian/copyright").read_bytes(),
        "LICENSE-THIRD-PARTY.txt.gz": compressed(text(components)),
        "fairhaul.cdx.json.gz": compressed(bill.read_text()),
        "60-fairhaul.conf": (ROOT / "docs/deploy/60-fairhaul.conf").read_bytes(),
    }
    lay_out(there, extra)
    for name, folder in {PACKAGE: root, FIGURES: divide(there)}.items():
        _set_modes(folder)
        _control(name, folder, architecture)
        pack(folder, out / f"{name}_{version()}_{architecture.debian}.deb", MOST_MB[name])


def divide(there: Installation) -> Path:
    """Move the large libraries into a folder of their own, to the same places; give the folder."""
    root = there.root.with_name(f"{there.root.name}-figures")
    shutil.rmtree(root, ignore_errors=True)
    own = replace(there, root=root)
    own.site.mkdir(parents=True)
    for path in [path for names in LARGE for path in there.site.glob(names)]:
        path.rename(own.site / path.name)
    copyright_ = own.at(f"share/doc/{FIGURES}/copyright")
    copyright_.parent.mkdir(parents=True)
    shutil.copy(ROOT / "scripts/dist/debian/copyright", copyright_)
    return root


def pack(root: Path, file: Path, most_mb: float) -> Path:
    """Pack a folder; owners, order and times do not depend on this machine."""
    options = ("--root-owner-group", "-Zxz", "--uniform-compression")
    for path in (*root.rglob("*"), root):
        os.utime(path, (epoch(), epoch()), follow_symlinks=False)
    env = {"SOURCE_DATE_EPOCH": str(epoch())}
    call(["dpkg-deb", *options, "--build", root, file], ROOT, env)
    size_mb = file.stat().st_size / 1e6
    if size_mb > most_mb:
        raise click.ClickException(f"{file.name} has {size_mb:.1f} MB, and may have {most_mb} MB")
    return file


def needed(root: Path) -> set[str]:
    """The shared libraries that files below a folder need, and that are not below it."""
    binaries = [path for path in root.rglob("*") if _is_elf(path)]
    own = {path.name for path in binaries}
    wanted: set[str] = set()
    for path in binaries:
        wanted.update(re.findall(r"NEEDED +(\S+)", text_of(["objdump", "-p", path], root)))
    return wanted - own


def _is_elf(path: Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def _set_modes(root: Path) -> None:
    """Make everything readable for all, and executable only what is a program."""
    for path in (*root.rglob("*"), root):
        if not path.is_symlink():
            program = path.is_dir() or "bin" in path.parent.parts[-1:]
            path.chmod(0o755 if program else 0o644)


def _control(name: str, root: Path, architecture: Architecture) -> None:
    """Write the folder `DEBIAN` of a package, from the folder of its name in `scripts`."""
    unknown = needed(root) - PROVIDERS.keys()
    if unknown:
        names = ", ".join(sorted(unknown))
        raise click.ClickException(f"no Debian package is known for {names}: see PROVIDERS")
    libraries = {PROVIDERS[name] for name in needed(root)}
    major, minor = DEBIAN_PYTHON.split(".")
    python = {f"python3 (>= {DEBIAN_PYTHON})", f"python3 (<< {major}.{int(minor) + 1})"}
    fields = {
        "VERSION": version(),
        "ARCHITECTURE": architecture.debian,
        "SIZE": str(sum(path.lstat().st_size for path in root.rglob("*")) // 1024),
        "DEPENDS": ", ".join(sorted(libraries | python | {f"python{DEBIAN_PYTHON}"})),
    }
    folder = root / "DEBIAN"
    shutil.copytree(ROOT / "scripts/dist/debian" / name, folder)
    (folder / "md5sums").write_text("".join(_digests(root)))
    control = (folder / "control").read_text()
    for field, value in fields.items():
        control = control.replace(f"@{field}@", value)
    (folder / "control").write_text(control)
    for file in folder.iterdir():
        file.chmod(0o644 if file.name in {"control", "md5sums"} else 0o755)


def _digests(root: Path) -> Iterator[str]:
    for path in sorted(root.rglob("*")):
        if path.is_file() and not path.is_symlink() and "DEBIAN" not in path.parts:
            # MD5 finds damaged files; dpkg knows no other digest here.
            digest = hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()
            yield f"{digest}  {path.relative_to(root)}\n"
