"""The command `completion`."""

from __future__ import annotations

import click

from fairhaul.cli.click_ext import Command


@click.command(cls=Command, example="fairhaul completion bash")
@click.argument("shell", metavar="SHELL", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script by which a shell completes commands and options.

    SHELL is bash, zsh or fish. In bash, eval "$(fairhaul completion bash)" enables it.
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None, "click completes in these shells"
    program = context.find_root()
    name = program.info_name or "fairhaul"
    script = kind(program.command, {}, name, f"_{name.upper()}_COMPLETE")
    click.echo(script.source(), nl=False)
