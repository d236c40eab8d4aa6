"""An attack: the worst place for a controller within a box, shrunk, explained and replayed.

The files: `box` is the space, `place` a point of it as a scenario with its `impairments`, `figures`
what is computed of a run, `differences` how far two engines are apart, `objectives` what is
maximised, `trials` the runs and their store, `search` the search, `shrink` the smallest place and
its seeds, `kernel` the replay on a kernel, `words` the result.
`docs/attack.md` describes the method.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Unpack

from fairhaul.files.files import replace as write_file
from fairhaul.jobs.values import OnEvent, Running, RunOptions
from fairhaul.report.outcome import StudyResult
from fairhaul.runs.cost import PACKETS_PER_CPU_S
from fairhaul.scenario.engines import FACTS, Engine
from fairhaul.scenario.listings import needed_queue
from fairhaul.scenario.own import options as options_of
from fairhaul.scenario.profiles import TUNED, checked
from fairhaul.scenario.quantities import time_s
from fairhaul.scenario.read import ScenarioError, written
from fairhaul.scenario.transport import Transport, keyed, read_stack, read_transport
from fairhaul.studies.attack import kernel, words
from fairhaul.studies.attack.box import Box, read_box, read_file, with_queue
from fairhaul.studies.attack.objectives import OBJECTIVES, Objective
from fairhaul.studies.attack.place import SELF, queue_of
from fairhaul.studies.attack.search import Archive, search
from fairhaul.studies.attack.shrink import KEPT, Held, over_seeds, shrink
from fairhaul.studies.attack.trials import Attacked, Trial, Trials
from fairhaul.text.nearest import hint

__all__ = ["Attack", "Question", "attack", "read_question"]

# The part of the budget that the search costs; seeds and shrinking have the rest. Shrinking has at
# least the second part, even if the seeds cost more than expected.
SEARCH_PART, SHRINK_PART = 0.65, 0.15
MOST_WEAKNESSES = 6
# Seeds are counted up from that of the search: of the weaknesses, of shrinking, and of the result.
HELD_SEEDS, SHRINK_SEEDS, FINAL_SEEDS = range(1, 6), range(11, 16), range(21, 26)

# The smallest scenario, in the directory of the results.
WORST = "worst.toml"


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is attacked, where, and for what."""

    attacked: Attacked
    objective: Objective
    box: Box
    budget_s: float
    seed: int
    confirm: Engine | None
    """The engine with a kernel that replays the worst place; None for no replay."""

    @property
    def kernels(self) -> set[Engine]:
        """The engines with a kernel that it needs."""
        wanted = {*self.objective.engines, *([self.confirm] if self.confirm else [])}
        return {engine for engine in wanted if FACTS[engine].kernel}


@dataclass(frozen=True, kw_only=True)
class Attack(StudyResult):
    """The result of an attack.

    `weaknesses` are distinct places that are weak over seeds that the search has not used, the
    worst first, and `searched` the trials that found them and all that did not hold. `worst` is
    the smallest place that shows nearly all of the worst weakness; None if no place is weak.
    """

    question: Question
    weaknesses: Sequence[Held]
    searched: Sequence[Trial]
    worst: Held | None
    archive: Archive
    kernel: kernel.Kernel | None
    packets: float
    runs: int
    scenario: str | None = field(repr=False)
    """The TOML of the worst scenario, which `fairhaul run` takes."""
    file: Path | None = None
    """Where that was written."""

    @property
    def attacked(self) -> Attacked:
        """What was attacked."""
        return self.question.attacked

    @property
    def objective(self) -> Objective:
        """What was maximised."""
        return self.question.objective

    def value_in_search(self, held: Held) -> float:
        """Give the value of a weakness in the search."""
        return next(trial.value for trial in self.searched if trial.place == held.place)

    outcome = words.outcome_of

    def values(self) -> dict[str, Any]:
        """Give the numbers and places."""
        cells = [
            {"value": elite.trial.value, "place": elite.trial.place.to_dict()}
            for _, elite in self.archive.ranked()
        ]
        return {
            "controller": self.attacked.name,
            "objective": self.objective.name,
            "meaning": self.objective.meaning,
            "weak_from": self.objective.weak,
            "box": self.question.box.to_dict(),
            "seed": self.question.seed,
            "budget_s": self.question.budget_s,
            "worst": self.worst and self.worst.to_dict(),
            "scenario": self.scenario,
            "weaknesses": [
                {**held.to_dict(), "value_in_search": self.value_in_search(held)}
                for held in self.weaknesses
            ],
            "kernel": self.kernel and self.kernel.to_dict(),
            "cells": cells,
            "runs": self.runs,
            "packets": self.packets,
        }


def read_question(  # noqa: PLR0913 - one argument for each word of the question
    controller: str | None,
    objective: str,
    *,
    stack: str | None = None,
    within: Path | Mapping[str, Any] | None = None,
    queue: str | None = None,
    budget: str = "10min",
    seed: int = 1,
    profile: str = TUNED,
    confirm: Engine | None = None,
) -> Question:
    """Read a question; `within` is the file of a box, or its keys.

    A transport stack is attacked instead of a controller if `stack` is given.

    Raises:
        ScenarioError: `args` are mistakes, one line each.
    """
    if objective not in OBJECTIVES:
        raise ScenarioError(f"--objective {objective}: {hint(objective, OBJECTIVES)}")
    checked(profile, "--profile")
    of = OBJECTIVES[objective]
    if isinstance(within, Path):
        box = read_file(within, of.box)
    else:
        box = read_box({**of.box, **(within or {})}, "within")
    box = box if queue is None else with_queue(box, queue)
    if objective in {"starve", "harm"} and box.rivals.low < 1:
        raise ScenarioError(f"the objective {objective} needs rivals: give `rivals` from 1 on")
    box = kernel.for_lab(box) if confirm == "lab" else box
    attacked = _attacked(controller or "", stack, box, profile)
    return Question(
        attacked=attacked,
        objective=of,
        box=box,
        budget_s=time_s("--budget", budget),
        seed=seed,
        confirm=confirm,
    )


def _attacked(controller: str, stack: str | None, box: Box, profile: str) -> Attacked:
    kinds = [str(queue_of(queue)["kind"]) for queue in box.queue]
    mistakes: list[str] = []

    def read(place: str, name: str) -> Transport | None:
        # A controller that needs a router has to have it with all queues of the box.
        needed = needed_queue(keyed(name)[0]["kind"])
        if not all(kind.startswith(needed) for kind in kinds):
            mistakes.append(
                f"{place}: requires the queue {needed}; give --queue {needed}, or `queue` in a box"
            )
            return None
        try:
            return read_transport(name, profile, place=place, queue=kinds[0])
        except ScenarioError as error:
            mistakes.extend(map(str, error.args))
            return None

    own = read(controller or "CC", controller) if stack is None else read_stack(stack)
    rivals = {name: read(f"rival {name}", name) for name in box.rival if name != SELF}
    if own is None or mistakes:
        raise ScenarioError(*mistakes)
    known = {name: rival for name, rival in rivals.items() if rival is not None}
    kinds = [of.kind for of in (own, *known.values())]
    name = controller if stack is None else stack
    return Attacked(name=name, own=own, rivals=known, options=options_of(kinds))


def attack(question: Question, **options: Unpack[RunOptions]) -> Attack:
    """Search for the worst place, check it over seeds, shrink it, and replay it.

    The same question gives the same answer, with any number of jobs.

    Args:
        question: what `read_question` gave.
        options: how the runs are run, as `fairhaul.jobs.values.Running` has it; a directory gets
            the smallest scenario as `worst.toml`, too.

    Raises:
        ScenarioError: the budget is too small for this box.
        StoreError: the directory exists and is something else.
        Refused: the engine of the replay cannot run what is attacked.
        RunError: a run failed.
    """
    running = Running.of(options)
    with running.opened() as opened:
        trials = Trials(
            attacked=question.attacked,
            objective=question.objective,
            running=opened,
            budget=question.budget_s * PACKETS_PER_CPU_S,
        )
        for engine in sorted(question.kernels):
            kernel.check(trials, question.box, engine)
        done = _attack(question, trials, trials.budget, opened.say)
    if running.out is None or done.scenario is None:
        return done
    file = running.out / WORST
    write_file(file, done.scenario.encode())
    return replace(done, file=file)


def _attack(question: Question, trials: Trials, budget: float, on_event: OnEvent) -> Attack:
    seed, of = question.seed, question.objective

    def generation(number: int, part: float, worst: Trial) -> None:
        on_event(
            f"generation {number}, {min(part, 1.0):.0%} of the search: {of.text(worst.value)} "
            f"over {worst.place.text()}"
        )

    archive = search(question.box, trials, seed, SEARCH_PART * budget, generation)
    elites = archive.distinct(of.weak, MOST_WEAKNESSES)
    places = [elite.trial.place for elite in elites]
    on_event(f"{len(places)} distinct places; each runs with {len(HELD_SEEDS)} other seeds")
    held = over_seeds(trials, places, [seed + more for more in HELD_SEEDS])
    found = sorted((one for one in held if one.holds(of.weak)), key=lambda of: -of.estimate.mean)
    worst = _shrunk(question, trials, found[0], budget, on_event) if found else None
    replayed = None
    if question.confirm is not None and worst is not None:
        on_event(f"{FACTS[question.confirm].title} replays the worst place")
        replayed = kernel.confirm(trials, worst.place, worst.estimate, seed, question.confirm)
    searched = [elite.trial for elite in elites] or [archive.ranked()[0][1].trial]
    done = Attack(
        question=question,
        weaknesses=found,
        searched=searched,
        worst=worst,
        archive=archive,
        kernel=replayed,
        packets=trials.packets,
        runs=trials.runs,
        scenario=None,
    )
    return done if worst is None else replace(done, scenario=_scenario(done, worst))


def _shrunk(
    question: Question, trials: Trials, found: Held, budget: float, on_event: OnEvent
) -> Held:
    """Give the smallest place, if it keeps the weakness over yet other seeds."""
    on_event("the worst place is shrunk")
    seeds = [question.seed + more for more in SHRINK_SEEDS]
    until = max(budget, trials.packets + SHRINK_PART * budget)
    chain = shrink(question.box, trials, found.place, found.estimate.mean, seeds, until)
    least = KEPT * KEPT * found.estimate.mean
    for place in reversed(chain[1:]):
        (smaller,) = over_seeds(trials, [place], [question.seed + more for more in FINAL_SEEDS])
        if smaller.estimate.mean >= least and smaller.holds(question.objective.weak):
            return smaller
    return found


def _scenario(done: Attack, worst: Held) -> str:
    """Write the worst place as a scenario, with what it shows as comments."""
    of = done.objective
    notes = [
        f"The worst place that `fairhaul attack {done.attacked.name} --objective {of.name}` found.",
        *words.wrapped(words.sentence(done, worst)),
        *words.wrapped(
            f"{of.name} is the {of.meaning}: {words.number(done, worst.estimate)} over seeds "
            f"{worst.trials[0].seed} to {worst.trials[-1].seed}."
        ),
        f"fairhaul run FILE --seeds 5{done.attacked.options} repeats the runs.",
    ]
    return written(done.attacked.keys(worst.place, worst.trials[0].seed), {"": notes})
