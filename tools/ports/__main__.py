"""`python -m tools.ports`: compare all eBPF ports in Linux's kernel with the interpreter."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import click

from fairhaul.scenario.read import read_one
from tools import ROOT
from tools.ports.comparison import Compared, found_in, table
from tools.ports.paths import OTHERS, PATHS, scenario


@click.command()
@click.option("--only", metavar="PORT,PORT", help="These ports; by default all.")
def main(only: str | None) -> None:
    """Run each port over three paths in Linux in simulated time, and repeat all of its calls."""
    with tempfile.TemporaryDirectory(prefix="fairhaul-") as folder:
        command = ["cargo", "run", "-q", "-p", "fairhaul-ports", "--example", "objects", "--"]
        subprocess.run([*command, folder], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        # The program of XCP's options writes to what its calls read, and is not recorded.
        objects = sorted(set(Path(folder).glob("*.bpf.o")) - {Path(folder) / "xcp.bpf.o"})
        if only is not None:
            objects = [file for file in objects if _port(file) in only.split(",")]
        results = [_compare(file) for file in objects]
    click.echo(table(results))
    for one in results:
        if one.outside:
            click.echo(f"{one.port}: {one.outside} bytes of sockets changed outside the fields")
        if one.first:
            click.echo(f"{one.port}: {one.first}", err=True)
    if any(one.differences for one in results):
        sys.exit(1)


def _port(file: Path) -> str:
    return file.name.removesuffix(".bpf.o")


def _compare(file: Path) -> Compared:
    """Compare a port over all paths."""
    compared = Compared(port=_port(file))
    for path in PATHS:
        text = scenario(path, f'kind = "bpf", object = "{file}"', OTHERS.get(compared.port, {}))
        compared.add(found_in(read_one(text)))
        click.echo(f"{compared.port}, {path}: {compared.calls:,} calls", err=True)
    return compared


main(prog_name="python -m tools.ports")
