"""What a page, a terminal and a notebook draw: tables and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table whose first `words` columns are words and the rest numbers.

    `colours` puts a spot of the figures' colour before each row, `bars` a bar of a share in [0, 1].
    `groups` are the rows at which a group begins, if not every row is one; `prose`: the cells are
    sentences, and are broken into lines; `notes` are printed below the table.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    words: int = 1
    colours: Sequence[str] = ()
    bars: Sequence[float] = ()
    groups: Sequence[int] = ()
    prose: bool = False
    notes: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure: `name` is that of its files, `chart` a Vega-Lite specification.

    `raw` are the data that the page draws when a reader zooms into a chart over time (`zoom.py`).
    """

    name: str
    title: str
    caption: str
    chart: Mapping[str, Any]
    raw: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of a report: a heading, and optionally text, tables and figures.

    A `folded` section shows its heading alone until it is opened. `studio` is the fragment with
    which the studio opens its scenario, as `fairhaul.studio.link` gives it.
    """

    heading: str
    text: Sequence[str] = ()
    points: Sequence[str] = ()
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    folded: bool = False
    studio: str = ""
