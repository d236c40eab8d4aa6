"""The man pages, made from the commands: `fairhaul.1`, and one for each command."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator
from pathlib import Path

import click
from click_man.core import generate_man_page

from fairhaul import __version__
from fairhaul.cli import fairhaul
from fairhaul.files.files import replace


def write(out: Path) -> list[Path]:
    """Write the pages into `out/man1`, and give their files."""
    folder = out / "man1"
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, text in pages(click.Context(copy.deepcopy(fairhaul), info_name="fairhaul")):
        file = folder / f"{name}.1"
        replace(file, text.encode())
        files.append(file)
    return files


def pages(context: click.Context) -> Iterator[tuple[str, str]]:
    """The page of a command and those of the commands below it, each with its name."""
    command = context.command
    below = command.commands if isinstance(command, click.Group) else {}
    for inner in (command, *below.values()):
        # The first sentence as a whole; by default it is cut to a few words.
        sentence, _, _ = inspect.cleandoc(inner.help or "").partition("\n\n")
        inner.short_help = sentence.replace("\n", " ")
    name = context.command_path.replace(" ", "-")
    yield name, generate_man_page(context, version=f"fairhaul {__version__}")
    for info_name, inner in below.items():
        yield from pages(click.Context(inner, info_name=info_name, parent=context))
