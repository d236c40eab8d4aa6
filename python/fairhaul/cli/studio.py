"""The command `studio`: the simulator as a page."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click

from fairhaul._core import ScenarioError
from fairhaul.cli.click_ext import Command, option
from fairhaul.cli.options import Overrides, set_option


@click.command(cls=Command, example="fairhaul studio scenarios/examples/two-flows.toml")
@click.argument("file", required=False, metavar="[FILE]")
@option(
    "--out",
    "Write the page to this file.",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("studio.html"),
)
@set_option
@click.option("--open/--no-open", "open_", default=True, help="Whether a browser opens the page.")
def studio(file: str | None, out: Path, overrides: Overrides, open_: bool) -> None:
    """Open the simulator as a page, with sliders and lessons.

    The page is one file with the engine in it. It needs no server and no network, and can be copied
    and sent. It opens with the scenario FILE, or with the first lesson.
    """
    from fairhaul.host.process import Refused
    from fairhaul.scenario.read import read_as_typed
    from fairhaul.studio import write

    if overrides and file is None:
        raise click.BadParameter("it requires a FILE", param_hint="--set")
    try:
        scenario = read_as_typed(Path(file), overrides)[0] if file is not None else None
    except ScenarioError as error:
        own = any("unknown controller" in mistake for mistake in error.args)
        more = ["The studio cannot run controllers of your own."] if own else []
        raise ScenarioError(*error.args, *more) from None
    if not out.parent.is_dir():
        raise click.BadParameter(f"{out.parent}: no such directory", param_hint="--out")
    try:
        write(out, scenario)
    except FileNotFoundError as error:
        raise Refused(str(error)) from None
    click.echo(f"Studio: {out}")
    if open_:
        webbrowser.open(out.resolve().as_uri())
