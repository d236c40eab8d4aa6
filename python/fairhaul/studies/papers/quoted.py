"""The numbers that a paper prints: one entry for each case, or a CSV file with a row for each."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fairhaul.files import files
from fairhaul.studies.papers.axes import Axes, Where
from fairhaul.studies.papers.section import Printed, Section
from fairhaul.text.printable import printable

# A table of a paper has some kilobytes.
LARGEST = 1_000_000
# Keys of an entry that are no numbers.
KEYS = ("case", "within", "file", "across", "number")


@dataclass(frozen=True, kw_only=True)
class Quoted:
    """Numbers that a paper prints for some cases, by their names.

    `within` is the part of such a number by which ours may differ, whatever our interval is.
    """

    where: Where
    numbers: Mapping[str, float]
    within: float


def read_printed(
    section: Section, axes: Axes, folder: Path, known: Sequence[str] | None
) -> list[Quoted]:
    """Read the numbers that the paper prints, of the cases of `case`, by the number's name.

    `known` are the names of the numbers of a run, if they are known before it.
    """
    printed: list[Quoted] = []
    for table in section.sections("printed"):
        where, within = axes.where(table, "case"), float(table.number("within", 0))
        numbers = [key for key in table.content if key not in KEYS]
        for key in numbers:
            table.number(key, 0)
        # As they are written, with their digits.
        quoted = {key: table.content[key] for key in numbers}
        if quoted or "file" not in table.content:
            printed.append(Quoted(where=where, numbers=quoted, within=within))
        if "file" in table.content:
            rows = _Rows.read(table, axes, folder, known)
            printed += [
                Quoted(where={**where, **of}, numbers=numbers, within=within)
                for of, numbers in (rows.cells() if rows else ())
            ]
        else:
            for key in (key for key in ("across", "number") if key in table.content):
                table.wrong(key, "it needs the key `file`")
    return printed


@dataclass(frozen=True, kw_only=True)
class _Rows:
    """A CSV file of printed numbers.

    A heading is an axis, whose column has the labels of the rows, or a number. With `across`, the
    other headings are labels of that axis, and the cells are values of `number`.
    """

    place: str
    lines: Sequence[tuple[int, Sequence[str]]]
    axes: Axes
    known: Sequence[str] | None
    mistakes: list[str]
    across: str
    number: str

    @classmethod
    def read(
        cls, section: Section, axes: Axes, folder: Path, known: Sequence[str] | None
    ) -> _Rows | None:
        """Read the file that an entry names; None where that is not possible."""
        file, across = folder / section.text("file"), section.text("across", "")
        number = section.text("number", "")
        if across:
            section.one_of("across", across, axes.names, "axis")
            if known is not None:
                section.one_of("number", number, known, "number")
        elif number:
            section.wrong("number", "it needs the key `across`, the axis of the columns")
        try:
            text = files.read(file, LARGEST).decode("utf-8-sig").replace("\r\n", "\n")
            if printable(text) != text:
                section.wrong("file", f"{file}: control characters are not allowed")
                return None
            reader = csv.reader(text.splitlines(), strict=True, skipinitialspace=True)
            lines = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if row]
        except UnicodeDecodeError:
            section.wrong("file", f"{file}: not UTF-8")
        except csv.Error as error:
            section.wrong("file", f"{file}: {error}")
        except OSError as error:
            section.wrong("file", f"{file}: {(error.strerror or str(error)).lower()}")
        else:
            if across in {"", *axes.names}:
                return cls(
                    place=str(file),
                    lines=lines,
                    axes=axes,
                    known=known,
                    mistakes=section.mistakes,
                    across=across,
                    number=number,
                )
        return None

    def cells(self) -> Iterator[tuple[Where, dict[str, float]]]:
        """Give the numbers of each cell that is not empty, with the cases that it is of."""
        if len(self.lines) < 2:
            self.mistakes.append(f"{self.place}: a line of headings and rows below it are required")
            return
        (first, heads), *rows = self.lines
        top = self._line(first)
        right = [head for head in heads if self._is_heading(top, head, heads.count(head))]
        for line, row in rows:
            at = self._line(line)
            if len(row) != len(heads):
                at.mistakes.append(f"{at.place}: {len(heads)} cells are required, not {len(row)}")
                continue
            cells = dict(zip(heads, row, strict=True))
            labels = {head: label for head, label in cells.items() if head in self.axes.names}
            for axis, label in labels.items():
                known = list(self.axes.settings[axis])
                at.one_of(axis, label, known, f"label of the axis {axis}")
            where = {axis: [label] for axis, label in labels.items()}
            for head in (head for head in right if head not in labels):
                if (value := self._value(at, head, cells[head])) is None:
                    continue
                across = {self.across: [head]} if self.across else {}
                yield {**where, **across}, {self.number or head: value}

    def _line(self, number: int) -> Section:
        """Give the place of a line, for its mistakes."""
        return Section({}, f"{self.place}:{number}", self.mistakes)

    def _is_heading(self, top: Section, head: str, count: int) -> bool:
        """Note a mistake where a heading is unknown, or that of several columns."""
        axes, before = self.axes, len(self.mistakes)
        if count > 1:
            top.wrong(head, "several columns have this heading")
        if self.across and head not in axes.names:
            known = [*axes.settings[self.across], *axes.names]
            top.one_of(head, head, known, f"label of the axis {self.across}")
        elif self.known is not None:
            top.one_of(head, head, [*axes.names, *self.known], "axis or number")
        return len(self.mistakes) == before

    @staticmethod
    def _value(at: Section, head: str, text: str) -> Printed | None:
        """Read a number with its digits; an empty cell and `-` are none."""
        if text in {"", "-"}:
            return None
        try:
            value = Printed(text)
        except ValueError:
            value = Printed("nan")
        if not math.isfinite(value):
            at.wrong(head, f"a number is required, or nothing, not {text!r}")
            return None
        return value
