"""The scenarios that every transport stack can be judged by."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fairhaul.scenario.read import toml
from fairhaul.scenario.transport import read_stack
from fairhaul.studies.expectations.cases import files_of

FOLDER = Path(__file__).parent / "stacks"
MINE = "mine"
# What RFC 9438 asks of CUBIC, and no document of other controllers.
OF_CUBIC = frozenset(
    {
        "cubic-beta.toml",
        "growth-long.toml",
        "growth-short.toml",
        "rtt-falls.toml",
        "slow-start.toml",
    }
)
CUBIC = "cubic"
# What counts reductions. The window of a BBR falls at any time, without a loss or a mark.
OF_REDUCTIONS = frozenset(
    {"one-reduction.toml", "pause.toml", "reordering.toml", "reordering-time.toml"}
)
BBR = "bbr"
# What RFC 9000 and RFC 9002 ask of QUIC, and no document of TCP.
OF_QUIC = frozenset(
    {
        "mtu.toml",
        "mtu-falls.toml",
        "mtu-losses.toml",
        "mtu-probe.toml",
        "pause.toml",
        "reordering-time.toml",
        "time-threshold.toml",
    }
)
OF_TCP = frozenset({"smoltcp"})


def stack_cases(
    stack: str, files: Sequence[str], overrides: Sequence[tuple[str, str]]
) -> tuple[tuple[str, ...], list[tuple[str, str]]]:
    """Give the files, by default those for stacks, and the overrides that put a stack in them."""
    usual = [str(file) for file in files_for(stack, overrides)]
    return tuple(files or usual), [stack_setting(stack), *overrides]


def files_for(stack: str, overrides: Sequence[tuple[str, str]] = ()) -> list[Path]:
    """Give the scenarios for stacks that apply to one."""
    unfit = {name for names in unfit_for(stack, overrides).values() for name in names}
    return [file for file in files_of([FOLDER]) if file.name not in unfit]


def unfit_for(stack: str, overrides: Sequence[tuple[str, str]] = ()) -> dict[str, list[str]]:
    """Give the scenarios that do not apply to a stack, by the reason.

    A stack whose controller is not named is judged by all: its own may be CUBIC. So is a library,
    whose protocol is not known.
    """
    named = controller_of(stack, overrides)
    reasons = {
        "the controller is not CUBIC": OF_CUBIC if named and CUBIC not in named else frozenset(),
        "the window of a BBR falls without losses": OF_REDUCTIONS if BBR in named else frozenset(),
        "the stack is TCP": OF_QUIC if read_stack(stack).kind in OF_TCP else frozenset(),
    }
    return {reason: sorted(names) for reason, names in reasons.items() if names}


def controller_of(stack: str, overrides: Sequence[tuple[str, str]] = ()) -> str:
    """Give the controller that a stack is given by name; empty if it takes its own."""
    own = str(read_stack(stack).settings.get("controller", ""))
    return dict(overrides).get(f"flow.{MINE}.stack.controller", own)


def stack_setting(stack: str, flow: str = MINE) -> tuple[str, str]:
    """Give the override by which a flow gets a stack.

    Raises:
        ScenarioError: the text is no stack; `args` are all mistakes.
    """
    return f"flow.{flow}.stack", toml(read_stack(stack).value)
