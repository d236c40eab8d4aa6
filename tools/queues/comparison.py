"""How far the medians of engines are from those of the hardware, as parts of the buffer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from fairhaul.text.table import Table
from tools.queues.rows import Row, depth

if TYPE_CHECKING:
    from fairhaul.scenario.engines import Engine

# Parts of the buffer: what the engines may differ from the hardware and from each other.
NEAR, SAME = 0.15, 0.05
# What is asked: of the rows in which the engines are the same, of the rows of all controllers that
# `linux` meets, and of those of each.
ASKED_SAME, ASKED_ALL, ASKED_EACH = 0.95, 0.95, 0.90

WORST = 12


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A row, and the medians of each engine's seeds, in packets that are not rounded."""

    row: Row
    medians: Mapping[Engine, Sequence[float]]

    def value(self, engine: Engine) -> int:
        """The median over the seeds, as the switch counts."""
        return depth(median(self.medians[engine]))

    def error(self, engine: Engine) -> float:
        """How much more it is than that of the hardware, as a part of the buffer."""
        return (self.value(engine) - self.row.median) / self.row.buffer

    def near(self, engine: Engine, part: float = NEAR) -> bool:
        """Whether it is within this part of the buffer."""
        return abs(self.error(engine)) <= part

    @property
    def same(self) -> bool:
        """Whether the medians of the simulator and of Linux are nearly the same."""
        sim, linux = (median(self.medians[engine]) for engine in ("sim", "linux"))
        return abs(sim - linux) <= SAME * self.row.buffer


def report(rows: Sequence[Compared], engines: Sequence[Engine]) -> Iterator[str]:
    """Give the lines of the tables, and a sentence for each thing that is asked."""
    yield from _counts(rows, engines).markdown()
    yield ""
    if {"sim", "linux"} <= {*engines}:
        yield from _asked(rows)
        yield ""
    for engine in engines:
        worst = sorted(rows, key=lambda of: -abs(of.error(engine)))
        missed = [of for of in worst if not of.near(engine)]
        shown = missed[:WORST]
        yield f"{len(missed)} rows of `{engine}` are beyond 15 % of the buffer; the worst:"
        yield ""
        yield from table(shown, engines).markdown()
        yield ""


def table(rows: Iterable[Compared], engines: Sequence[Engine]) -> Table:
    """Give the medians of rows side by side, with the smallest and the largest of an engine."""
    heads = ["controller", "flows", "buffer", "hardware"]
    for engine in engines:
        heads += [f"`{engine}`", "error, %"]
    cells = []
    for of in rows:
        line = [f"`{of.row.controller}`", str(of.row.flows), f"{of.row.buffer:.1f}"]
        line.append(f"{of.row.median:g}")
        for engine in engines:
            low, high = (depth(end(of.medians[engine])) for end in (min, max))
            spread = f" [{low}, {high}]" if low < high else ""
            line += [f"{of.value(engine)}{spread}", f"{100 * of.error(engine):+.0f}"]
        cells.append(line)
    return Table(columns=heads, rows=cells, words=1)


def _counts(rows: Sequence[Compared], engines: Sequence[Engine]) -> Table:
    heads = ["controller", "rows"]
    tests: list[Callable[[Compared], bool]] = []
    for engine in engines:
        for part in (SAME, NEAR):
            heads.append(f"`{engine}` within {100 * part:.0f} %")
            tests.append(lambda of, engine=engine, part=part: of.near(engine, part))  # type: ignore[misc]
    if {"sim", "linux"} <= {*engines}:
        heads.append("`sim` and `linux` within 5 %")
        tests.append(lambda of: of.same)
    groups = {f"`{name}`": own for name, own in by_controller(rows).items()} | {"all": rows}
    cells = [
        [name, str(len(own)), *(str(sum(map(test, own))) for test in tests)]
        for name, own in groups.items()
    ]
    return Table(columns=heads, rows=cells, words=1)


def by_controller(rows: Sequence[Compared]) -> dict[str, list[Compared]]:
    """Give the rows of each controller, in the order of the file."""
    found: dict[str, list[Compared]] = {}
    for of in rows:
        found.setdefault(of.row.controller, []).append(of)
    return dict(sorted(found.items()))


def _asked(rows: Sequence[Compared]) -> Iterator[str]:
    same = [of.same for of in rows]
    yield f"- `sim` and `linux` are within 5 % of the buffer in {_part(same, ASKED_SAME)}."
    met = [of for of in rows if of.near("linux")]
    near = [of.near("sim") for of in met]
    yield f"- Of the rows that `linux` meets, `sim` meets {_part(near, ASKED_ALL)}."
    for name, own in by_controller(met).items():
        near = [of.near("sim") for of in own]
        yield f"- Of those with `{name}`, {_part(near, ASKED_EACH)}."
    both = [of.row.name for of in rows if not of.near("sim") and not of.near("linux")]
    yield f"- Both miss {len(both)} rows: {'; '.join(both) or 'none'}."


def _part(found: Sequence[bool], asked: float) -> str:
    count, of = sum(found), len(found)
    part = f" ({100 * count / of:.0f} %, asked: {100 * asked:.0f} %)" if of else ""
    return f"{count} of {of}{part}"
