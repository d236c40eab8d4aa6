"""`python -m tools.start NAME`: run a sweep over scenarios/start, and print its tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import click

from fairhaul.cli.options import jobs_option
from fairhaul.cli.progress import progress
from fairhaul.jobs.values import Running
from tools import ROOT
from tools.start import probe_rtt
from tools.start.compared import parts, ratios
from tools.start.figures import write
from tools.start.result import Started
from tools.start.rules import LIMITED, RULES, STANDARD, Keys
from tools.start.runs import Case, Runs, Sweep, is_short, runs_of
from tools.start.tables import by_value, ends, losses, sentences, summary

OUT = ROOT / "out" / "start"
# The packets that fit the path of `depth`: 100 Mbit/s for 100 ms.
DEPTH_BDP = 833.0
ACKS: dict[str, Keys] = {
    "1": {"flow.F.delayed_ack": False},
    "2": {"flow.F.delayed_ack": "25 ms"},
    "10": {"flow.F.delayed_ack": "25 ms", "flow.F.ack_every": 10},
}
ENDS: dict[str, Keys] = {
    f"{acks} per ACK, {'paced' if pacing == 'fq' else 'not paced'}": {
        **keys,
        "flow.F.pacing": pacing,
    }
    for acks, keys in ACKS.items()
    for pacing in ("none", "fq")
}
PACINGS: dict[str, Keys] = {
    "not paced": {},
    "fq": {"flow.F.pacing": "fq"},
    "spread": {"flow.F.startup": "paced"},
}
TITLE = "Completion time, relative to the standard"
# The duration of `sized`, the longest of all scenarios.
LONGEST_RUN_S = 150.0
# The flow is absent: what it sends then is nothing beside the others.
ABSENT = "absent"
SWEEPS = {
    "sized": Sweep(name="sized", rules=list(RULES)),
    "application": Sweep(name="application", rules=list(LIMITED), rate="100 Mbit/s", rtt="100 ms"),
    "cross": Sweep(
        name="cross",
        rules=[*RULES, ABSENT],
        rate="200 Mbit/s",
        rtt="40 ms",
        own={ABSENT: {"flow.F.traffic": "1 kB"}},
    ),
    "jitter": Sweep(name="jitter", rules=list(RULES), rate="50 Mbit/s", rtt="60 ms"),
    "depth": Sweep(
        name="depth",
        rules=[STANDARD, "hystart++", "search", "search 3.1"],
        rate="100 Mbit/s",
        rtt="100 ms",
        more=ENDS,
    ),
    "windows": Sweep(name="windows", rules=list(PACINGS), own=PACINGS),
}
NAMES = [*SWEEPS, probe_rtt.NAME]


def completion(run: Started) -> float:
    """Give the time of the transfer; one that did not end counts as long as the longest run."""
    return LONGEST_RUN_S if run["completion_s"] is None else run["completion_s"]


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(NAMES))
@click.option("--seeds", type=click.IntRange(min=1), default=10, show_default=True)
@click.option("--rate", "rates", multiple=True, help="sized: only this rate, as `10 Mbit/s`.")
@click.option("--size", "sizes", multiple=True, help="sized: only this size, as `1 MB`.")
@jobs_option
def main(
    names: Sequence[str], seeds: int, rates: Sequence[str], sizes: Sequence[str], jobs: int | None
) -> None:
    """Run sweeps (all of them by default), and print their tables in Markdown.

    Results are kept in out/start, so that an interrupted command goes on where it ended. Figures
    are drawn into docs/images.
    """
    for name in names or NAMES:
        with progress(name) as on_progress:
            running = Running(out=OUT / name, jobs=jobs, on_progress=on_progress)
            if name == probe_rtt.NAME:
                lines = probe_rtt.report(seeds, running)
            else:
                runs = runs_of(SWEEPS[name], seeds, running, _part(name, rates, sizes))
                lines = REPORTS[name](name, runs)
            text = "\n".join(lines)
        click.echo(f"{name}\n\n{text}\n")


def _part(name: str, rates: Sequence[str], sizes: Sequence[str]) -> Callable[[Case], bool]:
    if name != "sized":
        return lambda _: True

    def is_wanted(case: Case) -> bool:
        rate, _, _, size = case
        return is_short(case) and (not rates or rate in rates) and (not sizes or size in sizes)

    return is_wanted


def _sized(name: str, runs: Runs) -> Iterator[str]:
    yield from summary(runs, STANDARD, completion, "completion time")
    yield ""
    yield from sentences(ratios(runs, STANDARD, completion), STANDARD, "completion time")
    for axis, called in enumerate(("rate", "round trip", "buffer", "size")):
        yield ""
        yield from by_value(runs, axis, STANDARD, completion, called)
    write(name, dict(parts(runs, 3)), STANDARD, completion, TITLE)


def _transfers(name: str, runs: Runs) -> Iterator[str]:
    yield from summary(runs, STANDARD, completion, "completion time")
    yield ""
    yield from sentences(ratios(runs, STANDARD, completion), STANDARD, "completion time")
    yield ""
    yield from by_value(runs, 0, STANDARD, completion, "case")
    write(name, dict(parts(runs, 0)), STANDARD, completion, TITLE)


def _cross(name: str, runs: Runs) -> Iterator[str]:
    beside = {case: {rule: of[rule] for rule in of if rule != ABSENT} for case, of in runs.items()}
    yield from _transfers(name, beside)
    yield ""
    yield from by_value(
        runs, 0, ABSENT, others, "goodput of the others relative to runs without the flow"
    )
    yield ""
    yield from sentences(ratios(runs, ABSENT, others), ABSENT, "goodput of the others")


def others(run: Started) -> float:
    """Give the goodput of the other flows."""
    return run["others_bps"]


def goodput(run: Started) -> float:
    """Give the goodput of the flow once its application writes all."""
    return max(run["goodput_bps"], 1.0)


def _application(name: str, runs: Runs) -> Iterator[str]:
    yield from summary(runs, STANDARD, goodput, "goodput", ("less in", "more in"))
    yield ""
    yield from sentences(ratios(runs, STANDARD, goodput), STANDARD, "goodput")
    yield ""
    yield from by_value(runs, 0, STANDARD, goodput, "written at first")
    yield ""
    yield from ends(runs, DEPTH_BDP)
    title = "Goodput from 4 to 6 s, relative to the standard"
    write(name, dict(parts(runs, 0)), STANDARD, goodput, title)


def waiting(run: Started) -> float:
    """Give the longest time in the queue."""
    return max(run["delay_s"], 1e-6)


def _depth(name: str, runs: Runs) -> Iterator[str]:
    for way, part in parts(runs, 0):
        yield f"{way}:"
        yield ""
        yield from ends({case[1:]: of for case, of in part.items()}, DEPTH_BDP)
        yield ""
    yield "Beyond chance:"
    yield ""
    yield from losses(runs, STANDARD)
    title = "Largest queueing delay, relative to the standard"
    write(name, dict(parts(runs, 1)), STANDARD, waiting, title)


def _windows(name: str, runs: Runs) -> Iterator[str]:
    base = next(iter(PACINGS))
    yield from summary(runs, base, completion, "completion time")
    yield ""
    yield from sentences(ratios(runs, base, completion), base, "completion time")
    yield ""
    yield from by_value(_over_ten(runs), 2, "10", completion, "initial window")
    write(name, dict(parts(runs, 2)), base, completion, f"Completion time, relative to {base}")


def _over_ten(runs: Runs) -> Runs:
    """Give the runs without pacing by window: the rules are windows, and the cases all else."""
    found: dict[Case, dict[str, Sequence[Started]]] = {}
    for (buffer, size, window), of in runs.items():
        for rule, each in of.items():
            found.setdefault((buffer, size, rule), {})[window] = each
    return found


REPORTS: Mapping[str, Callable[[str, Runs], Iterator[str]]] = {
    "sized": _sized,
    "application": _application,
    "cross": _cross,
    "jitter": _transfers,
    "depth": _depth,
    "windows": _windows,
}

if __name__ == "__main__":
    main(prog_name="python -m tools.start")
