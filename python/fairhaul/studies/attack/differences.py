"""How far the simulator is from Linux at a place, in units of what counts as equal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean

from fairhaul.studies.attack.figures import Figures, Runs
from fairhaul.studies.attack.place import OWN, Place
from fairhaul.text.phrases import quantity

SIM, LINUX = ("attacked", "again"), ("linux", "linux again")
"""The cases of each engine."""

# Differences that count as equal, as a share of the larger value; those of the unusual cells.
CLOSE = {
    "goodput_bps": 0.05,
    "cwnd": 0.10,
    "rtt_s": 0.10,
    "completion_s": 0.05,
    "loss_events": 0.10,
}
NAMES = {
    "goodput_bps": "goodput",
    "cwnd": "mean window",
    "rtt_s": "mean round trip",
    "completion_s": "completion time",
    "loss_events": "number of loss events",
}


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A figure of a group of flows on both engines, and the difference that counts as equal."""

    group: str
    figure: str
    sim: float
    linux: float
    tolerance: float

    @property
    def value(self) -> float:
        """The difference over what counts as equal."""
        return abs(self.sim - self.linux) / self.tolerance if self.sim != self.linux else 0.0


def differences(place: Place, runs: Runs) -> Iterator[Difference]:
    """Compare the groups of flows: goodput, window, round trip, loss events, completion time."""
    for group in runs[SIM[0]]["flows"]:
        for figure, share in CLOSE.items():
            sim, linux = (
                values_of(place, [runs[case] for case in cases], group, figure)
                for cases in (SIM, LINUX)
            )
            if not (sim and linux):
                continue
            larger = max(fmean(sim), fmean(linux))
            # Two seeds of one engine differ by chance, and numbers of events by their root.
            chance = [max(values) - min(values) for values in (sim, linux)]
            chance += [2 * sqrt(larger) + 1] if figure == "loss_events" else []
            yield Difference(
                group=group,
                figure=figure,
                sim=fmean(sim),
                linux=fmean(linux),
                tolerance=max(share * larger, *chance),
            )


def largest(place: Place, runs: Runs) -> Difference:
    """Give the largest difference at a place."""
    return max(differences(place, runs), key=lambda one: one.value)


def words_of(place: Place, each: Sequence[Runs], names: dict[str, str]) -> dict[str, str]:
    """Name the figure that differs most over several seeds, and its means on both engines."""
    found: dict[tuple[str, str], list[Difference]] = {}
    for runs in each:
        for one in differences(place, runs):
            found.setdefault((one.group, one.figure), []).append(one)
    (group, figure), of = max(found.items(), key=lambda item: fmean(one.value for one in item[1]))
    sim, linux = fmean(one.sim for one in of), fmean(one.linux for one in of)
    return {
        "figure": f"{NAMES[figure]} of a {names[group]} flow",
        "sim": _text(figure, sim),
        "linux": _text(figure, linux),
    }


def values_of(place: Place, runs: Sequence[Figures], group: str, figure: str) -> list[float]:
    """Give a figure of each run that has it; none where it means nothing.

    Of transfers of a size that are the completion time, and the round trip while they last. One
    that is not over has taken the whole run.
    """
    is_sized = place.size_bdp > 0 and group == OWN
    if figure in {"goodput_bps", "cwnd"} if is_sized else figure == "completion_s":
        return []
    values: list[float | None] = [run["flows"][group][figure] for run in runs]
    if figure == "completion_s":
        return [place.duration_s if value is None else value for value in values]
    return [value for value in values if value is not None]


def _text(figure: str, value: float) -> str:
    units = {"goodput_bps": "bit/s", "rtt_s": "s", "completion_s": "s"}
    if figure in units:
        return quantity(value, units[figure])
    return f"{value:.3g} packets" if figure == "cwnd" else f"{value:.3g}"
