"""`fairhaul new-controller`: the crate of a controller in Rust."""

from __future__ import annotations

from pathlib import Path

import click

from fairhaul.cli.click_ext import Command, option

in_folder_option = option(
    "--in",
    "The folder to make it in.",
    name="folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
)


@click.command("new-controller", cls=Command)
@click.argument("name")
@in_folder_option
def new_controller(name: str, folder: Path) -> None:
    """Begin a controller of your own in Rust.

    It makes a folder NAME with a crate: AIMD with two parameters, and the trait that the built-in
    controllers implement. `cargo build --release` compiles it in seconds, and the simulator loads
    the result.
    """
    from fairhaul.scenario.template import library_of
    from fairhaul.scenario.template import new_controller as begin

    made = begin(name, folder)
    click.echo(f"{made}: src/lib.rs is the controller, first.toml a scenario. Next:")
    click.echo(f"  cd {made}")
    click.echo("  cargo build --release")
    click.echo("  fairhaul run first.toml --report")
    path = "--rate 20Mbit/s --rtt 40ms --buffer 1bdp --duration 60s"
    click.echo(f"  fairhaul compare {name} cubic --controller {name}={library_of(name)} {path}")
