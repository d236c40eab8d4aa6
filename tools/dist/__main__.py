"""`python -m tools.dist`: what `make dist`, `make install` and `make uninstall` do."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import click

from tools import ROOT
from tools.dist import ARCHITECTURES, Missing

FOLDER = click.Path(path_type=Path)


@click.group()
def main() -> None:
    """Build releases, and install from a checkout."""


@main.command()
@click.option("--out", type=FOLDER, default=ROOT / "out" / "dist")
def build(out: Path) -> None:
    """Build everything that a release has; what this machine cannot build is named."""
    from tools.dist import debian, sources, wheels
    from tools.dist.programs import STAGE, check_crates

    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    sources.unpack(sources.write(out), STAGE)
    check_crates()
    for architecture in ARCHITECTURES:
        try:
            wheel = wheels.build(architecture, out)
            debian.build(architecture, wheel, out)
        except Missing as missing:
            what = f"the wheel and the Debian package for {architecture.machine} are not built"
            click.echo(f"fairhaul: {what}. Missing: {missing}", err=True)
    files = sorted(file for file in out.iterdir() if file.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files]
    (out / "SHA256SUMS").write_text("".join(lines))
    click.echo(f"Release: {len(files)} files and SHA256SUMS in {out}")


@main.command()
@click.option("--prefix", type=FOLDER, default=Path("/opt/fairhaul"))
@click.option("--destination", type=FOLDER, default=Path("/"))
def install(prefix: Path, destination: Path) -> None:
    """Install below PREFIX in the folder that stands for the root."""
    from tools.dist.install import install as write

    write(prefix, destination.resolve())
    click.echo(f"Installed: {prefix / 'bin/fairhaul'}")


@main.command()
@click.option("--prefix", type=FOLDER, default=Path("/opt/fairhaul"))
@click.option("--destination", type=FOLDER, default=Path("/"))
def uninstall(prefix: Path, destination: Path) -> None:
    """Remove what `install` has installed below PREFIX."""
    from tools.dist.install import remove

    remove(prefix, destination.resolve())
    click.echo(f"Removed: Fairhaul below {prefix}")


@main.command()
def audit() -> None:
    """List known vulnerabilities of the locked Python packages."""
    from tools.dist.vulnerabilities import audit as check

    raise SystemExit(not check())


main(prog_name="python -m tools.dist")
