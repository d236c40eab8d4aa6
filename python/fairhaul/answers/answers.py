"""Answers: the records and figures of the runs of a scenario, and which of them are valid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairhaul.record.frames import flows_frame
from fairhaul.record.record import Record
from fairhaul.report.outcome import Outcome, StudyResult
from fairhaul.results.summary import summary, valid_runs

if TYPE_CHECKING:
    import polars as pl

    from fairhaul.figures.chart import Chart
    from fairhaul.measures.types import Figures, Mean, RunFigures


@dataclass(frozen=True, kw_only=True)
class Answer(StudyResult):
    """The results of one scenario, one entry per seed.

    `records` hold what happened in each run, `measures` the figures of each run, as `measure` gives
    them.
    """

    records: tuple[Record, ...]
    measures: tuple[RunFigures, ...]

    @property
    def summary(self) -> Figures[Mean]:
        """The means over the valid runs.

        Raises:
            RunError: no run is valid, which can happen in the lab only.
        """
        return summary(valid_runs(self.measures))  # type: ignore[return-value]

    def outcome(self) -> Outcome:
        """Put the results into words, tables and figures."""
        return _outcome([self])

    def frame(self) -> pl.DataFrame:
        """Give the figures of all runs as a polars frame, one row per run and flow."""
        return flows_frame(self.measures)

    def chart(self, name: str = "shares") -> Chart:
        """Draw a figure of the first run: `shares`, `cwnd`, `losses`, `queue`, or gauges.

        The gauges of queues are the figure `gauges`, those of controllers `controllers`.

        Raises:
            ScenarioError: the run has no figure of that name.
        """
        from fairhaul.figures.chart import chosen
        from fairhaul.figures.figures import of_run

        return chosen(of_run(self.records[0], ""), name)


class Answers(list[Answer], StudyResult):
    """The answers of several scenarios, in their order."""

    def outcome(self) -> Outcome:
        """Put the results into words, tables and figures."""
        return _outcome(self)

    def frame(self) -> pl.DataFrame:
        """Give the figures of all runs as a polars frame, one row per run and flow."""
        return flows_frame([run for answer in self for run in answer.measures])

    def chart(self, name: str = "jain", *, x: str | None = None, facet: str | None = None) -> Chart:
        """Draw a figure over the keys that `[sweep]` set, as `Sweep.chart` does.

        Raises:
            ScenarioError: there is no figure or key of that name.
        """
        from fairhaul.figures.swept import chart
        from fairhaul.results.table import rows_of

        return chart(rows_of([answer.measures for answer in self]), name, x=x, facet=facet)


def _outcome(answers: Sequence[Answer]) -> Outcome:
    from fairhaul.answers.cases import Case
    from fairhaul.answers.outcome import outcome_of

    firsts = [answer.records[0] for answer in answers]
    return outcome_of(
        [
            Case(meta=first.meta, runs=answer.measures, record=first)
            for first, answer in zip(firsts, answers, strict=True)
        ]
    )
