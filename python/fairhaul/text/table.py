"""Tables, which print themselves on a terminal, in a notebook and as Markdown.

On a terminal no word, number or interval is broken, and a heading between its words alone. Of a
table that is wider than the terminal some columns are not shown; a note below it names them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING

from fairhaul.text.printable import printable, tied, wrapped
from fairhaul.text.verdicts import STYLES, tone

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table as Printed

# Spaces between two columns; behind the last there is one less.
BETWEEN = 2
# Sentences in the first columns are broken into lines of this length or more.
LONGEST_WORDS = 24


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table whose first `words` columns are words and the rest numbers.

    On a page `colours` puts a spot of the figures' colour before each row, and `bars` a bar of a
    share in [0, 1]; `groups` are the rows at which a group begins, if not every row is one;
    `prose`: the cells are sentences, and are broken into lines. `notes` are printed below it. Of a
    table with `ends` a terminal and a notebook show that number of the first and of the last rows.
    A terminal that is too narrow drops the columns `least` first, the last of them before all, and
    then those on the right.
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
    ends: int = 0
    least: Sequence[str] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Lay the table out for the width of a terminal; elsewhere nothing is dropped."""
        from rich.text import Text

        if self.ends:
            yield from self._cut().__rich_console__(console, options)
            return
        every = range(len(self.columns))
        shown = self.shown(options.max_width) if console.is_terminal else every
        width = max(options.max_width, self._narrowest(shown))
        widths = self._widths(shown, width)
        if self.title:
            yield Text(wrapped(printable(self.title), options.max_width), style="bold")
        yield from console.render(self._printed(widths), options.update(max_width=width))
        notes = list(self.notes)
        if dropped := [self.columns[column] for column in every if column not in shown]:
            notes.append(
                f"Columns that do not fit: {', '.join(dropped)}. A wider terminal or a pipe "
                "(| less -S) shows them."
            )
        for note in notes:
            yield Text(wrapped(f"  {printable(note)}", options.max_width, indent=2))

    def _cut(self) -> Table:
        """Give the table of the first and the last rows."""
        gap = ["...", *[""] * (len(self.columns) - 1)]
        note = (
            f"{len(self.rows)} {self.title.lower()}: the first {self.ends} and the last "
            f"{self.ends} are printed. --json prints all, and the record (--out DIR) and its "
            "report have them."
        )
        rows = [*self.rows[: self.ends], gap, *self.rows[-self.ends :]]
        return replace(self, rows=rows, ends=0, notes=[*self.notes, note])

    def _repr_html_(self) -> str:
        if self.ends:
            return self._cut()._repr_html_()

        def cells(tag: str, row: Sequence[str]) -> str:
            sides = ["left"] * self.words + ["right"] * (len(row) - self.words)
            return "".join(
                f'<{tag} style="text-align: {side}">{escape(cell)}</{tag}>'
                for cell, side in zip(row, sides, strict=True)
            )

        body = "".join(f"<tr>{cells('td', row)}</tr>" for row in self.rows)
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return (
            f"<table><caption style='text-align: left'><b>{escape(self.title)}</b></caption>"
            f"<thead><tr>{cells('th', self.columns)}</tr></thead><tbody>{body}</tbody></table>"
            f"{notes}"
        )

    def markdown(self) -> Iterator[str]:
        """Give the lines of the table in Markdown, without its title."""

        def line(cells: Iterable[str]) -> str:
            return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"

        sides = ["---"] * self.words + ["---:"] * (len(self.columns) - self.words)
        yield line(self.columns)
        yield f"|{'|'.join(sides)}|"
        yield from map(line, self.rows)
        for note in self.notes:
            yield ""
            yield note

    def condensed(self) -> Table:
        """Say a number once, in a note, that is the same in all of several rows."""
        alike = {
            column: cells[0]
            for column, cells in enumerate(zip(*self.rows, strict=True))
            if column >= self.words and len(cells) > 1 and len({*cells}) == 1
        }
        if len(alike) == len(self.columns) - self.words:
            # Rows without any number would say nothing.
            alike.pop(self.words, None)
        if not alike:
            return self
        known = [
            f"{head.removesuffix(' %')} {cell}{' %' * head.endswith(' %')}"
            for head, cell in ((self.columns[column], cell) for column, cell in alike.items())
            if cell != "-"
        ]
        note = f"In every row: {', '.join(known)}."
        kept = [column for column in range(len(self.columns)) if column not in alike]
        return replace(
            self,
            columns=[self.columns[column] for column in kept],
            rows=[[row[column] for column in kept] for row in self.rows],
            notes=[*([note] if known else []), *self.notes],
        )

    def shown(self, width: int) -> list[int]:
        """Give the columns that fit into `width`, the first in any case."""
        least = [self.columns.index(name) for name in self.least if name in self.columns]
        others = [column for column in range(len(self.columns)) if column not in least]
        kept = [*others, *least]
        while len(kept) > 1 and self._narrowest(kept) > width:
            kept.pop()
        return sorted(kept)

    def _narrowest(self, shown: Iterable[int]) -> int:
        """The narrowest that a table of these columns can be."""
        return sum(self._needed(column) + BETWEEN for column in shown) - 1

    def _needed(self, column: int) -> int:
        """The narrowest that a column can be."""
        heading = max(map(len, self.columns[column].split()), default=0)
        cells = [row[column] for row in self.rows]
        if column < self.words:
            widths = (
                max(min(len(cell), LONGEST_WORDS), *map(len, tied(cell).split(" ")))
                for cell in cells
            )
        else:
            widths = (max(map(len, cell.split("\n"))) for cell in cells)
        return max(heading, max(widths, default=0))

    def _widths(self, shown: Sequence[int], width: int) -> dict[int, int]:
        """Give the columns their widths: what they need, and of the rest what they can use."""
        widths = {column: self._needed(column) for column in shown}
        left = width - sum(widths.values()) - BETWEEN * len(shown) + 1
        whole = {
            column: max(map(len, [self.columns[column], *(row[column] for row in self.rows)]))
            for column in shown
        }
        for column in sorted(shown, key=lambda column: whole[column] - widths[column]):
            more = min(max(0, left), max(0, whole[column] - widths[column]))
            widths[column] += more
            left -= more
        return widths

    def _printed(self, widths: Mapping[int, int]) -> Printed:
        from rich import box
        from rich.table import Table as Printed
        from rich.text import Text

        def cell(text: str, width: int) -> Text:
            of = tone(text)
            return Text(wrapped(printable(text), width), style=STYLES[of] if of else "")

        table = Printed(
            box=box.SIMPLE_HEAD,
            show_edge=False,
            padding=(0, 1, 0, 0),
        )
        for column, width in widths.items():
            is_word = column < self.words
            table.add_column(
                Text(printable(self.columns[column])),
                justify="left" if is_word else "right",
                overflow="fold",
                width=width,
            )
        for row in self.rows:
            table.add_row(*(cell(row[column], width) for column, width in widths.items()))
        return table


def html(parts: Iterable[Table | str]) -> str:
    """Write tables, and sentences between them, as a notebook shows them."""
    return "".join(
        f"<p>{escape(part)}</p>" if isinstance(part, str) else part._repr_html_() for part in parts
    )
