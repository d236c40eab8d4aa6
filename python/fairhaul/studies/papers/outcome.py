"""A paper reproduced, in words: its claims, its experiments, and how to repeat it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from fairhaul import _core
from fairhaul.figures.figure import Figure
from fairhaul.report.outcome import Outcome, Section
from fairhaul.studies.papers.results import Claim, Verdict
from fairhaul.studies.papers.table import SIMULATOR, Cell, Table
from fairhaul.text.durations import duration_text
from fairhaul.text.table import Table as Printed

if TYPE_CHECKING:
    from fairhaul.studies.papers.run import Part, Reproduction

DIFFERS = "Outside our 95 % interval, values of the paper"
CHOSEN = "Assumptions where the paper is silent"
MISSED = "Missed: the kernel's mean lies outside what the simulator predicted"
KNOWN = "Known reasons"
UNCOUNTED = "Invalid runs of the kernel: the machine could not keep up"
UNKNOWN = "The reason is undecided here."
AGREES = {True: "✓ agrees", False: "≠ differs", None: ""}
PREDICTED = {True: "✗ missed", False: "✓ as predicted", None: ""}
PREDICTION = (
    "The simulator's prediction was stored in prediction.json before the kernel ran. The interval "
    "of a predicted mean is that in which 95 of 100 means of the same number of kernel runs "
    "would lie if real hosts behaved as predicted. Both engines run the same scenario. ✗ missed: "
    "the kernel's mean lies outside that interval. The interval of a mean of the kernel is "
    "its 95 % interval."
)
FAMILY = (
    "The comparisons of an experiment are judged together: the probability that any of them is "
    "decided wrongly is at most 5 %. Without sufficient evidence, a claim is undecided."
)
LEGEND = (
    "✓ agrees: the paper's value, to its printed precision, lies in our 95 % interval; "
    "≠ differs: it lies outside. The number behind it is our mean over the paper's value."
)


def outcome_of(done: Reproduction) -> Outcome:
    """Put a reproduction into words and tables."""
    return Outcome(
        study="reproduce",
        title=f"{done.paper.title} [{done.paper.key}], reproduced",
        question=done.paper.question,
        answer=done.answer(),
        evidence=lambda: _sections(done),
        values=lambda: done.values() | {"remarks": remarks(done)},
    )


def _sections(done: Reproduction) -> list[Section]:
    return [
        *_claims(done),
        *map(_part, done.parts),
        *_misses(done),
        *_differences(done),
        *_choices(done),
        _commands(done),
    ]


def remarks(done: Reproduction) -> dict[str, list[str]]:
    """Give the remarks on all tables, by heading."""
    found = {
        "Claims": [f"{c.verdict}: {c.text}. {_measured(c)}".strip() for c in done.claims],
        DIFFERS: done.differences(),
        CHOSEN: list(
            dict.fromkeys(words for part in done.parts for words in part.experiment.assumptions)
        ),
    }
    if not any(part.kernels for part in done.parts):
        return found
    misses = [line for table in done.tables for line in table.misses()]
    kernels = [kernel for part in done.parts for kernel in part.kernels]
    uncounted = [line for kernel in kernels for line in kernel.uncounted]
    how = [part.experiment.lab for part in done.parts]
    why = dict.fromkeys(line for hosts in how if hosts is not None for line in hosts.why)
    return {MISSED: misses, KNOWN: list(why) if misses else [], **found, UNCOUNTED: uncounted}


def _measured(claim: Claim) -> str:
    return " ".join(filter(None, (claim.reading, claim.numbers())))


def _claims(done: Reproduction) -> Iterator[Section]:
    if done.claims:
        rows = [[claim.text, str(claim.verdict), _measured(claim)] for claim in done.claims]
        table = Printed(columns=["claim", "here", "measured"], rows=rows, words=3, prose=True)
        yield Section(heading="What the paper claims", text=[FAMILY], tables=[table])


def _part(part: Part) -> Section:
    experiment = part.experiment
    printed = any(row.has_paper() for table in part.tables for row in table.rows)
    legend = PREDICTION if part.kernels else LEGEND if printed else ""
    return Section(
        heading=experiment.heading,
        text=[f"{experiment.about} {part.how()}.", *([legend] if legend else [])],
        tables=[table_of(table) for table in part.tables],
        figures=lambda: _figures(part),
    )


def _figures(part: Part) -> Sequence[Figure]:
    """Draw the results; of two engines over each other, or one after the other."""
    experiment = part.experiment
    if not part.kernels:
        return experiment.figures(part.results)
    kernels = {kernel.name: kernel.results for kernel in part.kernels}
    engines = {SIMULATOR: part.results, **kernels}
    # A case without a valid run cannot be drawn; the tables name these runs.
    engines = {name: results for name, results in engines.items() if all(results.runs.values())}
    if (overlay := experiment.overlay(engines)) is not None:
        return overlay
    return [
        replace(figure, name=f"{figure.name}-{name}", title=f"{figure.title} ({name})")
        for name, results in engines.items()
        for figure in experiment.figures(results)
    ]


def table_of(table: Table) -> Printed:
    """Lay out a table: for each row the paper, ours and the kernel, and whether they agree."""
    paired = any(row.has_paper() or row.kernels() for row in table.rows)
    # A paper without axes has one case, and that has no label.
    labelled = not paired or any(row.label for row in table.rows)
    rows: list[list[str]] = []
    groups: list[int] = []
    for row in table.rows:
        groups.append(len(rows))
        lines = [(who, list(map(_lines, texts))) for who, texts in row.lines()]
        verdicts = [_verdict(cell) for cell in row.cells]
        lines += [("", verdicts)] if any(verdicts) else []
        for number, (who, texts) in enumerate(lines):
            label = row.label if number == 0 else ""
            rows.append([*([label] if labelled else []), *([who] if paired else []), *texts])
    heads = [*([table.parameter] if labelled else []), *([""] if paired else [])]
    return Printed(
        title=table.title,
        columns=[*heads, *table.columns],
        rows=rows,
        words=len(heads),
        groups=groups if paired else (),
        notes=table.notes,
    )


def _lines(text: str) -> str:
    """Put the two ends of a range below each other."""
    return text.replace(" to ", " to\n")


def _verdict(cell: Cell) -> str:
    if cell.kernels:
        return PREDICTED[cell.missed()]
    ratio = cell.ratio()
    return " ".join(filter(None, (AGREES[cell.agrees()], "" if ratio is None else f"{ratio:.2f}")))


def _misses(done: Reproduction) -> Iterator[Section]:
    """What the simulator did not predict, and the runs that are invalid."""
    found = remarks(done)
    if MISSED not in found:
        return
    uncounted = [f"Invalid: {line}" for line in found[UNCOUNTED]]
    compared = [c.missed() for t in done.tables for row in t.rows for c in row.cells]
    judged = [missed for missed in compared if missed is not None]
    text = [f"{MISSED}: {sum(judged)} of {len(judged)} numbers."]
    text += [f"{UNCOUNTED}: {len(uncounted)}."] if uncounted else []
    text += [f"{KNOWN}: {line}" for line in found[KNOWN]]
    points = [*found[MISSED], *uncounted]
    yield Section(heading="What the simulator missed", text=text, points=points)


def _differences(done: Reproduction) -> Iterator[Section]:
    text = [
        f"{claim.verdict}: {claim.text}. {claim.why or UNKNOWN}"
        for claim in done.claims
        if claim.verdict in {Verdict.PART, Verdict.NOT}
    ]
    lines = done.differences()
    text += [f"{DIFFERS}:"] if lines else []
    if text:
        yield Section(heading="Differences and their reasons", text=text, points=lines)


def _choices(done: Reproduction) -> Iterator[Section]:
    if lines := remarks(done)[CHOSEN]:
        text = ["No parameter is tuned to match the paper."]
        yield Section(heading=CHOSEN, text=text, points=lines)


def _commands(done: Reproduction) -> Section:
    text = [
        f"Fairhaul {_core.__version__}. {done.how} Seeds are counted up from that of each "
        "scenario; the same version of the simulator gives the same record, to the last bit, on "
        "every machine.",
        f"{done.runs} runs with {done.packets / 1e6:.4g} million packets took "
        f"{duration_text(done.clock_s)}, and {duration_text(done.cpu_s)} of processor time.",
    ]
    files = Printed(
        columns=["experiment", "scenarios", "seeds", "simulated time of a run"],
        rows=[
            [of.name, str(len(of.scenarios)), str(of.seeds), of.how().rpartition(" of ")[2]]
            for of in done.parts
        ],
    )
    return Section(heading="How to repeat it", text=text, tables=[files], commands=[done.command])
