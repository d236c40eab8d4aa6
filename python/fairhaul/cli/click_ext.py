"""Commands that name the nearest right word, show an example, and know their old option names."""

from __future__ import annotations

import errno
import sysconfig
import traceback
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeVar

import click

from fairhaul.text.nearest import hint
from fairhaul.text.phrases import listed

F = TypeVar("F", bound=Callable[..., Any])

# More than any first sentence of the help of a command has.
LONGEST_HELP = 500

# The operating system only names a failure; these say what to do about it.
REMEDIES = {
    errno.ENOSPC: "free some space, or write elsewhere",
    errno.EDQUOT: "free some space, or write elsewhere",
    errno.EACCES: "this user may not read or write there",
    errno.EPERM: "this user may not do that there",
    errno.EROFS: "write elsewhere",
    errno.EMFILE: "allow more open files, or fewer runs at a time: --jobs",
}


def explained(error: OSError) -> str:
    """Say what failed, on which file, and what to do, without the number of the error."""
    what = error.strerror or str(error)
    what = f"{what[:1].lower()}{what[1:]}"
    where = f"{error.filename}: " if error.filename is not None else ""
    remedy = f"; {REMEDIES[error.errno]}" if error.errno in REMEDIES else ""
    return f"{where}{what}{remedy}"


def in_users_code(error: Exception) -> list[str]:
    """Give the traceback of an error in a controller of the user; nothing of any other error."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = str(Path(__file__).parents[1])
    theirs = [*takewhile(lambda frame: not frame.filename.startswith(ours), reversed(frames))]
    libraries = tuple({*sysconfig.get_paths().values()})
    if not theirs or theirs[-1].filename.startswith(libraries):
        return []
    shown = traceback.format_list(theirs[::-1])
    return ["Traceback:\n", *shown, *traceback.format_exception_only(error), *_of_a_field(error)]


def _of_a_field(error: Exception) -> list[str]:
    """Name the fields where a controller has read one that its argument does not have."""
    given = getattr(error, "obj", None)
    if not isinstance(error, AttributeError) or type(given).__module__ != "fairhaul._core":
        return []
    fields = [name for name in dir(given) if not name.startswith("_")]
    return [f"{type(given).__name__} has no {error.name}; it has {listed(fields)}\n"]


class Named(click.ParamType[Any]):
    """A path with a name: an empty one would stand for the working directory."""

    name = "path"

    def __init__(self, path: click.Path) -> None:
        """Take what else the path has to be."""
        self.path = path

    def convert(self, value: Any, param: Any, ctx: click.Context | None) -> Any:
        """Read a path."""
        if value == "":
            self.fail("the name is empty", param, ctx)
        return self.path.convert(value, param, ctx)

    def shell_complete(self, ctx: click.Context, param: Any, incomplete: str) -> list[Any]:
        """Let the shell complete the path."""
        return self.path.shell_complete(ctx, param, incomplete)


def option(shown: str, text: str, *, name: str | None = None, **more: Any) -> Callable[[F], F]:
    """Give an option, whose help says what its default is, if it has one.

    Args:
        shown: the option as the help shows it: `--rate RATE`.
        text: the help.
        name: the argument of the command; by default the name of the option.
        more: other arguments of `click.option`.
    """
    long, _, metavar = shown.partition(" ")
    if isinstance(more.get("type"), click.Path):
        more["type"] = Named(more["type"])
    return click.option(
        *filter(None, (long, name)),
        metavar=metavar or None,
        help=text,
        show_default=more.get("default") not in {None, ""},
        **more,
    )


def flag(shown: str, text: str, *, name: str | None = None) -> Callable[[F], F]:
    """Give an option without a value."""
    return click.option(*filter(None, (shown, name)), is_flag=True, help=text)


class CommandGroup(click.Group):
    """A group of commands that names the nearest command to a mistyped one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command."""
        if args[0] not in self.commands and not args[0].startswith("-"):
            ctx.fail(f"unknown command {args[0]!r}; {hint(args[0], self.commands)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each heading with its commands and whole sentences, which are broken into lines."""
        longest = max(map(len, self.commands))
        for heading, names in self.headed().items():
            rows = [
                (name.ljust(longest), self.commands[name].get_short_help_str(LONGEST_HELP))
                for name in names
            ]
            with formatter.section(heading):
                formatter.write_dl(rows)

    def headed(self) -> dict[str, list[str]]:
        """Give the commands below each heading."""
        return {"Commands": sorted(self.commands)}


class HeadedGroup(CommandGroup):
    """A group of commands whose help lists them under headings, in the order of these."""

    def __init__(self, *args: object, **more: object) -> None:
        """Take the arguments of `click.Group`."""
        super().__init__(*args, **more)  # type: ignore[arg-type]
        self.headings: dict[str, str] = {}

    def headed(self) -> dict[str, list[str]]:
        """Give the commands below each heading."""
        found: dict[str, list[str]] = {}
        for name, heading in self.headings.items():
            found.setdefault(heading, []).append(name)
        return found


class Command(click.Command):
    """A command that explains an option without a value, or a missing argument by `example`."""

    def __init__(self, *args: object, example: str = "", **more: object) -> None:
        """Take `example` beside the arguments of `click.Command`."""
        super().__init__(*args, **more)  # type: ignore[arg-type]
        self.example = example

    def misses(self, name: str, ctx: click.Context | None = None) -> click.UsageError:
        """Give the error of an argument that is missing, with the example."""
        return click.UsageError(f"{name} is missing; for example: {self.example}", ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments of the command line."""
        try:
            return super().parse_args(ctx, args)
        except click.BadOptionUsage as error:
            option = next((p for p in self.params if error.option_name in p.opts), None)
            if isinstance(option, click.Option):
                name = f"{error.option_name} {option.make_metavar(ctx)}"
                wants = f"{error.option_name} requires a value: {name}. {option.help}"
                raise click.UsageError(wants, ctx) from None
            raise
        except click.MissingParameter as error:
            if error.param is not None:
                raise self.misses(error.param.make_metavar(ctx), ctx) from None
            raise
