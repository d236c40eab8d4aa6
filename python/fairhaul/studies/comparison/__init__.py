"""Controllers compared over one bottleneck: shares, harm to others, completion times.

The parts: `question` reads the question, `plan` runs it long enough, `figures` computes, `answer`
writes a sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import index as whole
from typing import Any, Unpack

from fairhaul.jobs.values import Running, RunOptions
from fairhaul.measures.types import ControllerRow
from fairhaul.report.outcome import StudyResult
from fairhaul.scenario import own
from fairhaul.scenario.engines import FACTS, Engine
from fairhaul.scenario.profiles import TUNED
from fairhaul.scenario.read import ScenarioError
from fairhaul.statistics.estimate import LEAST_RUNS
from fairhaul.studies.comparison.answer import answer
from fairhaul.studies.comparison.numbers import HARM, figures, rows
from fairhaul.studies.comparison.outcome import outcome_of
from fairhaul.studies.comparison.plan import run_cases
from fairhaul.studies.comparison.question import BUDGET, Question, read_question

__all__ = ["Comparison", "compare"]


@dataclass(frozen=True, kw_only=True)
class Comparison(StudyResult):
    """The result of a comparison: `rows` has the figures of each controller, in the given order.

    Harm is (the goodput of the competing flows beside as many standard TCP flows - their goodput
    beside this controller) / the former. Runs, trial runs included, cost at most the budget.

    Every run lasts `duration_s`, and is measured after `warmup_s`. `stationary` is false if a flow
    had fewer than 20 cycles or a number that is not known, or fewer than 200 round trips were
    measured: the answer then claims nothing about the long term of that case.
    """

    question: Question
    rows: Sequence[ControllerRow]
    answer: str
    seeds: int
    duration_s: float
    warmup_s: float
    packets: int
    cpu_s: float
    stationary: bool
    engine: Engine

    outcome = outcome_of

    def values(self) -> dict[str, Any]:
        """Give the numbers; keys carry their units."""
        return {
            "question": self.question.to_dict(),
            "stationary": self.stationary,
            "controllers": list(self.rows),
            "harm_is": HARM if self.question.others is not None else None,
            "engine": self.engine,
            "seeds": self.seeds,
            "duration_s": self.duration_s,
            "warmup_s": self.warmup_s,
            "packets": self.packets,
            "cpu_s": self.cpu_s,
        }


def compare(  # noqa: PLR0913 - one argument for each word of the question
    controllers: Sequence[str | type[own.Controller]],
    *,
    rate: str,
    rtt: str | Sequence[str],
    buffer: str,
    size: str = "1TB",
    against: str | None = None,
    stacks: Sequence[str] = (),
    profile: str = TUNED,
    pacing: str | None = None,
    mtu: int | None = None,
    seeds: int = LEAST_RUNS,
    budget: str = BUDGET,
    duration: str | None = None,
    engine: Engine = "sim",
    **options: Unpack[RunOptions],
) -> Comparison:
    """Compare congestion controllers over one DropTail bottleneck.

    Each controller runs alone, one flow for each round-trip time, and with `against` also beside
    those flows, whose round-trip times are spread evenly over the range of `rtt`. All runs last
    until the slowest flow has had 20 cycles and 200 round trips, or until all cost `budget`.
    Source: Jain's index [JAIN]; harm [WARE 2019], with another reference.

    Args:
        controllers: names such as `"fhstcp"` and `"fhstcp:c=20"`, or classes of your own.
        rate: the rate of the bottleneck, such as `"622 Mbit/s"`.
        rtt: the two-way propagation of the flows: `"80ms,140ms"` or `["80 ms", "140 ms"]`.
        buffer: the buffer of the bottleneck: `"20 ms"`, `"64 kB"`, `"100 packets"` or `"1 bdp"`.
        size: the size of the transfer whose completion time is computed, such as `"1 TB"`.
        against: the competing flows, such as `"4xreno"`.
        stacks: transport stacks that are compared as well, such as `"quinn:controller=bbr"`.
        profile: that of all flows, by default hosts with Linux whose buffers limit nothing.
        pacing: `"fq"` or `"quic"`, of the senders of all controllers, not of competing flows.
        mtu: the size of data packets on the wire, bytes; by default 1000, or 1500 with stacks.
        seeds: the number of runs of each case; at least 5 for intervals and rankings.
        budget: the processor time of all runs, at 2.5 million packets a second on any machine.
        duration: that of each run, such as `"60 s"`, instead of `budget`.
        engine: `"sim"`, or `"linux"`, Linux in simulated time.
        options: how the runs are run, as `fairhaul.jobs.values.Running` has it.

    Raises:
        ScenarioError: `args` are all mistakes of the question, one line each.
        Refused, RunError: Linux cannot run one of the cases, or a run failed.
    """
    hosts: Any = {"profile": profile, "pacing": pacing, "mtu": mtu, "stacks": stacks}
    with _arguments_named(), own.named(controllers) as names:
        question = read_question(
            names,
            rate=rate,
            rtt=rtt,
            buffer=buffer,
            size=size,
            against=against,
            budget=budget,
            duration=duration,
            **hosts,
        )
        return compare_read(question, Running.of(options), seeds=seeds, engine=engine)


@contextmanager
def _arguments_named() -> Iterator[None]:
    """Name arguments in mistakes; the options of the command line begin with two dashes."""
    try:
        yield
    except ScenarioError as error:
        raise ScenarioError(*(str(mistake).removeprefix("--") for mistake in error.args)) from None


def compare_read(
    question: Question, running: Running, *, seeds: int = LEAST_RUNS, engine: Engine = "sim"
) -> Comparison:
    """Answer a question that was read, as `compare` does."""
    seeds = whole(seeds)
    if seeds < 1:
        raise ScenarioError("--seeds: at least one is required")
    if question.stacks and FACTS[engine].kernel:
        raise ScenarioError(
            f"--stack {next(iter(question.stacks))}: transport stacks run in the simulator alone; "
            f"{FACTS[engine].title} has hosts with the TCP of Linux: omit --engine {engine}"
        )
    done = run_cases(question, running, seeds=seeds, engine=engine)
    found = figures(question, done)
    all_rows = rows(question, found)
    return Comparison(
        question=question,
        rows=all_rows,
        answer=answer(question, all_rows, found, done),
        seeds=seeds,
        duration_s=done.duration_s,
        warmup_s=done.warmup_s,
        packets=done.packets,
        cpu_s=done.cpu_s,
        stationary=done.stationary,
        engine=engine,
    )
