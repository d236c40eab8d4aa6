"""A paper reproduced: all its experiments run together, and the result."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

from fairhaul import _core
from fairhaul.files.files import replace as put
from fairhaul.jobs.values import Running, RunOptions
from fairhaul.report.outcome import StudyResult
from fairhaul.runs.runs import refuse_if_impossible
from fairhaul.scenario.engines import FACTS, Engine, in_order
from fairhaul.scenario.read import Scenario, ScenarioError, usual_profile
from fairhaul.studies.papers import work
from fairhaul.studies.papers.experiment import Experiment
from fairhaul.studies.papers.folder import Paper, on_a_kernel, paper_of
from fairhaul.studies.papers.outcome import outcome_of
from fairhaul.studies.papers.results import Claim, Results, Verdict
from fairhaul.studies.papers.table import CALLED, SIMULATOR, Table
from fairhaul.studies.papers.work import Kept, Task
from fairhaul.text.nearest import hint

# What the simulator predicts of real hosts, stored before they run.
PREDICTION = "prediction.json"
# What tables call the hosts of each engine with a kernel.
NAMES: Mapping[Engine, str] = {"linux": "linux", "lab": "kernel"}
# The answer of a paper with one claim.
ALONE = {
    Verdict.HOLDS: "holds here",
    Verdict.PART: "holds here in part only",
    Verdict.NOT: "does not hold here",
    Verdict.OPEN: "is undecided by these runs",
}


@dataclass(frozen=True, kw_only=True)
class KernelRuns:
    """The results of hosts with a kernel, in `runs` of each case.

    `name` is what tables call them. `uncounted` says which runs are invalid; `lag_s` is the largest
    of the others, at the 99th percentile, if they were in real time.
    """

    name: str
    results: Results
    runs: int
    uncounted: Sequence[str]
    lag_s: float | None

    def how(self) -> str:
        """Give the number of runs, and how late their packets were."""
        count = f"{self.runs} run{'s' * (self.runs > 1)} of {CALLED[self.name]}"
        if self.lag_s is None:
            return count
        return f"{count} (packets late by {1e6 * self.lag_s:.0f} us at most, at p99)"


@dataclass(frozen=True, kw_only=True)
class Part:
    """An experiment that was run, and its results.

    With `kernels`, the tables have their results beside the simulator's, and the claims are judged
    for each.
    """

    name: str
    experiment: Experiment
    seeds: int
    scenarios: Sequence[Scenario]
    results: Results
    tables: Sequence[Table]
    claims: Sequence[Claim]
    kernels: Sequence[KernelRuns] = ()

    def how(self) -> str:
        """Give the number of seeds, and the length of the runs."""
        lengths = [scenario.duration_s for scenario in self.scenarios]
        least, most = min(lengths), max(lengths)
        length = f"{least:.4g} s" if least == most else f"{least:.4g} to {most:.4g} s"
        real = "".join(f", {kernel.how()}" for kernel in self.kernels)
        return f"{self.seeds} seed{'s' * (self.seeds > 1)}{real} of {length}"


@dataclass(frozen=True, kw_only=True)
class Reproduction(StudyResult):
    """A paper reproduced: its experiments, the command that repeats it, and the cost of its runs.

    The cost is in seconds by the clock and of the processors, and in packets.
    """

    paper: Paper
    quick: bool
    parts: Sequence[Part]
    command: str
    runs: int
    clock_s: float
    cpu_s: float
    packets: int

    @property
    def tables(self) -> list[Table]:
        """The tables of all experiments."""
        return [table for part in self.parts for table in part.tables]

    @property
    def claims(self) -> list[Claim]:
        """The claims of the paper, with their verdicts."""
        return [claim for part in self.parts for claim in part.claims]

    @property
    def how(self) -> str:
        """Describe how it was run."""
        parts = "; ".join(f"{part.name}: {part.how()}" for part in self.parts)
        form = "Short form" if self.quick else "Full form"
        note = " The full form has more seeds, longer runs and narrower intervals."
        several = max(part.seeds for part in self.parts) > 1
        interval = "; mean and 95 % interval" if several else ""
        return f"{self.paper.key}. {form}: {parts}{interval}.{note if self.quick else ''}"

    def answer(self) -> str:
        """Answer the paper's question: which of its claims hold here, and which do not."""
        if not self.claims:
            return self._numbers()
        held = self._texts_of(Verdict.HOLDS)
        fallen = self._texts_of(Verdict.PART, Verdict.NOT)
        left = len(self._texts_of(Verdict.OPEN))
        if len(self.claims) == 1:
            (claim,) = self.claims
            return f"The claim of the paper {ALONE[claim.verdict]}: {claim.text}."
        text = f"{len(held) or 'None'} of {len(self.claims)} claims of the paper "
        text += f"hold{'s' * (len(held) == 1)} here"
        text += f": {'; '.join(held)}." if held else "."
        text += f" In part only, or not at all: {'; '.join(fallen)}." if fallen else ""
        if left and (held or fallen):
            return f"{text} {left} more remain{'s' * (left == 1)} undecided by these runs."
        return f"{text} These runs are too few to decide any." if left else text

    def _numbers(self) -> str:
        """Answer without claims: how many of the paper's numbers lie in our intervals."""
        cells = [cell for table in self.tables for row in table.rows for cell in row.cells]
        judged = [cell.agrees() for cell in cells if cell.paper]
        if not judged:
            return "The paper has no claim and no number for this experiment."
        if None in judged:
            return "These runs are too few to compare the paper's numbers with."
        count = f"{sum(map(bool, judged))} of the {len(judged)}"
        whose = "the kernel's" if any(part.kernels for part in self.parts) else "our"
        return f"{count} numbers of the paper lie in {whose} intervals."

    def _texts_of(self, *verdicts: Verdict) -> list[str]:
        return [claim.text for claim in self.claims if claim.verdict in verdicts]

    def differences(self) -> list[str]:
        """Give a line for each value of the paper outside our 95 % interval."""
        if min(part.seeds for part in self.parts) == 1:
            return ["One run gives no interval, so nothing is compared."]
        several = sum(bool(part.tables) for part in self.parts) > 1
        return [
            f"{part.name}: {line}" if several else line
            for part in self.parts
            for table in part.tables
            for line in table.differences()
        ]

    outcome = outcome_of

    def values(self) -> dict[str, Any]:
        """Give the numbers, beside those of the paper."""
        first = self.parts[0]
        return {
            "paper": self.paper.name,
            "quick": self.quick,
            "seeds": first.seeds,
            "duration_s": first.scenarios[0].duration_s,
            "how": self.how,
            "tables": [table.to_dict() for table in self.tables],
            "claims": [claim.to_dict() for claim in self.claims],
        }


def reproduce(
    paper: str | PathLike[str],
    *,
    quick: bool = False,
    seeds: int | None = None,
    only: Sequence[str] = (),
    overrides: Mapping[str, object] | None = None,
    engine: Engine | Sequence[Engine] = "sim",
    **options: Unpack[RunOptions],
) -> Reproduction:
    """Reproduce the tables of `paper` beside its own numbers.

    All experiments are one list of runs, so that no core waits.

    Args:
        paper: one of `PAPERS`, such as `"fhstcp"`, or a folder with a `paper.toml`.
        quick: fewer seeds and shorter runs.
        seeds: the number of runs of each scenario; by default the experiment's own.
        only: the names of the experiments to run; by default all of the paper.
        overrides: further keys to change in their scenarios.
        engine: `"sim"`, or with it `"linux"`, `"lab"` or both. With these, the simulator predicts
            and kernels run the same scenarios; `seeds` is then the number of kernel runs.
        options: how the runs are run, as `fairhaul.jobs.values.Running` has it. With a kernel, the
            prediction is in the directory before the kernel runs, by default in the working
            directory.

    Raises:
        ScenarioError: there is no such paper or experiment, the paper is wrong, or it cannot run in
            an engine with a kernel.
        Refused: such an engine cannot run here; nothing was changed.
        RunError: a run failed.
    """
    of, running = paper_of(paper), Running.of(options)
    given = (engine,) if isinstance(engine, str) else engine
    hosts = [each for each in in_order(given) if FACTS[each].kernel]
    command = _command(of, quick, seeds, only, overrides or {}, hosts)
    tasks, counts = _planned(of, choose(of, only, hosts), hosts, quick, seeds, overrides or {})
    for host in hosts:
        refuse_if_impossible(host, [case.scenario for task in tasks for case in task.cases])
    before = time.perf_counter()
    runs = work.run(tasks, running)
    parts = [_part(task, work.gather(runs, task.name, task.experiment.bounds)) for task in tasks]
    if hosts:
        parts = _predicted(parts, counts, command, running.out or Path())
    for host in hosts:
        of_kernel = work.run([replace(t, seeds=counts[t.name]) for t in tasks], running, host)
        parts = [_beside(part, host, counts[part.name], of_kernel) for part in parts]
        runs += of_kernel
    return Reproduction(
        paper=of,
        quick=quick,
        parts=parts,
        command=command,
        runs=len(runs),
        clock_s=time.perf_counter() - before,
        cpu_s=sum(run.cpu_s for run in runs),
        packets=sum(run.packets for run in runs),
    )


def _planned(
    paper: Paper,
    experiments: Mapping[str, Experiment],
    hosts: Sequence[Engine],
    quick: bool,
    seeds: int | None,
    overrides: Mapping[str, object],
) -> tuple[list[Task], dict[str, int]]:
    """Plan the simulator's runs, and how many runs of each case the kernels make."""
    tasks, counts = [], {}
    for name, experiment in experiments.items():
        how = experiment.on(hosts) if hosts else None
        counts[name] = how.runs(quick, seeds) if how else 0
        own = experiment.quick_seeds if quick else experiment.seeds
        settings = {**(how.settings(quick) if how else {}), **overrides}
        cases = experiment.cases(quick, settings)
        quoting = experiment.quoting([case.scenario for case in cases])
        tasks.append(paper.task(name, quoting, cases, own if hosts else seeds or own))
    return tasks, counts


def _part(task: Task, results: Results) -> Part:
    return Part(
        name=task.name,
        experiment=task.experiment,
        seeds=task.seeds,
        scenarios=[case.scenario for case in task.cases],
        results=results,
        tables=task.experiment.tables(results),
        claims=task.experiment.claims(results),
    )


def _predicted(
    parts: Sequence[Part], counts: Mapping[str, int], command: str, out: Path
) -> list[Part]:
    """Predict the tables of the kernel's runs, and store the prediction before any of them."""
    expected = [
        replace(
            part,
            tables=[t.predicting(part.seeds, counts[part.name]) for t in part.tables],
            claims=_named(part.claims, SIMULATOR),
        )
        for part in parts
    ]
    tables = {part.name: [table.to_dict() for table in part.tables] for part in expected}
    content = {"version": _core.__version__, "command": command, "predicted": tables}
    out.mkdir(parents=True, exist_ok=True)
    put(out / PREDICTION, f"{json.dumps(content, indent=1, allow_nan=False)}\n".encode())
    return expected


def _named(claims: Sequence[Claim], name: str) -> list[Claim]:
    return [replace(claim, text=f"{claim.text} ({name})") for claim in claims]


def _beside(part: Part, engine: Engine, count: int, runs: Sequence[Kept]) -> Part:
    """Put the runs of a kernel beside what a part has already."""
    experiment, mine = part.experiment, [run for run in runs if run.name == part.name]
    results = work.gather(mine, part.name, part.experiment.bounds)
    name = NAMES[engine]
    lags_s = [run.lag_s or 0.0 for run in mine if run.reasons is None]
    kernel = KernelRuns(
        name=name,
        results=results,
        runs=count,
        uncounted=work.uncounted(mine),
        lag_s=max(lags_s, default=0.0) if FACTS[engine].real_time else None,
    )
    tables = [
        table.beside(real, name)
        for table, real in zip(part.tables, experiment.tables(results), strict=True)
    ]
    return replace(
        part,
        tables=tables,
        claims=[*part.claims, *_named(experiment.claims(results), name)],
        kernels=[*part.kernels, kernel],
    )


def choose(
    paper: Paper, only: Sequence[str], hosts: Sequence[Engine] = ()
) -> dict[str, Experiment]:
    """Give the experiments of `paper`, or `only` some of them, that engines with a kernel can run.

    Raises:
        ScenarioError: a name is wrong, or `hosts` cannot run it.
    """
    known = paper.experiments
    wrong = [name for name in only if name not in known]
    if wrong:
        reasons = (
            f"{paper.name} has no experiment {name!r}; {hint(name, known)}" for name in wrong
        )
        raise ScenarioError(*reasons)
    able = [name for name, experiment in known.items() if experiment.on(hosts) is not None]
    unable = [name for name in only if name not in able]
    where = " and ".join(FACTS[engine].title for engine in hosts)
    if hosts and unable:
        reasons = (f"{name} of {paper.name} runs in the simulator alone" for name in unable)
        able_text = f"in {where}: {', '.join(able)}" if able else _papers_on_a_kernel()
        raise ScenarioError(*reasons, able_text)
    if hosts and not able:
        raise ScenarioError(f"{paper.name} has no experiment for {where}; {_papers_on_a_kernel()}")
    names = able if hosts else known
    return {name: known[name] for name in names if not only or name in only}


def _papers_on_a_kernel() -> str:
    return f"these papers have: {', '.join(on_a_kernel())}"


def _command(
    paper: Paper,
    quick: bool,
    seeds: int | None,
    only: Sequence[str],
    changed: Mapping[str, object],
    hosts: Sequence[Engine],
) -> str:
    words = ["fairhaul", "reproduce", paper.argument]
    words += [] if (usual := usual_profile()) is None else ["--profile", usual]
    words += ["--engine", ",".join(["sim", *hosts])] if hosts else []
    words += ["--quick"] if quick else []
    words += [word for name in only for word in ("--only", name)]
    words += [] if seeds is None else ["--seeds", str(seeds)]
    command = shlex.join(words)
    return f"{command}  # with {dict(changed)}" if changed else command
