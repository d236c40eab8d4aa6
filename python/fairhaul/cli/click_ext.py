"""Mistakes on the command line: what was wanted, and the nearest right word."""

from __future__ import annotations

import errno

import click

from fairhaul.nearest import hint

# What to do about failures of the system, whose own words only name them.
REMEDIES = {
    errno.ENOSPC: "free some, or write elsewhere",
    errno.EDQUOT: "free some, or write elsewhere",
    errno.EACCES: "this user may not write or read there",
    errno.EPERM: "this user may not do that there",
    errno.EROFS: "write elsewhere",
    errno.EMFILE: "allow more open files, or fewer runs at a time: --jobs",
}


def told(error: OSError) -> str:
    """Say what failed, on which file, and what to do, without the number of the system."""
    what = error.strerror or str(error)
    what = f"{what[:1].lower()}{what[1:]}"
    where = f"{error.filename}: " if error.filename is not None else ""
    remedy = f"; {REMEDIES[error.errno]}" if error.errno in REMEDIES else ""
    return f"{where}{what}{remedy}"


class Verbs(click.Group):
    """The verbs, with the nearest one named where somebody mistypes."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb."""
        if args[0] not in self.commands and not args[0].startswith("-"):
            ctx.fail(f"{args[0]!r} is not a verb; {hint(args[0], self.commands, cutoff=0.5)}")
        return super().resolve_command(ctx, args)


class Verb(click.Command):
    """A verb that says what an option or a missing word is for, and shows `example`."""

    def __init__(self, *args: object, example: str = "", **more: object) -> None:
        """Take `example` beside what `click.Command` takes."""
        super().__init__(*args, **more)  # type: ignore[arg-type]
        self.example = example

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words of the command line."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption:
            raise
        except click.BadOptionUsage as error:
            option = next((p for p in self.params if error.option_name in p.opts), None)
            if isinstance(option, click.Option):
                name = f"{error.option_name} {option.make_metavar(ctx)}"
                wants = f"{error.option_name} wants a value: {name}. {option.help}"
                raise click.UsageError(wants, ctx) from None
            raise
        except click.MissingParameter as error:
            if error.param is not None:
                name = error.param.make_metavar(ctx)
                raise click.UsageError(
                    f"{name} is missing; for example: {self.example}", ctx
                ) from None
            raise


class Word(click.Choice[str]):
    """One of several words."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Read the word."""
        if value not in self.choices:
            self.fail(f"{value!r} is not known; {hint(value, self.choices)}", param, ctx)
        return str(super().convert(value, param, ctx))


class Count(click.ParamType[int]):
    """A whole number of at least 1."""

    name = "count"

    def convert(
        self, value: str | int, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """Read the number."""
        try:
            found = int(value)
        except ValueError:
            found = 0
        if found < 1:
            self.fail(f"{value!r}: wanted a whole number of at least 1, such as 4", param, ctx)
        return found
