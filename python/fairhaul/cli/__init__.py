"""The command line: `fairhaul COMMAND`.

Commands import heavy libraries where they use them, so that `--help` is fast. Every error becomes a
line and an exit status here, in one place: 0 success, 1 a run failed, 2 the input was wrong,
128 + n ended by signal n: 129 (SIGHUP), 130 (SIGINT), 143 (SIGTERM).
"""

from __future__ import annotations

import io
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress

import click

from fairhaul._core import RunError, ScenarioError, __version__
from fairhaul.cli.advise import advise
from fairhaul.cli.attack import attack
from fairhaul.cli.check import check
from fairhaul.cli.click_ext import HeadedGroup, explained, in_users_code
from fairhaul.cli.compare import compare
from fairhaul.cli.completion import completion
from fairhaul.cli.evaluate import evaluate
from fairhaul.cli.explain import explain
from fairhaul.cli.flows import flows
from fairhaul.cli.kernel import kernel
from fairhaul.cli.lab import lab
from fairhaul.cli.linux import linux
from fairhaul.cli.listings import list_, schema
from fairhaul.cli.mark import mark
from fairhaul.cli.new_controller import new_controller
from fairhaul.cli.new_stack import new_stack
from fairhaul.cli.report import report
from fairhaul.cli.reproduce import reproduce
from fairhaul.cli.results import results
from fairhaul.cli.run import run
from fairhaul.cli.score import score
from fairhaul.cli.studio import studio
from fairhaul.cli.sweep import sweep
from fairhaul.host.process import Refused
from fairhaul.record.libraries import LIBRARIES, MISSING
from fairhaul.text.printable import printable

FAILED, WRONG_INPUT = 1, 2


class Ended(KeyboardInterrupt):
    """A signal other than SIGINT asks the process to end; the argument is its number."""


@click.group(cls=HeadedGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="fairhaul %(version)s")
def fairhaul() -> None:
    """Simulate, compare and deploy congestion control for bulk data on fast, long paths."""


# The commands, as the help lists them.
GROUPS = {
    "Transfers": (explain, advise, compare, flows, kernel),
    "Controllers": (check, evaluate, attack, score, mark, new_controller, new_stack),
    "Simulation": (run, sweep, results, report, studio, linux, lab),
    "Papers": (reproduce,),
    "Reference": (list_, schema, completion),
}
for name, commands in GROUPS.items():
    for command in commands:
        fairhaul.add_command(command)
        fairhaul.headings[str(command.name)] = name


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its status."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        # An ignored signal stays ignored: nohup ignores SIGHUP.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _end)
    warnings.showwarning = _warn
    # numpy's linear algebra would start a thread for each core, and a run needs none of them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    status = status_of(args)
    runs = sys.modules.get("fairhaul.runs.runs")
    if runs is not None and runs.left_behind():
        # The interpreter would wait for a thread that does not end.
        with suppress(OSError):
            sys.stdout.flush()
        os._exit(status)
    sys.exit(status)


def _end(number: int, _frame: object) -> None:
    raise Ended(number)


def _warn(message: Warning | str, *_: object, **__: object) -> None:
    _say(f"fairhaul: warning: {message}")


def _say(text: str) -> None:
    """Print a line to standard error, which may be closed together with its terminal."""
    with suppress(OSError):
        click.echo(printable(text), err=True)


def status_of(args: Sequence[str] | None = None) -> int:
    """Run the command line and give its exit status."""
    try:
        status = fairhaul.main(args=args, prog_name="fairhaul", standalone_mode=False)
        sys.stdout.flush()
    except (click.ClickException, ScenarioError, Refused) as error:
        _show_mistake(error)
        return WRONG_INPUT
    except (RunError, OSError) as error:
        _show_failure(error)
        return FAILED
    except (KeyboardInterrupt, click.Abort) as error:
        _say("fairhaul: interrupted")
        return 128 + _signal_of(error)
    except UnicodeEncodeError as error:
        if "surrogates" not in error.reason:
            raise
        _say("fairhaul: this locale cannot write all of a name; set LC_ALL=C.UTF-8")
        return WRONG_INPUT
    except Exception as error:
        lacking = isinstance(error, ModuleNotFoundError) and error.name in LIBRARIES
        if not (lines := [f"fairhaul: {MISSING}"] if lacking else in_users_code(error)):
            raise
        _say("".join(lines).rstrip("\n"))
        return WRONG_INPUT if lacking else FAILED
    # What a command gives to `Context.exit`.
    return status if isinstance(status, int) else 0


def _show_mistake(error: click.ClickException | ScenarioError | Refused) -> None:
    if isinstance(error, click.ClickException):
        lines = io.StringIO()
        error.show(file=lines)
        _say(lines.getvalue().rstrip("\n"))
    elif isinstance(error, ScenarioError):
        for mistake in error.args:
            _say(str(mistake))
    else:
        _say(f"fairhaul: {error}")


def _show_failure(error: RunError | OSError) -> None:
    if isinstance(error, OSError):
        _drop_output()
        if isinstance(error, BrokenPipeError) and error.filename is None:
            return  # the reader of our output has closed it
        _say(f"fairhaul: {explained(error)}")
    else:
        _say("; ".join([f"fairhaul: {error}", *getattr(error, "__notes__", ())]))


def _signal_of(error: BaseException) -> int:
    """Give the number of the signal; click raises `Abort` instead of `KeyboardInterrupt`."""
    cause = error if isinstance(error, Ended) else error.__cause__
    return int(cause.args[0]) if isinstance(cause, Ended) else signal.SIGINT


def _drop_output() -> None:
    """Drop output that could not be printed, so that the exit does not report it again."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
