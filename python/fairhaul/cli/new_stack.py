"""`fairhaul new-stack`: a transport stack in C."""

from __future__ import annotations

from pathlib import Path

import click

from fairhaul.cli.click_ext import Command
from fairhaul.cli.new_controller import in_folder_option


@click.command("new-stack", cls=Command)
@click.argument("name")
@in_folder_option
def new_stack(name: str, folder: Path) -> None:
    """Begin a transport stack of your own in C.

    It makes a folder NAME with a small complete protocol and the header of the interface. `make`
    compiles it, and the simulator runs it as a flow.
    """
    from fairhaul.scenario.template import new_stack as begin

    made = begin(name, folder)
    click.echo(f"{made}: {name}.c is the stack, first.toml a scenario. Next:")
    click.echo(f"  cd {made}")
    click.echo("  make")
    click.echo("  fairhaul run first.toml --report")
