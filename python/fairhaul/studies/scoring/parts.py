"""The parts of a score over one path, each from 0 (worst) to 1 (best).

`docs/score.md` gives the reason for each definition.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from fairhaul.studies.scoring.cases import ENTERS
from fairhaul.studies.scoring.figures import Figures
from fairhaul.studies.scoring.paths import Path

# The loss rate that counts as half.
HALF_LOSS = 0.01

# Each part with what it measures, in the order in which parts are printed.
PARTS = {
    "throughput": "goodput / what the path can carry",
    "delay": "round-trip time without / with queue",
    "loss": "1 / (1 + drops at the queue / 1 %)",
    "convergence": "time left once two of it are fair",
    "fair_to_itself": "two of it: 2 x Jain's index - 1",
    "fair_to_cubic": "beside cubic: least part of its due",
    "fair_to_reno": "beside reno: least part of its due",
}


def parts_of(path: Path, of: Mapping[str, Figures]) -> dict[str, float]:
    """Compute all parts of one path from the figures of its runs, by the names of the cases."""
    both = (of["alone"], of["pair"])
    pair = of["pair"]
    enters_s = ENTERS * path.duration_s
    return {
        "throughput": fmean(throughput(sum(run.goodputs_bps), run.most_bps) for run in both),
        "delay": fmean(delay(run.waiting_s, path.rtt_s) for run in both),
        "loss": fmean(loss(run.drop_rate) for run in both),
        "convergence": convergence(pair.convergence_s, pair.window_s, path.duration_s - enters_s),
        "fair_to_itself": fair_to_itself(pair.jain),
        "fair_to_cubic": fair_beside(of["beside cubic"], of["pair of cubic"]),
        "fair_to_reno": fair_beside(of["beside reno"], of["pair of reno"]),
    }


def throughput(goodput_bps: float, most_bps: float) -> float:
    """Give the part of the payload that the path can carry."""
    return min(goodput_bps / most_bps, 1.0)


def delay(waiting_s: float, rtt_s: float) -> float:
    """Give the round-trip time without a queue over that with it."""
    return rtt_s / (rtt_s + waiting_s)


def loss(drop_rate: float) -> float:
    """Give 1 without drops at the queue, a half at 1 %, a quarter at 3 %."""
    return 1 / (1 + drop_rate / HALF_LOSS)


def convergence(convergence_s: float | None, window_s: float, left_s: float) -> float:
    """Give the part of the time after the second start that is left when both flows are fair.

    Fairness is known at the end of a window, so the end of the first one counts as 1.
    """
    if convergence_s is None or left_s <= window_s:
        return 0.0
    return min(max((left_s - convergence_s) / (left_s - window_s), 0.0), 1.0)


def fair_to_itself(jain: float | None) -> float:
    """Put Jain's index of two flows, which is at least a half, on the range from 0 to 1."""
    return 0.0 if jain is None else min(max(2 * jain - 1, 0.0), 1.0)


def fair_beside(beside: Figures, pair: Figures) -> float:
    """Give the part of its due that the flow gets which gets less of it; at most 1.

    A flow's due is the mean goodput of two flows of the rival's controller over the same path.
    """
    due_bps = fmean(pair.goodputs_bps)
    return min(min(beside.goodputs_bps) / due_bps, 1.0) if due_bps > 0 else 0.0
