"""What a check leaves of an expectation that is not met: a run of it, to look into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from shlex import join

from fairhaul.files.files import replace
from fairhaul.record.record import Record
from fairhaul.record.trace import write, write_logs
from fairhaul.runs.runs import for_each
from fairhaul.scenario.read import ScenarioError, toml, variant, with_seeds
from fairhaul.studies.expectations import NOT_MET, Judged
from fairhaul.studies.expectations.checking import SEEDS, Check, Checked, CheckedCase
from fairhaul.studies.expectations.reducing import MOST_TRIALS, Reduced, reduce
from fairhaul.studies.expectations.words import closed

SCENARIO, COMMAND, CAPTURE, WORDS = "scenario.toml", "command.sh", "packets.pcapng", "not-met.txt"


def write_evidence(
    done: Check,
    overrides: Sequence[tuple[str, str]],
    flow: str,
    into: Path,
    trials: int = MOST_TRIALS,
) -> list[Path]:
    """Write a folder for each case in which something is not met, and give these folders.

    It has the scenario, reduced as far as the same is not met in it, what is not met, the capture
    of the packets of `flow` in the run that is furthest from the bound, with the keys of its
    encryption, the logs of its stack, and the command that repeats that run. What a stack does not
    give is missing. A run in real time has no folder.

    Args:
        done: a check whose engines include the simulator; nothing is written of others.
        overrides: what the check has set in all scenarios.
        flow: the flow whose packets are captured, or a pattern of names, whose first it is then.
        into: the folder of these folders; what is in one of the same name is replaced.
        trials: how many scenarios are tried at most to reduce one.
    """
    found = [case for case in done.cases if _not_met(case)]
    return [
        _write(case, overrides, flow, into / _name(case), (done.seeds, trials)) for case in found
    ]


def _not_met(case: CheckedCase) -> list[Checked]:
    of_sim = (of for of in case.expectations if "sim" in of.by)
    return [of for of in of_sim if of.by["sim"].verdict == NOT_MET]


def _name(case: CheckedCase) -> str:
    points = variant(case.case.scenario).values()
    return "-".join([Path(case.case.file).stem, *(_words(value) for value in points)])


def _write(
    case: CheckedCase,
    overrides: Sequence[tuple[str, str]],
    flow: str,
    folder: Path,
    most: tuple[int, int],
) -> Path:
    points: Mapping[str, object] = variant(case.case.scenario)
    folder.mkdir(parents=True, exist_ok=True)
    settings = [*overrides, *((key, toml(value)) for key, value in points.items())]
    seeds, trials = most
    smaller = _reduced(case, settings, flow, (min(seeds, SEEDS), trials), folder / SCENARIO)
    shown = case
    if smaller is None:
        replace(folder / SCENARIO, case.case.scenario.source()[0].encode())
    else:
        shown, settings = smaller.checked, list(smaller.settings)
    failed = _not_met(shown)
    first = failed[0]
    scenario = with_seeds(shown.case.scenario, seeds)[_worst(first, first.by["sim"])]
    names = (of["name"] for of in scenario.described["flows"])
    traced = next(name for name in names if fnmatchcase(name, flow))

    def keep(_: int, record: Record) -> None:
        write(record, traced, "pcapng", folder / CAPTURE)
        write_logs(record, folder / f"{traced}.qlog")

    for_each([scenario], keep, jobs=1, trace=traced)
    pairs = [f"{key}={value}" for key, value in settings] + [f"seed={scenario.seed}"]
    sets = [word for pair in pairs for word in ("--set", pair)]
    command = join(["fairhaul", "run", SCENARIO, *sets, "--trace", traced, "--out", "run"])
    replace(folder / COMMAND, f'#!/bin/sh -e\ncd "$(dirname "$0")"\n{command}\n'.encode())
    (folder / COMMAND).chmod(0o755)
    said = [_sentence(of) for of in _not_met(case)]
    if smaller is not None and smaller.changes:
        said += [f"Reduced to a scenario {', '.join(smaller.changes)}, in which:\n"]
        said += [_sentence(of) for of in failed]
    replace(folder / WORDS, "".join(said).encode())
    return folder


def _reduced(
    case: CheckedCase,
    settings: Sequence[tuple[str, str]],
    flow: str,
    most: tuple[int, int],
    file: Path,
) -> Reduced | None:
    try:
        return reduce(case, settings, flow, most, file)
    except ScenarioError:
        # It needs files beside it, or settings for what it has no more.
        return None


def _worst(checked: Checked, judged: Judged) -> int:
    """Give the place of the run that is furthest from the bound, or that has no number."""
    of = checked.expectation

    def outside(value: float | None) -> float:
        if value is None:
            return float("inf")
        low = of.at_least - value if of.at_least is not None else 0.0
        high = value - of.at_most if of.at_most is not None else 0.0
        return max(low, high)

    return max(range(len(judged.values)), key=lambda place: outside(judged.values[place]))


def _words(value: object) -> str:
    return "".join(char if char.isalnum() else "-" for char in toml(value)).strip("-")


def _sentence(checked: Checked) -> str:
    of, judged = checked.expectation, checked.by["sim"]
    numbers = ", ".join("none" if value is None else of.form(value) for value in judged.values)
    found = f"{of.number} is {numbers}{closed(judged)}"
    return f"{of.what} ({of.source}): {found}; expected {of.bound()}\n"
