"""`python -m tools.site`: what `make site` and `make man` do."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from tools import ROOT


@click.group(invoke_without_command=True)
@click.option("--out", type=click.Path(path_type=Path), default=ROOT / "out" / "site")
@click.pass_context
def main(context: click.Context, out: Path) -> None:
    """Build the site; a page or link that is wrong is an error."""
    if context.invoked_subcommand is None:
        from tools.site.build import build

        shutil.rmtree(out, ignore_errors=True)
        status = build(ROOT, out)
        if status == 0:
            click.echo(f"Site: {out / 'index.html'}")
        raise SystemExit(status)


@main.command()
@click.option("--out", type=click.Path(path_type=Path), default=ROOT / "out" / "man")
def man(out: Path) -> None:
    """Write the man pages, one for each command."""
    from tools.site.manual import write

    pages = write(out)
    click.echo(f"Man pages: {len(pages)} in {out / 'man1'}; man -M {out} fairhaul")


main(prog_name="python -m tools.site")
