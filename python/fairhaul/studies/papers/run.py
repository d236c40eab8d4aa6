"""A paper reproduced: all its experiments run together, and the result."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairhaul.jobs.store import build_of
from fairhaul.report.outcome import Outcome, StudyResult
from fairhaul.runs.runs import refuse_if_impossible
from fairhaul.scenario.engines import FACTS, Engine, in_order
from fairhaul.scenario.read import ScenarioError
from fairhaul.studies.papers import on_a_kernel, prediction, work
from fairhaul.studies.papers.axes import Case
from fairhaul.studies.papers.experiment import Experiment, OnHosts
from fairhaul.studies.papers.results import Claim, Results, Verdict
from fairhaul.studies.papers.table import CALLED, SIMULATOR, Table
from fairhaul.studies.papers.work import Task
from fairhaul.text.nearest import hint

if TYPE_CHECKING:
    from fairhaul.jobs.values import Running
    from fairhaul.scenario.read import Scenario
    from fairhaul.studies.papers.work import Kept

# What tables call the hosts of each engine with a kernel.
NAMES: Mapping[Engine, str] = {"linux": "linux", "lab": "kernel"}


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A paper: its title, its key among the sources, its question and its experiments.

    `argument` is what the command line takes for it: the name of a paper that comes with Fairhaul,
    or a folder. What is in `folder` computes numbers.
    """

    name: str
    title: str
    key: str
    question: str
    experiments: Mapping[str, Experiment]
    argument: str
    folder: Path

    def task(self, name: str, experiment: Experiment, cases: Sequence[Case], seeds: int) -> Task:
        """Plan an experiment, which may differ from the paper's own of this name."""
        files = (file for end in ("py", "toml") for file in self.folder.rglob(f"*.{end}"))
        by = build_of(experiment.numbers, *files)
        return Task(
            paper=self.name, name=name, experiment=experiment, cases=cases, seeds=seeds, by=by
        )


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
class Cost:
    """The cost of the runs: seconds by the clock and of the processors, and packets."""

    runs: int
    clock_s: float
    cpu_s: float
    packets: int


@dataclass(frozen=True, kw_only=True)
class Reproduction(StudyResult):
    """A paper reproduced: its experiments, the command that repeats it, and its cost."""

    paper: Paper
    quick: bool
    parts: Sequence[Part]
    command: str
    cost: Cost

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
        count = f"{len(held) or 'None'} of {len(self.claims)}"
        of = "claim" if len(self.claims) == 1 else "claims"
        text = f"{count} {of} of the paper hold{'s' * (len(held) == 1)} here"
        text += f": {'; '.join(held)}." if held else "."
        if fallen:
            text += f" In part only, or not at all: {'; '.join(fallen)}."
        if left:
            text += f" {left} more remain undecided by these runs." if held or fallen else ""
            text += "" if held or fallen else " These runs are too few to decide any."
        return text

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
        return [line for table in self.tables for line in table.differences()]

    def outcome(self) -> Outcome:
        """Put the reproduction into words and tables."""
        from fairhaul.studies.papers.outcome import outcome_of

        return outcome_of(self)

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
    paper: Paper,
    *,
    quick: bool,
    seeds: int | None,
    only: Sequence[str],
    set: Mapping[str, object],  # noqa: A002
    running: Running,
    on: Sequence[Engine] = ("sim",),
) -> Reproduction:
    """Run the experiments of `paper`, or `only` some, as one list of runs.

    So no core waits, and the remaining time is that of the whole paper. With a kernel among the
    engines the simulator predicts first, and its prediction is in the directory of the results, or
    in the working directory, before the kernel runs.
    """
    hosts = [engine for engine in in_order(on) if FACTS[engine].kernel]
    tasks = [
        _task(paper, name, experiment, quick, None if hosts else seeds, set, hosts)
        for name, experiment in choose(paper, only, hosts).items()
    ]
    for engine in hosts:
        refuse_if_impossible(engine, [case.scenario for task in tasks for case in task.cases])
    command = _command(paper, quick, seeds, only, set, hosts)
    before = time.perf_counter()
    runs = work.run(tasks, running)
    parts = [_part(task, work.gather(runs, task.name, task.experiment.bounds)) for task in tasks]
    if hosts:
        counts = {task.name: _on_hosts(task, hosts).runs(quick, seeds) for task in tasks}
        expected = _predicted(parts, counts, command, running.out or Path())
        asked = [replace(task, seeds=counts[task.name]) for task in tasks]
        parts = [
            replace(part, tables=expected[part.name], claims=_named(part.claims, SIMULATOR))
            for part in parts
        ]
        for engine in hosts:
            of_kernel = work.run(asked, running, engine)
            parts = [_beside(part, engine, counts[part.name], of_kernel) for part in parts]
            runs += of_kernel
    cost = Cost(
        runs=len(runs),
        clock_s=time.perf_counter() - before,
        cpu_s=sum(run.cpu_s for run in runs),
        packets=sum(run.packets for run in runs),
    )
    return Reproduction(paper=paper, quick=quick, parts=parts, command=command, cost=cost)


def _task(
    paper: Paper,
    name: str,
    experiment: Experiment,
    quick: bool,
    seeds: int | None,
    changed: Mapping[str, object],
    hosts: Sequence[Engine],
) -> Task:
    how = experiment.on(hosts) if hosts else None
    settings = {**how.settings(quick), **changed} if how else changed
    count = seeds or (experiment.quick_seeds if quick else experiment.seeds)
    cases = experiment.cases(quick, settings)
    quoting = experiment.quoting([case.scenario for case in cases])
    return paper.task(name, quoting, cases, count)


def _on_hosts(task: Task, hosts: Sequence[Engine]) -> OnHosts:
    how = task.experiment.on(hosts)
    assert how is not None, "only experiments that hosts with a kernel can run are chosen for them"
    return how


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
) -> dict[str, list[Table]]:
    """Predict the tables of the kernel's runs, and store the prediction before any of them."""
    expected = {
        part.name: [
            prediction.predicted(table, part.seeds, counts[part.name]) for table in part.tables
        ]
        for part in parts
    }
    prediction.store(out, command, expected)
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
        prediction.beside(table, real, name)
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
    words += ["--engine", ",".join(["sim", *hosts])] if hosts else []
    words += ["--quick"] if quick else []
    words += [word for name in only for word in ("--only", name)]
    words += [] if seeds is None else ["--seeds", str(seeds)]
    command = " ".join(words)
    return f"{command}, with {dict(changed)}" if changed else command
