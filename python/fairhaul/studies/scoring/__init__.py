"""A score: one number for a controller over many drawn paths, with its parts.

The files: `paths` draws the paths, `cases` runs flows over them, `parts` defines what is computed
from the runs, `words` writes it. `docs/score.md` describes the score, and has the scores of all
controllers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import index as whole
from statistics import fmean
from typing import TYPE_CHECKING, Any, Unpack

from fairhaul.jobs.values import Running, RunOptions
from fairhaul.measures.types import ScoredPath
from fairhaul.report.outcome import StudyResult
from fairhaul.scenario import own
from fairhaul.scenario.profiles import TUNED, checked
from fairhaul.scenario.transport import read_stack, read_transport
from fairhaul.statistics.estimate import FRACTION, Estimate, estimate
from fairhaul.studies.scoring.cases import RIVALS, run_cases
from fairhaul.studies.scoring.figures import Figures
from fairhaul.studies.scoring.parts import PARTS, parts_of
from fairhaul.studies.scoring.paths import DROPTAIL, PATHS, PUBLIC_DRAW, Path, drawn, read_queue
from fairhaul.studies.scoring.words import outcome_of

if TYPE_CHECKING:
    import polars as pl


__all__ = ["PathScore", "Score", "score"]


@dataclass(frozen=True, kw_only=True)
class PathScore:
    """The parts over one path, and the figures that they are computed from."""

    path: Path
    parts: Mapping[str, float]
    figures: Mapping[str, Figures]

    def to_dict(self) -> ScoredPath:
        """Give the path, its parts and its figures as they are printed in JSON."""
        alone, pair = self.figures["alone"], self.figures["pair"]
        found: Any = {
            **self.path.to_dict(),
            "parts": dict(self.parts),
            "figures": {
                "alone_goodput_bps": alone.goodputs_bps[0],
                "alone_waiting_s": alone.waiting_s,
                "alone_drop_rate": alone.drop_rate,
                "pair_goodputs_bps": list(pair.goodputs_bps),
                "pair_waiting_s": pair.waiting_s,
                "pair_drop_rate": pair.drop_rate,
                "pair_jain": pair.jain,
                "pair_convergence_s": pair.convergence_s,
                **{key: value for rival in RIVALS for key, value in self._beside(rival).items()},
            },
        }
        scored: ScoredPath = found
        return scored

    def _beside(self, rival: str) -> dict[str, float]:
        both = self.figures[f"beside {rival}"].goodputs_bps
        own_bps, rival_bps = both if self.path.begins else reversed(both)
        return {
            f"beside_{rival}_own_bps": own_bps,
            f"beside_{rival}_{rival}_bps": rival_bps,
            f"beside_{rival}_due_bps": fmean(self.figures[f"pair of {rival}"].goodputs_bps),
        }


@dataclass(frozen=True, kw_only=True)
class Score(StudyResult):
    """The score of a controller: `score` is one number from 0 to 1, and `parts` are its parts.

    `estimate` has the 95 % interval of the score: how much other paths of the same ranges could
    change it. `paths` has the parts and figures of each path.
    """

    controller: str
    draw: int
    profile: str
    queue: str
    estimate: Estimate
    parts: Mapping[str, Estimate]
    paths: Sequence[PathScore]
    packets: int
    cpu_s: float

    @property
    def score(self) -> float:
        """The geometric mean of the parts."""
        return self.estimate.mean

    def frame(self) -> pl.DataFrame:
        """Give the paths as a polars frame, one row per path: what was drawn, and the parts."""
        from fairhaul.record.frames import frame

        return frame([{**of.path.to_dict(), **of.parts} for of in self.paths])

    def values(self) -> dict[str, Any]:
        """Give the numbers; keys carry their units."""
        parts = {name: of.to_dict() for name, of in self.parts.items()}
        return {
            "controller": self.controller,
            "score": self.score,
            "low": self.estimate.low,
            "high": self.estimate.high,
            "interval": self.estimate.interval,
            "parts": parts,
            "draw": self.draw,
            "profile": self.profile,
            "queue": self.queue,
            "paths": [of.to_dict() for of in self.paths],
            "engine": "sim",
            "packets": self.packets,
            "cpu_s": self.cpu_s,
        }

    outcome = outcome_of


def score(
    controller: str | type[own.Controller] | None,
    *,
    stack: str | None = None,
    draw: int = PUBLIC_DRAW,
    paths: int = PATHS,
    profile: str = TUNED,
    queue: str = DROPTAIL,
    **options: Unpack[RunOptions],
) -> Score:
    """Score a controller over drawn paths: alone, beside itself, beside CUBIC, and beside Reno.

    The same arguments always give the same score with the same build.

    Args:
        controller: a name such as `"fhstcp"` or `"fhstcp:c=20"`, or a class of your own; None with
            a stack.
        stack: a transport stack instead, as `"quinn:controller=bbr"`.
        draw: the seed of the draw of paths; 1 is the public one.
        paths: the number of paths.
        profile: that of all flows, by default hosts with Linux whose buffers limit nothing.
        queue: that of all paths, as `"dualpi2"` or `"codel:target=10"`; the published scores are
            those of `"droptail"`.
        options: how the runs are run, as `fairhaul.jobs.values.Running` has it.

    Returns:
        The score, its parts and the figures of every path.

    Raises:
        ScenarioError: `args` are all mistakes, one line each.
        RunError: a run failed.

    Source: Jain's index [JAIN]; time of convergence [BANSAL 2001, 4.2]; harm [WARE 2019], with
    another reference.
    """
    over = drawn(whole(draw), whole(paths))
    checked(profile, "profile")
    kind = read_queue(queue)
    with own.named([] if controller is None else [controller]) as names:
        name = names[0] if names else stack or ""
        transport = read_transport(name, profile) if stack is None else read_stack(stack)
        found = run_cases(over, transport, profile, Running.of(options), kind)
    return combined(name, draw, (profile, queue), list(zip(over, found, strict=True)))


def combined(
    name: str,
    draw: int,
    of_all: tuple[str, str],
    runs: Sequence[tuple[Path, Mapping[str, Figures]]],
) -> Score:
    """Compute the parts of each path, their means over the paths, and the score of the means.

    `of_all` are the profile of all flows and the queue of all paths.
    """
    each = [
        PathScore(path=path, parts=parts_of(path, figures), figures=figures)
        for path, figures in runs
    ]
    parts = {part: estimate([of.parts[part] for of in each], FRACTION) for part in PARTS}
    profile, queue = of_all
    figures = [run for _, of_path in runs for run in of_path.values()]
    return Score(
        controller=name,
        draw=draw,
        profile=profile,
        queue=queue,
        estimate=geometric([list(of.parts.values()) for of in each]),
        parts=parts,
        paths=each,
        packets=sum(run.packets for run in figures),
        cpu_s=math.fsum(run.cpu_s for run in figures),
    )


def geometric(rows: Sequence[Sequence[float]]) -> Estimate:
    """Estimate the geometric mean of the means of columns; each row is one path.

    The interval is by the delta method [CASELLA 2002, 5.5.4]: a path changes the logarithm of the
    score by the mean of its values over the means of their columns.
    """
    means = [fmean(column) for column in zip(*rows, strict=True)]
    if min(means) <= 0:
        return estimate([0.0] * len(rows), FRACTION)
    product = math.exp(fmean(math.log(mean) for mean in means))
    linear = [
        product * fmean(value / mean for value, mean in zip(row, means, strict=True))
        for row in rows
    ]
    return estimate(linear, FRACTION)
