"""The commands of `fairhaul linux`: Linux as an ordinary program, for `--engine linux`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fairhaul.cli import show
from fairhaul.cli.click_ext import Command, CommandGroup, flag
from fairhaul.cli.options import json_option
from fairhaul.cli.progress import shown_progress

if TYPE_CHECKING:
    from fairhaul.linux import BuildProgress, Program


@click.group(cls=CommandGroup)
def linux() -> None:
    """Build Linux as an ordinary program, in which scenarios run in simulated time.

    The programs are in ~/.cache/fairhaul/linux, or below XDG_CACHE_HOME. None of these commands
    needs root.
    """


@linux.command(cls=Command, example="fairhaul linux build linux-6.18.tar.xz")
@click.argument("source", default="", metavar="[SOURCE]")
@json_option
def build(source: str, json_: bool) -> None:
    """Build the program from the kernel's source.

    SOURCE is a tree or an archive of Linux 6.1 or later, or the name of a package of Debian such as
    linux-source-6.1. By default it is Debian's package of Linux 6.12, which apt fetches. An
    interrupted build is continued by the same command.
    """
    from fairhaul.linux import build

    with shown_progress("building Linux") as move:

        def on_progress(state: BuildProgress) -> None:
            if move is not None:
                move(state.part, lambda: state.text)

        program = build(source, on_progress)
    if json_:
        show.as_json(program.to_dict())
        return
    click.echo(f"built Linux {program.version}: {program.path}")


@linux.command("list", cls=Command, example="fairhaul linux list")
@json_option
def list_(json_: bool) -> None:
    """List the programs, with what decides how TCP computes in them."""
    from fairhaul.linux import programs

    found = programs()
    if json_:
        show.as_json({"programs": [program.to_dict() for program in found]})
        return
    if not found:
        click.echo("There is no program of Linux; build it: fairhaul linux build")
        return
    for program in found:
        _describe(program)


def _describe(program: Program) -> None:
    facts = program.facts
    state = "" if program.current else f" (built from other files; again: {program.command})"
    click.echo(f"Linux {program.version}, program {program.sha256[:12]}{state}")
    lines = {
        "file": str(program.path),
        "compiler": program.compiler,
        "TCP": f"HZ {facts['hz']}, MAX_TCP_HEADER {facts['max_tcp_header']} B, MAX_SKB_FRAGS "
        f"{facts['max_skb_frags']}, send buffer 2 x {facts['send_buffer_per_packet']} B per packet "
        "of the window",
        "controllers": " ".join(facts["controllers"]),
        "qdiscs": " ".join(facts["qdiscs"]),
        "eBPF objects": "struct_ops" if facts["struct_ops"] else "no struct_ops",
        "AccECN": "yes" if facts["accecn"] else "no",
    }
    for name, text in lines.items():
        click.echo(f"    {name:12} {text}")


@linux.command(cls=Command, example="fairhaul linux remove 6.12")
@click.argument("version", default="", metavar="[VERSION]")
@flag("--builds", "Remove sources and objects only, and keep the programs.")
def remove(version: str, builds: bool) -> None:
    """Remove programs, and the sources and objects that their builds have left.

    VERSION is a version or its first numbers, such as 6.12; by default everything is removed.
    """
    from fairhaul.linux import remove

    for place in remove(version or None, builds_only=builds):
        click.echo(f"removed {place}")
