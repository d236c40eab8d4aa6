"""The source distribution: the files under version control, and the metadata of the package."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import sys
import tarfile
import tempfile
from functools import cache
from pathlib import Path

import click

from tools import ROOT
from tools.dist import call, text_of


@cache
def epoch() -> int:
    """The time of all files in a release: that of the commit, unless SOURCE_DATE_EPOCH says else."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    if (ROOT / ".git").exists():
        return int(text_of(["git", "log", "-1", "--format=%ct"], ROOT))
    return int((ROOT / "PKG-INFO").stat().st_mtime)


def version() -> str:
    """The version of the workspace."""
    for line in (ROOT / "Cargo.toml").read_text().splitlines():
        if line.startswith("version = "):
            return line.split('"')[1]
    raise click.ClickException("Cargo.toml states no version")


def write(out: Path) -> Path:
    """Write `fairhaul-VERSION.tar.gz`, whose bytes depend only on the sources and the time."""
    if not (ROOT / ".git").exists():
        raise click.ClickException("a source distribution needs a checkout under git")
    changed = text_of(["git", "status", "--porcelain", "--untracked-files=no"], ROOT)
    if changed:
        click.echo(
            f"The release contains {len(changed.splitlines())} uncommitted changes.", err=True
        )
    names = text_of(["git", "ls-files", "-z"], ROOT).split("\0")
    stem = f"fairhaul-{version()}"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in sorted(filter(None, names)):
            if (ROOT / name).is_symlink() or (ROOT / name).exists():
                info = _plain(tar.gettarinfo(ROOT / name, f"{stem}/{name}"))
                content = (ROOT / name).read_bytes() if info.isreg() else b""
                tar.addfile(info, io.BytesIO(content))
        metadata = _metadata()
        info = _plain(tarfile.TarInfo(f"{stem}/PKG-INFO"))
        info.size = len(metadata)
        tar.addfile(info, io.BytesIO(metadata))
    file = out / f"{stem}.tar.gz"
    file.write_bytes(gzip.compress(packed.getvalue(), 9, mtime=epoch()))
    return file


def unpack(sdist: Path, stage: Path) -> None:
    """Make the files in `stage` those of a source distribution, except what cargo has built.

    A file that has the right content keeps its time, because cargo builds again what has changed.
    """
    with tempfile.TemporaryDirectory() as folder:
        new = Path(folder)
        call(["tar", "xzf", sdist, "-m", "--strip-components=1", "-C", new], ROOT)
        wanted = {path.relative_to(new) for path in new.rglob("*") if _is_file(path)}
        for old in [path for path in stage.rglob("*") if _is_file(path)]:
            name = old.relative_to(stage)
            if name.parts[0] != "target" and name not in wanted:
                old.unlink()
        for name in wanted:
            if not _same(new / name, stage / name):
                (stage / name).unlink(missing_ok=True)
                (stage / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(new / name, stage / name, follow_symlinks=False)


def _is_file(path: Path) -> bool:
    return path.is_symlink() or path.is_file()


def _same(one: Path, other: Path) -> bool:
    """Whether two files, or links, have the same content and rights."""
    if one.is_symlink() or other.is_symlink():
        return one.is_symlink() and other.is_symlink() and one.readlink() == other.readlink()
    if not other.is_file() or one.stat().st_mode != other.stat().st_mode:
        return False
    return one.read_bytes() == other.read_bytes()


def _plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
    """Without the user, the time and the rights of this machine."""
    info.mode = 0o755 if info.mode & 0o100 else 0o644
    info.mtime = epoch()
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info


def _metadata() -> bytes:
    """The metadata of the package, as maturin writes them for a wheel."""
    with tempfile.TemporaryDirectory() as folder:
        command = (sys.executable, "-m", "maturin", "pep517", "write-dist-info")
        call([*command, "--metadata-directory", folder, "--interpreter", sys.executable], ROOT)
        (file,) = Path(folder).glob("*.dist-info/METADATA")
        return file.read_bytes()
