"""Tables, which print themselves on a terminal, in a notebook and as Markdown.

On a terminal no word, number or interval is broken, and a heading between its words alone. A table
that is wider than the terminal becomes several below each other, each with the first columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING

from fairhaul.text.printable import printable
from fairhaul.text.verdicts import STYLES, tone

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.table import Table as Printed

# Spaces between two columns; behind the last there is one less.
BETWEEN = 2
# Sentences in the first columns are broken into lines; a shorter cell is not.
LONGEST_WORDS = 24


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table whose first `words` columns are words and the rest numbers.

    On a page `colours` puts a spot of the figures' colour before each row, and `bars` a bar of a
    share in [0, 1]; `groups` are the rows at which a group begins, if not every row is one;
    `prose`: the cells are sentences, and are broken into lines. `notes` are printed below it. Of a
    table with `ends` a terminal and a notebook show that number of the first and of the last rows.
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

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> Iterator[Printed | str]:
        """Lay the table out for the width of the console."""
        if self.ends:
            yield from self._cut().__rich_console__(_, options)
            return
        for number, shown in enumerate(self.blocks(options.max_width)):
            widths = self._widths(shown, options.max_width)
            yield self._printed(widths, self.title if number == 0 else "")
        yield from (f"  {printable(note)}" for note in self.notes)

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

    def blocks(self, width: int) -> list[list[int]]:
        """Give the columns of each table that fits into `width`, one of numbers at least."""
        needed = [self._needed(column) + BETWEEN for column in range(len(self.columns))]
        first = list(range(min(self.words, len(self.columns))))
        room = width + BETWEEN - 1 - sum(needed[column] for column in first)
        found: list[list[int]] = []
        left = 0
        for column in range(len(first), len(self.columns)):
            if not found or needed[column] > left:
                found.append([*first])
                left = room
            found[-1].append(column)
            left -= needed[column]
        return found or [first]

    def _needed(self, column: int) -> int:
        """The narrowest that a column can be."""
        heading = max(map(len, self.columns[column].split()), default=0)
        cells = [row[column] for row in self.rows]
        if column < self.words:
            widths = (
                len(cell) if len(cell) <= LONGEST_WORDS else max(map(len, cell.split()), default=0)
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

    def _printed(self, widths: Mapping[int, int], title: str) -> Printed:
        from rich import box
        from rich.table import Table as Printed
        from rich.text import Text

        def cell(text: str) -> Text:
            of = tone(text)
            return Text(printable(text), style=STYLES[of] if of else "")

        table = Printed(
            title=Text(printable(title), style="bold") if title else None,
            title_justify="left",
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
            table.add_row(*(cell(row[column]) for column in widths))
        return table


def html(parts: Iterable[Table | str]) -> str:
    """Write tables, and sentences between them, as a notebook shows them."""
    return "".join(
        f"<p>{escape(part)}</p>" if isinstance(part, str) else part._repr_html_() for part in parts
    )
