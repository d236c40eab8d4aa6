"""A robust reproduction in words: claims, numbers, the nearest setting, and all settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairhaul.figures.axes import axis_of
from fairhaul.figures.charts import Panel, Scale, ends, panels, powers
from fairhaul.figures.clouds import MOST_SIDES, clouds_over
from fairhaul.figures.figure import Figure
from fairhaul.report.outcome import Outcome, Section
from fairhaul.results.table import short
from fairhaul.studies.papers.experiment import Experiment
from fairhaul.text.table import Table

if TYPE_CHECKING:
    from fairhaul.studies.papers.robust import Robust, RobustClaim, RobustNumber

# A number comes out if it is within this part of the paper's.
NEAR = 0.1
PER_CENT = f"{100 * NEAR:.0f} %"


def answer(found: Robust) -> str:
    """Answer in sentences: how often the claims hold, and whether the printed numbers come out."""
    count = len(found.settings)
    several = len(found.claims) > 1
    claims = f"All claims hold in {found.all_hold} of {count} settings. " if several else ""
    if not found.numbers:
        return claims.strip()
    near = found.all_near
    where = f"in {near} of them" if near else "in none of them"
    best = found.distances[found.nearest]
    return (
        f"{claims}All {len(found.numbers)} printed numbers come out within {PER_CENT} {where}; the "
        f"nearest setting is {100 * best:.0f} % away from them (root mean square)."
    )


def _decided(claim: RobustClaim) -> str:
    """Say on which setting a claim depends most, if it does beyond chance."""
    split = claim.split
    if split is None or not split.is_beyond_chance:
        return "no single setting"
    (held, of), (others_held, others) = split.selected, split.others
    return f"{split.key} {split.rule}: {held} of {of}; otherwise {others_held} of {others}"


def number_rows(found: Robust) -> list[list[str]]:
    """Give a row for each printed number: the paper's, ours over the settings, the nearest."""
    return [
        [
            number.row,
            number.column,
            f"{number.paper:.3g}",
            f"{middle:.3g} [{low:.3g}, {high:.3g}]",
            f"{100 * sum(number.near) / len(number.near):.0f} %",
            "-" if (nearest := number.ours[found.nearest]) is None else f"{nearest:.3g}",
        ]
        for number in found.numbers
        for low, middle, high in [percentiles(number)]
    ]


NUMBER_COLUMNS = (
    *("case", "number", "paper", "ours: median [5 %, 95 %]"),
    *(f"within {PER_CENT}", "nearest setting"),
)


def percentiles(number: RobustNumber) -> tuple[float, float, float]:
    """Give the 5th, 50th and 95th percentile over the settings."""
    known = sorted(value for value in number.ours if value is not None)
    if not known:
        return (float("nan"),) * 3
    last = len(known) - 1
    low, middle, high = (known[round(part * last)] for part in (0.05, 0.5, 0.95))
    return low, middle, high


def outcome_of(found: Robust) -> Outcome:
    """Put a robust reproduction into words and tables."""
    experiment = found.paper.experiments[found.name]
    # The texts name the rates and sizes of the paper's own scenarios, around which the ranges lie.
    experiment = experiment.quoting([case.scenario for case in experiment.cases(False, {})])
    return Outcome(
        study="reproduce",
        title=f"{found.paper.title}: {experiment.heading}",
        question="In what part of what the paper leaves open do its claims and numbers hold?",
        answer=answer(found),
        evidence=lambda: _sections(found, experiment),
        values=found.values,
    )


def _sections(found: Robust, experiment: Experiment) -> list[Section]:
    about = (
        f"{experiment.about} {len(found.settings)} settings of what the paper leaves open were "
        "drawn from a Latin hypercube over the ranges below, and each was run once for every case. "
        "Nothing is tuned."
    )
    claims = Table(
        title="Claims",
        columns=["claim", "holds in", "depends most on"],
        rows=[[of.text, f"{100 * of.part:.0f} %", _decided(of)] for of in found.claims],
        words=3,
        prose=True,
    )
    sections = [Section(heading="Claims", text=[about], tables=[claims])]
    if found.numbers:
        numbers = Table(
            title="Printed numbers", columns=NUMBER_COLUMNS, rows=number_rows(found), words=2
        )
        nearest = Table(
            columns=["setting", "range", "nearest to all printed numbers"],
            rows=[
                [key, _range(experiment.open[key]), str(value)]
                for key, value in found.settings[found.nearest].items()
            ],
            words=3,
        )
        sections += [
            Section(heading="What is open", tables=[nearest]),
            Section(
                heading="Printed numbers",
                tables=[numbers],
                figures=lambda: [_numbers(found), *_distances(found)],
            ),
        ]
    return [*sections, Section(heading="All settings", tables=[_settings(found)], detailed=True)]


def _range(given: object) -> str:
    if not isinstance(given, dict):
        return str(given)
    if "any" in given:
        return ", ".join(map(str, given["any"]))
    scale = ", evenly over the logarithm" if given.get("scale") == "log" else ""
    return f"{given['from']} to {given['to']}{scale}"


def _numbers(found: Robust) -> Figure:
    columns: dict[str, list[dict[str, Any]]] = {}
    for number in found.numbers:
        low, middle, high = percentiles(number)
        point = {"row": number.row, "mean": middle, "low": low, "high": high, "paper": number.paper}
        columns.setdefault(number.column, []).append(point)
    each = []
    for column, rows in columns.items():
        low, high = ends([row[of] for row in rows for of in ("mean", "low", "high", "paper")])
        each.append(Panel(scale=Scale(title=column, low=low, high=high), rows=rows))
    return Figure(
        name="numbers",
        title="The printed numbers over the settings",
        caption="Dots are medians over the settings, lines reach from the 5th to the 95th "
        "percentile; a diamond is the paper's number.",
        chart=panels(list(dict.fromkeys(number.row for number in found.numbers)), each),
    )


def _distances(found: Robust) -> list[Figure]:
    keys, distances = list(found.settings[0]), [100 * distance for distance in found.distances]
    each = [
        axis_of(key, short(key, keys), [setting[key] for setting in found.settings]) for key in keys
    ]
    drawn = [axis for axis in each if axis.numbers is not None and len(set(axis.numbers)) >= 5]
    cloud = list(zip(found.settings, distances, strict=True))
    y = powers("Distance (%)", distances)
    return [
        Figure(
            name=f"distances-{number + 1}",
            title="Distance from all printed numbers, over what is open",
            caption="Each point is one setting: the root mean square of the relative deviations.",
            chart=clouds_over(drawn[first : first + MOST_SIDES], {"": cloud}, y),
        )
        for number, first in enumerate(range(0, len(drawn), MOST_SIDES))
    ]


def _settings(found: Robust) -> Table:
    """Lay out all settings, the nearest first."""
    keys, distances = list(found.settings[0]), found.distances
    rows = [
        [
            *map(str, setting.values()),
            *("yes" if claim.holds[i] else "no" for claim in found.claims),
            *(f"{100 * distance:.0f}" for distance in distances[i : i + 1]),
        ]
        for i, setting in enumerate(found.settings)
    ]
    order = sorted(range(len(rows)), key=distances.__getitem__) if distances else range(len(rows))
    claims = [f"claim {number}" for number in range(1, len(found.claims) + 1)]
    return Table(
        columns=[*(short(key, keys) for key in keys), *claims, *["distance %"][: len(distances)]],
        rows=[rows[i] for i in order],
        words=len(keys),
    )
