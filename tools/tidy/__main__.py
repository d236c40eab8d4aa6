"""`python -m tools.tidy`: what `make tidy` and `make choices` do."""

from __future__ import annotations

import click

from tools import ROOT
from tools.tidy import RULES, requirements
from tools.tidy import choices as marks
from tools.tidy.tree import read


@click.group(invoke_without_command=True)
@click.pass_context
def main(context: click.Context) -> None:
    """Print every violation of a rule of style or structure."""
    if context.invoked_subcommand is None:
        tree = read(ROOT)
        complaints = [complaint for rule in RULES for complaint in rule(tree)]
        click.echo("\n".join(complaints) or f"{len(RULES)} rules, no violation")
        raise SystemExit(bool(complaints))


@main.command()
def choices() -> None:
    """Write the pages of choices and of requirements from the marks and tags in the code."""
    tree = read(ROOT)
    for page in (marks, requirements):
        (ROOT / page.PAGE).write_text(page.page(tree), encoding="utf-8")


main(prog_name="python -m tools.tidy")
