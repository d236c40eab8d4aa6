"""What a reader of a sweep asks to see: the key of the axis, the figure, the key of the panels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairhaul.figures.axes import SweptAxis, axes
from fairhaul.figures.columns import of_parties
from fairhaul.results.columns import DRAWN
from fairhaul.results.table import Row, named
from fairhaul.scenario.read import ScenarioError
from fairhaul.text.nearest import hint


@dataclass(frozen=True, kw_only=True)
class View:
    """What a reader asks to see of a sweep; what is None suits the keys.

    `x` is the key of the horizontal axis, `facet` that of the panels, and `y` what is drawn: a
    column of the table, such as `jain`, or what each flow has, such as `share`.
    """

    x: str | None = None
    y: str | None = None
    facet: str | None = None

    def check(self, table: Sequence[Row]) -> None:
        """Refuse keys that were not swept, and figures that do not exist.

        Without results, the names of flows and links in `y` are not known.

        Raises:
            ScenarioError: there is no such key or figure, or a key is not suitable.
        """
        keys = axes(table)
        self._check_figure([row for row in table if row.runs])
        x, facet = key_of(self.x, "x", keys), key_of(self.facet, "facet", keys)
        if x is not None and x.numbers is None:
            numbers = [axis.name for axis in keys if axis.numbers is not None]
            known = hint(x.name, numbers) if numbers else "no swept key has"
            raise ScenarioError(f"x: {x.name} has no numbers; {known}")
        if x is not None and x is facet:
            raise ScenarioError(f"x and facet are both {x.name}")

    def _check_figure(self, done: Sequence[Row]) -> None:
        known = [*DRAWN]
        if done:
            columns = named(done[0].summary).items()
            known = [*of_parties(), *(name for name, value in columns if value is not None)]
        kind = "" if self.y is None else self.y.rpartition(".")[2]
        if self.y is not None and (kind not in DRAWN or (done and self.y not in known)):
            raise ScenarioError(f"y: unknown figure {self.y!r}; {hint(self.y, known)}")


DEFAULT = View()


def key_of(word: str | None, what: str, keys: Sequence[SweptAxis]) -> SweptAxis | None:
    """Find a swept key by its path, or by the end of it that is shown."""
    if word is None:
        return None
    for axis in keys:
        if word in (axis.key, axis.name):
            return axis
    known = [axis.name for axis in keys]
    raise ScenarioError(
        f"{what}: {word!r} is not a swept key; {hint(word, known)}"
        if known
        else f"{what}: {word!r} is not a swept key, because nothing was swept"
    )
