"""Printed results: tables of figures for people, and JSON for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from fairhaul.text.printable import printable, printable_json

if TYPE_CHECKING:
    from rich.console import Console


def as_json(value: object) -> None:
    """Print one JSON object and nothing else."""
    text = json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False)
    click.echo(printable_json(text))


def console() -> Console:
    """Give the console of standard output, wide enough for a table if it is no terminal."""
    from rich.console import Console

    class Screen(Console):
        """A console whose texts cannot control the terminal."""

        def print(self, *objects: Any, **how: Any) -> None:
            """Print objects; control characters in texts are shown, not obeyed."""
            shown = [
                printable(object_) if isinstance(object_, str) else object_ for object_ in objects
            ]
            # What is wider than the screen stays whole: a command has to be copied.
            super().print(*shown, **{"crop": False, **how})

    screen = Screen(highlight=False, markup=False, emoji=False)
    return screen if screen.is_terminal else Screen(width=160, highlight=False, markup=False)
