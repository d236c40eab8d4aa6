"""How an experiment's results are laid out: its axes, the paper's numbers, labels and tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from fairhaul.studies.papers.axes import Axes, Where
from fairhaul.studies.papers.quoted import Quoted
from fairhaul.studies.papers.results import Key, Results
from fairhaul.studies.papers.section import Printed, Section
from fairhaul.studies.papers.table import Cell, Row, Table


@dataclass(frozen=True, kw_only=True)
class Star:
    """Labels of cases whose mean of `number` is below a bound end with a star."""

    number: str
    below: float


@dataclass(frozen=True, kw_only=True)
class Layout:
    """What tables, claims and figures of an experiment have in common."""

    axes: Axes
    printed: Sequence[Quoted]
    star: Star | None
    forms: Mapping[str, str]

    def form(self, number: str) -> str:
        """Say how a number is written, as in the first table that has it."""
        return self.forms.get(number, ".3g")

    def paper(self, key: Key, number: str) -> float | None:
        """Give the paper's number of a case, if it prints one."""
        quoted = self._quoted(key, number)
        return None if quoted is None else quoted.numbers[number]

    def _quoted(self, key: Key, number: str) -> Quoted | None:
        for quoted in self.printed:
            if number in quoted.numbers and self.axes.matches(key, quoted.where):
                return quoted
        return None

    def label(self, results: Results, key: Key, axes: Sequence[str], template: str = "") -> str:
        """Name a case by its labels on some axes, or by a template with the names of axes."""
        labels = dict(zip(self.axes.names, key, strict=True))
        text = template.format_map(labels) if template else ", ".join(labels[a] for a in axes)
        # The label of several cases has no star.
        if self.star is None or not set(self.axes.varying(list(results.runs))) <= set(axes):
            return text
        starred = results.mean(key, self.star.number) < self.star.below
        return f"{text} *" if starred else text

    def groups(self, keys: Iterable[Key], axes: Sequence[str]) -> dict[tuple[str, ...], list[Key]]:
        """Group cases by their labels on some axes, in the order of the labels."""
        groups: dict[tuple[str, ...], list[Key]] = {
            labels: [] for labels in product(*(self.axes.settings[axis] for axis in axes))
        }
        for key in keys:
            groups[self.axes.parts(key, axes)].append(key)
        return {labels: mine for labels, mine in groups.items() if mine}

    def cell(self, results: Results, keys: Sequence[Key], column: Column) -> Cell:
        """Put our numbers of a case beside the paper's; a dash where no such case was run."""
        numbers = [(key, number) for key in keys[:1] for number in column.numbers]
        quoted = [(number, self._quoted(key, number)) for key, number in numbers]
        printed = [(number, of) for number, of in quoted if of is not None]
        paper = [of.numbers[number] for number, of in printed]
        estimates = [results.estimate(key, number) for key, number in numbers]
        return Cell(
            paper=paper,
            steps=list(map(step, paper)),
            within=max((of.within for _, of in printed), default=0.0),
            ours=[estimate for estimate in estimates if estimate is not None],
            form=column.form,
        )


def step(value: float) -> float:
    """Give the distance of two neighbours of the printed precision: 0.01 for 0.90, 1 for 3."""
    if not isinstance(value, Printed):
        return 1.0
    digits, _, power = value.text.lower().replace("_", "").partition("e")
    return float(f"1e{int(power or 0) - len(digits.partition('.')[2])}")


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column: one number, or the two ends of a range, and how it is written."""

    label: str
    numbers: Sequence[str]
    form: str


def read_columns(section: Section, key: str) -> list[Column]:
    """Read columns: a format by the name of a number, or `{ number, form }` by another label."""
    columns = []
    inner = section.section(key)
    for label, content in inner.content.items():
        if isinstance(content, dict):
            table = inner.section(label)
            numbers, form = table.texts("number"), table.text("form")
            table.close()
        else:
            numbers, form = [label], inner.text(label)
        try:
            format(1.0, form)
        except ValueError:
            inner.wrong(label, f"{form!r} is no format of a number, such as '.2f'")
        columns.append(Column(label=label, numbers=numbers, form=form))
    return columns


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """A table: a row for each combination of some axes, columns for numbers and other axes.

    With `trim`, columns whose numbers no run has are omitted.
    """

    title: str
    parameter: str
    rows: Sequence[str]
    across: Sequence[str]
    where: Where
    columns: Sequence[Column]
    row: str = ""
    notes: Sequence[str] = ()
    trim: bool = False

    @classmethod
    def read(cls, section: Section, axes: Axes) -> Sheet:
        """Read a table."""
        where, across = axes.where(section, "where"), axes.some(section, "across")
        fixed = [axis for axis, labels in where.items() if len(labels) == 1]
        rows = axes.some(section, "rows") or axes.others([*across, *fixed])
        axes.covered(section, [*rows, *across, *fixed])
        columns = read_columns(section, "columns")
        if not columns:
            section.wrong("columns", "at least one column is required")
        return section.read(
            cls,
            parameter=section.text("parameter", ", ".join(rows)),
            rows=rows,
            across=across,
            where=where,
            columns=columns,
            row=template(section, "row", axes),
        )

    def table(self, layout: Layout, results: Results) -> Table:
        """Lay out what was found."""
        keys = layout.axes.chosen(results.runs, self.where)
        across = list(layout.groups(keys, self.across))
        columns = [
            column
            for column in self.columns
            if not self.trim or any(results.values(key, n) for key in keys for n in column.numbers)
        ]
        rows = []
        for mine in layout.groups(keys, self.rows).values():
            by = layout.groups(mine, self.across)
            cells = [
                layout.cell(results, by.get(labels, []), column)
                for labels in across
                for column in columns
            ]
            rows.append(Row(label=layout.label(results, mine[0], self.rows, self.row), cells=cells))
        heads = [self._head(labels, column) for labels in across for column in columns]
        return Table(
            title=self.title, parameter=self.parameter, columns=heads, rows=rows, notes=self.notes
        )

    def _head(self, labels: Sequence[str], column: Column) -> str:
        if not labels:
            return column.label
        name = ", ".join(labels)
        return name if len(self.columns) == 1 else f"{name}: {column.label}"


def template(section: Section, key: str, axes: Axes) -> str:
    """Read a template of labels, such as `{controller} at {rate}`."""
    text = section.text(key, "")
    try:
        text.format_map(dict.fromkeys(axes.names, ""))
    except (KeyError, ValueError, IndexError) as error:
        section.wrong(key, f"{error} is no axis; choose from {', '.join(axes.names)}")
    return text
