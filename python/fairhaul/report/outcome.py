"""What a study found: a question, its answer and the evidence, for every reader.

A study puts its results into words and tables once, as an `Outcome`. That prints itself on a
terminal and in a notebook, and gives Markdown and JSON; `fairhaul.report.write` makes a page of it.
The answer comes first, then the evidence.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, cast

from fairhaul import _core
from fairhaul.measures.types import SCHEMA, Result
from fairhaul.text.printable import printable, wrapped
from fairhaul.text.table import Table, html

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType

    from fairhaul.figures.figure import Figure

__all__ = ["Outcome", "Section", "StudyResult"]


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of the evidence: a heading, and optionally text, tables, points, commands and figures.

    `figures` may be a function that draws them, because only a page shows them. A section without
    any content is omitted. A `detailed` section is for pages and Markdown alone, and a `folded` one
    of a page shows its heading alone until it is opened. `studio` is the fragment with which the
    studio opens the scenario of the section, as `fairhaul.studio.link` gives it.
    """

    heading: str
    text: Sequence[str] = ()
    tables: Sequence[Table] = ()
    points: Sequence[str] = ()
    commands: Sequence[str] = ()
    figures: Sequence[Figure] | Callable[[], Sequence[Figure]] = ()
    detailed: bool = False
    folded: bool = False
    studio: str = ""

    def drawn(self) -> Sequence[Figure]:
        """Give the figures."""
        return self.figures() if callable(self.figures) else self.figures

    def has_words(self) -> bool:
        """Whether there is more than figures."""
        return bool(self.text or self.tables or self.points or self.commands)

    def parts(self) -> Iterator[Table | str]:
        """Give text, tables and points in their order."""
        yield from self.text
        yield from self.tables
        yield from (f"- {point}" for point in self.points)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a study found.

    `study` is its command, `evidence` gives the sections when a reader wants them, and `values` are
    the numbers, as JSON holds them; `beside` are keys that it has beside `values`. `command`
    repeats the study, if it was a command.
    """

    study: str
    title: str
    question: str
    answer: str
    evidence: Callable[[], Sequence[Section]]
    values: Callable[[], Mapping[str, Any]]
    beside: Callable[[], Mapping[str, Any]] = dict
    command: str = ""

    def to_dict(self) -> Result:
        """Give the object that `--json` prints; it is the same for every study but its `values`."""
        result: Result = {
            "schema": SCHEMA,
            "study": self.study,
            "title": self.title,
            "question": self.question,
            "answer": self.answer,
            "values": dict(self.values()),
            "version": _core.__version__,
            "command": self.command,
        }
        return cast("Result", {**result, **self.beside()})

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Print the answer, and then each section that is not detailed."""
        from rich.text import Text

        def text(part: str) -> Text:
            indent = 2 if part.startswith("- ") else 0
            return Text(wrapped(printable(part), options.max_width, indent))

        yield text(self.answer)
        for section in self._shown():
            if section.heading:
                yield Text(f"\n{printable(section.heading)}", style="bold")
            for part in section.parts():
                yield text(part) if isinstance(part, str) else part
            # A command is not broken into lines, so that it can be copied.
            for line in section.commands:
                yield Text(f"  {printable(line)}", no_wrap=True, overflow="ignore")

    def _repr_html_(self) -> str:
        parts = [f"<p>{escape(self.answer)}</p>"]
        for section in self._shown():
            parts += [f"<h4>{escape(section.heading)}</h4>"] if section.heading else []
            parts.append(html(section.parts()))
            parts += [f"<pre>{escape(line)}</pre>" for line in section.commands]
        return "".join(parts)

    def _shown(self) -> Iterator[Section]:
        return (of for of in self.evidence() if of.has_words() and not of.detailed)

    def markdown(self) -> str:
        """Give the outcome as a Markdown document, without figures."""
        return "\n".join([*self._lines(), ""])

    def _lines(self) -> Iterator[str]:
        yield f"# {self.title}"
        yield from ("", f"**{self.question}** {self.answer}")
        for section in filter(Section.has_words, self.evidence()):
            yield from ("", f"## {section.heading}") if section.heading else ()
            for paragraph in section.text:
                yield from ("", paragraph)
            for table in section.tables:
                yield from ("", f"### {table.title}") if table.title else ()
                yield ""
                yield from table.markdown()
            if section.points:
                yield ""
                yield from (f"- {point}" for point in section.points)
            if section.commands:
                yield ""
                yield from (f"    {command}" for command in section.commands)
        made = f"Fairhaul {_core.__version__}"
        yield from ("", f"{made}: `{self.command}`" if self.command else f"{made}.")


class StudyResult(ABC):
    """The result of a study, which every reader sees as its outcome."""

    @abstractmethod
    def outcome(self) -> Outcome:
        """Put the result into words and tables."""

    def to_dict(self) -> Result:
        """Give the object that `--json` prints."""
        return self.outcome().to_dict()

    def markdown(self) -> str:
        """Give the result as a Markdown document, without figures."""
        return self.outcome().markdown()

    def _repr_html_(self) -> str:
        return self.outcome()._repr_html_()
