"""An attack in words: a weakness in a sentence by its measures, the weaknesses, and the map."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING

from fairhaul.figures import figures as drawn
from fairhaul.figures.charts import Scale
from fairhaul.figures.charts.fields import heat
from fairhaul.figures.figure import Figure
from fairhaul.report.outcome import Outcome, Section
from fairhaul.runs.runs import for_each
from fairhaul.scenario.link import link_to, source_of
from fairhaul.statistics.estimate import Estimate, estimate, legend, text
from fairhaul.studies.attack.box import Range
from fairhaul.studies.attack.differences import words_of
from fairhaul.studies.attack.figures import ATTACKED, REFERENCE
from fairhaul.studies.attack.objectives import shares
from fairhaul.studies.attack.place import OWN, RIVAL, SELF, Place
from fairhaul.studies.attack.search import CELLS
from fairhaul.text.digits import Decimals, percent
from fairhaul.text.table import Table

if TYPE_CHECKING:
    from fairhaul.studies.attack import Attack
    from fairhaul.studies.attack.kernel import Kernel
    from fairhaul.studies.attack.shrink import Held

COLUMNS = ("path", "flows", "rivals", "in the search", "over other seeds")
# Columns without which a narrow terminal shows the others; the last is dropped first.
LEAST = ("rivals", "flows", "in the search")


def outcome_of(done: Attack) -> Outcome:
    """Put an attack into words and tables."""
    of = done.objective
    return Outcome(
        study="attack",
        title=f"Attack on {done.attacked.name}: {of.name}",
        question=of.question.format(name=done.attacked.name),
        answer=answer(done),
        evidence=lambda: [s for s in (_worst(done), _weaknesses(done), _map(done)) if s],
        values=done.values,
    )


def _worst(done: Attack) -> Section | None:
    if done.worst is None:
        return None
    run = done.attacked.scenario(done.worst.place, "", done.worst.trials[0].seed)
    value = number(done, done.worst.estimate)
    lines = [
        f"{done.objective.name}: {value} over {len(done.worst.trials)} seeds; figures show seed "
        f"{run.seed}."
    ]
    lines += [_on_kernel(done, done.kernel)] if done.kernel else []
    return Section(
        heading="The smallest scenario",
        text=lines,
        commands=[f"fairhaul run {shlex.quote(str(done.file))}{done.attacked.options}"]
        if done.file
        else [],
        figures=lambda: for_each([run], lambda _, of: drawn.of_run(of, "worst-"), jobs=1)[0],
        studio=link_to(source_of(run), run.described["flows"]),
    )


def _weaknesses(done: Attack) -> Section | None:
    if not done.weaknesses:
        return None
    rows = [_row(done, held) for held in done.weaknesses]
    title = f"Distinct weaknesses of {done.attacked.name}: {done.objective.name}"
    table = Table(title=title, columns=COLUMNS, rows=rows, words=3, least=LEAST)
    return Section(
        heading="Distinct weaknesses",
        text=[f"{done.objective.name}: {done.objective.meaning}. {legend(5)}"],
        tables=[table],
        points=[sentence(done, held) for held in done.weaknesses[1:]],
    )


def _map(done: Attack) -> Section:
    asked, cells = done.question, len(done.archive.cells)
    text = [
        f"Searched: {asked.box.text()}. {done.runs} runs with {done.packets / 1e6:.3g} million "
        f"packets, figures included; {cells} cells of the archive, seed {asked.seed}, budget "
        f"{asked.budget_s:g} s."
    ]
    return Section(heading="What was searched", text=text, figures=lambda: [_figure(done)])


def _figure(done: Attack) -> Figure:
    """Draw the worst place of each cell of the archive."""
    box = done.question.box
    xs, ys = _labels(box.bdp), _labels(box.buffer)
    rows = [
        {
            "x": xs[min(cell[0], len(xs) - 1)],
            "y": ys[min(cell[1], len(ys) - 1)],
            "value": elite.trial.value,
            "text": f"{elite.trial.value:.2f}",
        }
        for cell, elite in done.archive.ranked()
    ]
    most = max(done.archive.ranked()[0][1].trial.value, 1e-9)
    scale = Scale(title="Buffer (BDP)", low=0.0, high=most)
    return Figure(
        name="map",
        title="The worst place of each cell",
        caption=f"{done.objective.name}: {done.objective.meaning}, with the seed of the search.",
        chart=heat({"": rows}, xs, ys, "Bandwidth-delay product (packets)", scale),
    )


def _labels(of: Range) -> list[str]:
    """Give the ranges of the cells along one side of the archive."""
    if of.is_fixed:
        return [_rounded(of.low)]
    edges = [of.low * (of.high / of.low) ** (part / CELLS) for part in range(CELLS + 1)]
    return [f"{_rounded(low)}-{_rounded(high)}" for low, high in pairwise(edges)]


def _rounded(value: float) -> str:
    return f"{float(f'{value:.2g}'):g}"


def sentence(of: Attack, held: Held) -> str:
    """Explain a weakness by its measures; values are means over the seeds."""
    place, trials = held.place, held.trials
    trip = "" if place.rivals_rtt == 1 else " of {:g} ms"
    name = of.attacked.name if place.rival == SELF else place.rival
    groups = {
        OWN: _group(held, OWN, of.attacked.name, place.flows, trip.format(place.rtt_ms)),
        RIVAL: _group(held, RIVAL, name, place.rivals, trip.format(place.rivals_rtt_ms)),
    }
    own, rival = groups.values()
    beside = f" beside {rival['flows']}{rival['trip']}" if place.rivals else ""
    each = [{OWN: 1.0, RIVAL: 1.0} | shares(trial.runs) for trial in trials]
    less, more = sorted(groups, key=lambda group: fmean(seed[group] for seed in each))
    alike = place.flows + place.rivals * (place.rival == SELF)

    def mean(figure: str) -> float:
        return fmean(trial.runs[ATTACKED][figure] for trial in trials)

    compared = {}
    if len(of.objective.engines) > 1:
        names = {OWN: of.attacked.name, RIVAL: name}
        compared = words_of(place, [trial.runs for trial in trials], names)
    words = {
        **compared,
        "path": place.text(),
        "all": f"{own['flows']}{beside}".capitalize(),
        "s": "s" * (place.flows == 1 and not place.rivals),
        "alike": _flows(alike, of.attacked.name),
        **groups,
        **{"less": groups[less], "more": groups[more]},
        "value": number(of, held.estimate),
        "part": _estimated([trial.value for trial in trials], of),
        "share": _estimated([seed[less] for seed in each], of),
        "bdp": _packets(place.bdp_packets),
        "standing_ms": f"{1000 * mean('standing_s'):.3g}",
        "stalled_s": f"{mean('stalled_s'):.3g}",
        **{"dropped": _percent(mean("drop_rate")), "marked": _percent(mean("mark_rate"))},
    }
    return f"{of.objective.sentence.format_map(words)}."


def _group(held: Held, key: str, name: str, count: int, trip: str) -> dict[str, str]:
    """Give the words for a group of flows, with means over its flows and the seeds."""
    words = {
        "name": name,
        "flows": _flows(count, name),
        "trip": trip,
        "each": "the" if count == 1 else "each",
        "lose": "loses" if count == 1 else "lose",
        "have": "it has" if count == 1 else "they have",
    }
    runs = [trial.runs for trial in held.trials]

    def mean(figure: str, case: str = ATTACKED) -> float:
        return fmean(of[case]["flows"][key][figure] or 0.0 for of in runs)

    if key in runs[0][ATTACKED]["flows"]:
        is_known = runs[0][ATTACKED]["flows"][key]["cwnd"] is not None
        timeouts, cwnd = f"{mean('timeouts'):.2g}", _packets(mean("cwnd"))
        parts = [f"loses {_percent(mean('loss_rate'))} of its packets"]
        timed_out = f"has {timeouts} timeout{'' if timeouts == '1' else 's'}"
        parts += [timed_out] if mean("timeouts") >= 0.5 else []
        window = f"a mean window of {cwnd} packets" if is_known else "a window that is not known"
        words["sender"] = f"{', '.join(parts)} and has {window}"
        words |= {
            "cwnd": cwnd if is_known else "an unknown number of",
            "mbps": f"{mean('goodput_bps') / 1e6:.3g}",
        }
    if REFERENCE in runs[0]:
        words["due_mbps"] = f"{mean('goodput_bps', REFERENCE) / 1e6:.3g}"
    return words


def answer(of: Attack) -> str:
    """Give the result in a sentence or two."""
    if of.worst is not None:
        return sentence(of, of.worst)
    return (
        f"No weakness of {of.attacked.name} was found in this box: no place keeps a value of "
        f"{of.objective.text(of.objective.weak)} or more with other seeds. The worst value of the "
        f"search was {of.objective.text(of.searched[0].value)}."
    )


def _row(of: Attack, held: Held) -> list[str]:
    place = held.place
    return [
        place.text(),
        f"{place.flows} {of.attacked.name}",
        _rivals(of, place),
        of.objective.text(of.value_in_search(held)),
        number(of, held.estimate),
    ]


def _rivals(of: Attack, place: Place) -> str:
    """Describe the rivals of a place."""
    if not place.rivals:
        return "none"
    name = of.attacked.name if place.rival == SELF else place.rival
    parts = [f"{place.rivals} {name}"]
    parts += [f"{place.rivals_rtt_ms:g} ms"] if place.rivals_rtt != 1 else []
    if place.rivals_start:
        late = "later" if place.rivals_start > 0 else "earlier"
        parts.append(f"{abs(place.rivals_start) * place.duration_s:.3g} s {late}")
    return ", ".join(parts)


def number(of: Attack, value: Estimate) -> str:
    """Write the value of the objective with its interval."""
    return text(value, Decimals(digits=2, unit=of.objective.unit))


def _on_kernel(of: Attack, kernel: Kernel) -> str:
    """Say what the kernel showed."""
    if not kernel.values:
        return (
            f"Linux {kernel.release}: no run is valid, because the machine could not keep up; "
            "nothing is confirmed."
        )
    verdict = "confirmed" if kernel.confirmed else "not confirmed"
    return (
        f"Linux {kernel.release}: {number(of, kernel.estimate)} over {len(kernel.values)} valid "
        f"runs; the simulator: {number(of, kernel.sim)}. The weakness is {verdict}: it counts as "
        f"one from {of.objective.text(of.objective.weak)} on in every run."
    )


def _percent(part: float) -> str:
    return f"{100 * part:.2g} %" if part < 0.995 else f"{100 * part:.0f} %"


def _estimated(values: Sequence[float], of: Attack) -> str:
    value = estimate(values, of.objective.bounds)
    return text(value, percent(1))


def _packets(count: float) -> str:
    return f"{count:.0f}" if count >= 100 else f"{count:.3g}"


def _flows(count: int, name: str) -> str:
    return f"one {name} flow" if count == 1 else f"{count} {name} flows"


def wrapped(line: str) -> list[str]:
    """Break a sentence into lines for comments."""
    return textwrap.wrap(line, 96, break_long_words=False, break_on_hyphens=False)
