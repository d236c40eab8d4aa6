"""Whether the model of a path, fitted to the first half of a capture, predicts the second one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from fairhaul.jobs.values import Running
from fairhaul.scenario.read import ScenarioError
from fairhaul.studies.explanation import of_group
from fairhaul.studies.explanation.measured import measured, until
from fairhaul.studies.explanation.model import model_of
from fairhaul.studies.explanation.path import groups_of
from fairhaul.studies.explanation.refit import refit
from fairhaul.studies.explanation.simulated import Times, is_simulated, mean_of, simulated
from fairhaul.studies.explanation.trace import Trace
from fairhaul.studies.explanation.what_if import MOST_ERROR, unlike

# What counts as predicted, and the runs of a prediction.
WITHIN, SEEDS = 0.1, 5


@dataclass(frozen=True, kw_only=True)
class Halves:
    """Goodput of both halves and what was predicted for the second, in bit/s.

    `predicted_bps` is None where nothing is predicted, with the reason in `declined`.
    """

    first_bps: float
    second_bps: float
    predicted_bps: float | None
    declined: str | None

    def values(self) -> dict[str, Any]:
        """Give what JSON can hold."""
        return asdict(self)

    @property
    def is_right(self) -> bool:
        """Whether the prediction is within 10 %."""
        return self.predicted_bps is not None and self._near(self.predicted_bps)

    @property
    def is_steady(self) -> bool:
        """Whether the goodput of the first half is within 10 % of that of the second."""
        return self._near(self.first_bps)

    def _near(self, value: float) -> bool:
        return abs(value / self.second_bps - 1) <= WITHIN


def halves(traces: Sequence[Trace], controller: str | None) -> Halves | None:
    """Fit the first half of the time of connections, and predict the second half.

    Args:
        traces: connections between the same two hosts, the largest first.
        controller: that of the senders, as `ss` would report it; None if it is not known.

    Returns:
        None where a half has no data.
    """
    begin_s = min(of.first_s for of in traces)
    end_s = max(of.last_s for of in traces)
    middle_s = (begin_s + end_s) / 2
    second = measured(traces, middle_s, end_s)
    early = [until(of, middle_s) for of in traces if of.first_s < middle_s]
    first = measured(early, begin_s, middle_s) if early else None
    if first is None or second is None:
        return None
    declined, predicted_bps = _predicted(early, controller, middle_s - begin_s, end_s - begin_s)
    return Halves(
        first_bps=first.goodput_bps,
        second_bps=second.goodput_bps,
        predicted_bps=predicted_bps,
        declined=declined,
    )


def _predicted(
    early: Sequence[Trace], controller: str | None, middle_s: float, end_s: float
) -> tuple[str | None, float | None]:
    """Give why nothing is predicted, or the goodput that is, in bit/s."""
    explained = [of for group in groups_of(early) for of in of_group(group, {})]
    explained = [replace(of, controller=controller) for of in explained]
    largest = explained[0]
    if not is_simulated(largest.main, largest.measured):
        return "the application limits", None
    try:
        model = model_of(explained)
    except ScenarioError as error:
        return str(error.args[0]), None
    assert largest.measured is not None, "the first half has data"
    running = Running(jobs=1)
    done = refit(model, largest.path, largest.measured, running)
    if abs(done.goodput_error(largest.measured)) > MOST_ERROR:
        return unlike(done, largest.measured), None
    times = done.times
    if times.size_bytes is None:
        times = Times(begin_s=middle_s, end_s=end_s)
    (runs,) = simulated([done.model], times, SEEDS, running)
    return None, mean_of(runs).goodput_bps
