"""Answers: the records and figures of the runs of a scenario, and which of them are valid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairhaul import _core
from fairhaul.frames import flows_frame
from fairhaul.record import Record
from fairhaul.results import document, is_valid
from fairhaul.scenario import titled
from fairhaul.summary import summary

if TYPE_CHECKING:
    import polars as pl

    from fairhaul.report.chart import Chart
    from fairhaul.results import ManyResults, OneResult, RunFigures, ScenarioResult


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The results of one scenario, one entry per seed.

    `records` hold what happened in each run, `measures` the figures of each run, as `measure` gives
    them.
    """

    records: tuple[Record, ...]
    measures: tuple[RunFigures, ...]

    def to_dict(self) -> OneResult:
        """Give the object that `fairhaul run --json` prints for one scenario.

        It has the same keys whatever the number of seeds: `schema`, `title`, `variant`, `runs` and
        `summary`.

        Raises:
            RunError: no run is valid, which can happen in the lab only.
        """
        whole: Any = document([scenario_result(self.measures)])
        result: OneResult = whole
        return result

    def frame(self) -> pl.DataFrame:
        """Give the figures of all runs as a polars frame, one row per run and flow."""
        return flows_frame(self.measures)

    def chart(self, name: str = "shares") -> Chart:
        """Draw a figure of the first run: `shares`, `cwnd`, `losses`, `queue`, or gauges.

        The gauges of queues are the figure `gauges`, those of controllers `controllers`.

        Raises:
            ScenarioError: the run has no figure of that name.
        """
        from fairhaul.report.chart import chosen
        from fairhaul.report.figures import of_run

        return chosen(of_run(self.records[0], ""), name)

    def _repr_html_(self) -> str:
        from fairhaul.answer_tables import of_runs
        from fairhaul.grid import html

        return html(of_runs(self.measures))


class Answers(list[Answer]):
    """The answers of several scenarios, in their order."""

    def to_dict(self) -> OneResult | ManyResults:
        """Give the object that `fairhaul run --json` prints for these scenarios.

        Of several scenarios it has the keys `schema` and `scenarios`, of one those of
        `Answer.to_dict`.

        Raises:
            RunError: of one scenario no run is valid, which can happen in the lab only.
        """
        return document([scenario_result(answer.measures) for answer in self])

    def frame(self) -> pl.DataFrame:
        """Give the figures of all runs as a polars frame, one row per run and flow."""
        return flows_frame([run for answer in self for run in answer.measures])

    def chart(self, name: str = "jain") -> Chart:
        """Draw a figure over the keys that `[sweep]` set, such as `share` or `jain`.

        Raises:
            ScenarioError: there is no figure of that name.
        """
        from fairhaul.report.chart import chosen
        from fairhaul.sweeps.figures import figures
        from fairhaul.sweeps.table import rows_of

        return chosen(figures(rows_of([answer.measures for answer in self])), name)

    def _repr_html_(self) -> str:
        from fairhaul.grid import html
        from fairhaul.sweeps.screen import grid
        from fairhaul.sweeps.table import rows_of

        return html([grid(rows_of([answer.measures for answer in self]))])


def scenario_result(measures: Sequence[RunFigures]) -> ScenarioResult:
    """Put the figures of one scenario's runs into one object, with their summary."""
    first = measures[0]
    entry: Any = {
        "title": first["title"],
        "variant": first.get("variant", {}),
        "runs": list(measures),
        "summary": summary(valid_runs(measures)),
    }
    result: ScenarioResult = entry
    return result


def valid_runs(measures: Sequence[RunFigures]) -> list[RunFigures]:
    """Give the valid runs: all of the simulator's, and those of the lab that kept up.

    Raises:
        RunError: no run is valid.
    """
    valid = [run for run in measures if is_valid(run)]
    if not valid:
        reasons = sorted({reason for run in measures for reason in run["trust"]["reasons"]})
        title = titled(measures[0]["title"], measures[0].get("variant", {}))
        raise _core.RunError(f"{title}: no run is valid: {'; '.join(reasons)}")
    return valid
