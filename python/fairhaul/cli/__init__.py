"""The command line: `fairhaul VERB`.

Verbs import heavy libraries where they use them, so that help is there at once. What goes wrong is
turned into a line and an exit status here, in one place: 0 done, 1 failed while running, 2 the
input was wrong, 130 interrupted.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence

import click

from fairhaul import RunError, ScenarioError, __version__
from fairhaul.cli.compare import compare
from fairhaul.cli.kernel import kernel
from fairhaul.cli.lab import lab
from fairhaul.cli.look import list_, schema
from fairhaul.cli.manners import Verbs
from fairhaul.cli.report import report
from fairhaul.cli.reproduce import reproduce
from fairhaul.cli.run import run
from fairhaul.host import Refused

FAILED, WRONG_INPUT, INTERRUPTED = 1, 2, 130


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="fairhaul %(version)s")
def fairhaul() -> None:
    """Find a fair congestion control for bulk data: who gets how much, how soon, at whose cost."""


for verb in (run, compare, reproduce, report, kernel, lab, list_, schema):
    fairhaul.add_command(verb)


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit status."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(status_of(args))


def status_of(args: Sequence[str] | None = None) -> int:
    """Run the command line and give its exit status."""
    try:
        fairhaul.main(args=args, prog_name="fairhaul", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return WRONG_INPUT
    except ScenarioError as error:
        for mistake in error.args:
            click.echo(mistake, err=True)
        return WRONG_INPUT
    except Refused as error:
        click.echo(f"fairhaul: {error}", err=True)
        return WRONG_INPUT
    except (RunError, OSError) as error:
        click.echo(f"fairhaul: {error}", err=True)
        return FAILED
    except (KeyboardInterrupt, click.Abort):
        click.echo("fairhaul: interrupted", err=True)
        return INTERRUPTED
    return 0
