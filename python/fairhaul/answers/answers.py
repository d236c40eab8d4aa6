"""Answers: the records and figures of the runs of a scenario, and which of them are valid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairhaul.measures.types import document
from fairhaul.record.frames import flows_frame
from fairhaul.record.record import Record
from fairhaul.results.summary import summary, valid_runs

if TYPE_CHECKING:
    import polars as pl

    from fairhaul.figures.chart import Chart
    from fairhaul.measures.types import ManyResults, OneResult, RunFigures, ScenarioResult


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
        from fairhaul.figures.chart import chosen
        from fairhaul.figures.figures import of_run

        return chosen(of_run(self.records[0], ""), name)

    def _repr_html_(self) -> str:
        from fairhaul.answers.tables import of_runs
        from fairhaul.text.table import html

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
        from fairhaul.figures.chart import chosen
        from fairhaul.figures.swept import figures
        from fairhaul.results.table import rows_of

        return chosen(figures(rows_of([answer.measures for answer in self])), name)

    def _repr_html_(self) -> str:
        from fairhaul.results.screen import grid
        from fairhaul.results.table import rows_of
        from fairhaul.text.table import html

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
